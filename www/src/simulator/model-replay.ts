// What was done, done again on machines that changed.

import type { AnyMachine, Scenario, ScenarioStep } from "statewright";

import { Session } from "./model-session.ts";

/** The session anew, and how many of the steps it lost. */
export interface Replayed {
  readonly session: Session;
  readonly lost: number;
}

/** Whether a step was refused when it was done first, as an export tells it. */
const wasRefused = ({ expect }: ScenarioStep): boolean => expect?.status !== undefined;

function renamed(step: ScenarioStep, names: ReadonlyMap<string, string>): ScenarioStep {
  const machine = step.args?.["machine_id"];
  const now = typeof machine === "string" ? names.get(machine) : undefined;
  return now === undefined ? step : { ...step, args: { ...step.args, machine_id: now } };
}

/**
 * Plays a scenario's steps on other machines. Steps that are refused now and were not before are left out, and so is what came
 * after a creation that is gone with its entity.
 */
export function replayed(
  machines: readonly AnyMachine[],
  scenario: Scenario | undefined,
  names: ReadonlyMap<string, string>,
): Replayed {
  if (scenario === undefined) return { session: new Session(machines), lost: 0 };
  let steps = scenario.steps.map((step) => renamed(step, names));
  for (let lost = 0; ;) {
    const session = new Session(machines, { ...scenario, steps });
    const { statuses } = session;
    const kept = steps.filter((step, index) => (statuses[index] ?? 200) < 300 || wasRefused(step));
    if (kept.length === steps.length) return { session, lost };
    session.free();
    lost += steps.length - kept.length;
    steps = kept;
  }
}
