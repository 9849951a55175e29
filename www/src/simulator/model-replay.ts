// What was done, done again on machines that changed.

import type { AnyMachine, ScenarioStep } from "statewright";

import { Session } from "./model-session.ts";

/** The session anew, and how many of the steps it lost. */
interface Replayed {
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
 * Plays the steps of a session on other machines, also those that are undone, and stands where it stood. Steps that are refused now
 * and were not before are left out, and so is what came after a creation that is gone with its entity.
 */
export function replayed(
  machines: readonly AnyMachine[],
  old: Session | undefined,
  names: ReadonlyMap<string, string>,
): Replayed {
  if (old === undefined) return { session: new Session(machines), lost: 0 };
  const scenario = old.everything();
  let steps = scenario.steps.map((step) => renamed(step, names));
  let { done } = old;
  for (let lost = 0; ;) {
    const session = new Session(machines, { ...scenario, steps });
    const { statuses } = session;
    const works = steps.map((step, index) => (statuses[index] ?? 200) < 300 || wasRefused(step));
    if (!works.includes(false)) {
      if (done < steps.length) session.undo(done);
      return { session, lost };
    }
    session.free();
    const kept = steps.filter((_, index) => works[index]);
    lost += steps.length - kept.length;
    done = works.slice(0, done).filter((works) => works).length;
    steps = kept;
  }
}
