// Expectations for a scenario: what comes when it is played is written down, so that it can be checked ever after.

import {
  checkScenario,
  type Expected,
  type Scenario,
  type ScenarioStep,
  simulate,
  type Simulation,
} from "statewright";

import { memberOf } from "../../parts/json-value.ts";

const OUTCOMES = ["applied", "no_transition", "refused", "duplicate"] as const;
type Outcome = (typeof OUTCOMES)[number];

interface Named {
  readonly machine_id: string;
  readonly entity_id: string;
}

/**
 * A scenario with what comes of each step as its expectation: outcome and state of the entity that it is about, how many timers
 * fired, and the states of the other entities that it changed, each as a look at that entity.
 */
export function recorded(scenario: Scenario): Scenario {
  const steps = scenario.steps.map(({ expect: _, ...step }) => step);
  const outcomes = outcomesOf(scenario, steps);
  const session = simulate([]);
  session.import({ ...scenario, steps: [] });
  let before = statesOf(session);
  const told = steps.flatMap((step, place) => {
    const { status, body } = session.perform(step.op, {
      ...step.args,
      ...(step.at === undefined ? {} : { at: step.at }),
    });
    const after = statesOf(session);
    const own = aboutOf(step, body);
    const expect: Expected = {
      ...outcomeOf(outcomes.get(place), status, body),
      ...(own === undefined ? {} : { state: after.get(nameOf(own))?.state ?? null }),
      ...(step.op === "advance" ? { body: firedOf(body) } : {}),
    };
    const looks = [...after.values()].filter(
      (now) =>
        before.get(nameOf(now.entity))?.text !== now.text &&
        (own === undefined || nameOf(now.entity) !== nameOf(own)),
    );
    before = after;
    return [
      Object.keys(expect).length === 0 ? step : { ...step, expect },
      ...looks.map(({ entity, state }): ScenarioStep => ({
        op: "entity",
        args: { ...entity },
        expect: { state },
      })),
    ];
  });
  session.free();
  return { ...scenario, steps: told };
}

/** What became of each step. The package is asked, outcome by outcome: what counts as which is its own to say. */
function outcomesOf(scenario: Scenario, steps: readonly ScenarioStep[]): ReadonlyMap<number, Outcome> {
  const found = new Map<number, Outcome>();
  for (const outcome of OUTCOMES) {
    const asked = steps.map((step) => ({ ...step, expect: { outcome } }));
    const otherwise = new Set(checkScenario({ ...scenario, steps: asked }).failures.map(({ step }) => step));
    for (const place of steps.keys()) if (!otherwise.has(place)) found.set(place, outcome);
  }
  return found;
}

function outcomeOf(outcome: Outcome | undefined, status: number, body: unknown): Expected {
  if (outcome === undefined) return {};
  if (outcome !== "refused") return { outcome };
  const code = memberOf(memberOf(body, "error"), "code");
  return { outcome, status, ...(typeof code === "string" ? { error: code } : {}) };
}

function firedOf(body: unknown): object {
  return { fired: memberOf(body, "fired"), parked: memberOf(body, "parked") };
}

/** The entity whose state `expect` of a step speaks of. */
function aboutOf({ op, args }: ScenarioStep, body: unknown): Named | undefined {
  const machine_id = args?.["machine_id"];
  const entity_id = op === "create" ? memberOf(body, "entity_id") : args?.["entity_id"];
  if (typeof machine_id !== "string" || typeof entity_id !== "string") return undefined;
  return op === "create" || op === "transition" || op === "adopt" ? { machine_id, entity_id } : undefined;
}

function statesOf(session: Simulation): Map<string, { entity: Named; state: unknown; text: string }> {
  return new Map(
    session.entities().map(({ machine_id, entity_id, current_state: state }) => {
      const entity = { machine_id, entity_id };
      return [nameOf(entity), { entity, state, text: JSON.stringify(state) }];
    }),
  );
}

function nameOf({ machine_id, entity_id }: Named): string {
  return JSON.stringify([machine_id, entity_id]);
}
