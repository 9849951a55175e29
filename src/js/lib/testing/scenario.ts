// Scenarios as tests, and paths as scenarios.

import { familyOf, machineOf } from "../kin.ts";
import { checkScenario, type Scenario, type ScenarioStep } from "../simulate.ts";
import type { AnyMachine, Machine } from "../typed.ts";
import { kindOf, wrong } from "../wrong.ts";
import type { Path } from "./paths.ts";
import { play } from "./steps.ts";

/** A scenario whose steps were otherwise than they expect. */
export class ScenarioFailure extends Error {
  override readonly name = "ScenarioFailure";
  /** The steps, counted from 0, each with what was otherwise. */
  readonly failures: readonly { readonly step: number; readonly problem: string }[];

  constructor(failures: ScenarioFailure["failures"], steps: readonly ScenarioStep[]) {
    const lines = failures.map(({ step, problem }) => `step ${step} (${titleOf(steps[step])}): ${problem}`);
    super(lines.join("\n"));
    this.failures = failures;
  }
}

/** A `URL` of a file, such as `new URL("refunds.json", import.meta.url)`. */
export interface FileUrl {
  readonly href: string;
}

/**
 * A scenario as the body of a test: `test("refunds", scenario("tests/refunds.json"))`.
 *
 * It is what `Simulation.export` gives, with what its steps are to lead to in `expect`; a file of it is read when the test
 * runs, its path from the folder in which the tests are run. The test fails with a {@link ScenarioFailure} that says which
 * steps were otherwise, and with a `StatewrightError` where it is no scenario.
 */
export function scenario(source: string | FileUrl | Scenario): () => Promise<void> {
  return async () => {
    if (typeof source !== "string" && (typeof source !== "object" || source === null)) {
      throw wrong("scenario", `it is ${kindOf(source)}`, "a file's path, or a scenario");
    }
    const told = typeof source === "string" || "href" in source ? await read(source) : source;
    const { passed, failures } = checkScenario(told);
    if (!passed) throw new ScenarioFailure(failures, told.steps);
  };
}

/** A path as a scenario that expects its states: to be kept in a file, where it tells when a machine does otherwise. */
export function asScenario<M extends Machine>(machine: M, path: Path<M>): Scenario {
  return told(machineOf(machine as AnyMachine), path as unknown as Path);
}

function told(machine: AnyMachine, { steps, context }: Path): Scenario {
  const entity = { machine_id: machine.id, entity_id: "entity" };
  const create: ScenarioStep = {
    op: "create",
    at: 0,
    args: { machine_id: machine.id, body: { entity_id: entity.entity_id, context } },
  };
  const played = [...play(machine, steps, { id: entity.entity_id, context })].flatMap(
    ({ step, now, after: { current_state: state } }): ScenarioStep[] => {
      if (step.event === undefined) {
        // The clock is no entity's: what an entity is after it is asked for.
        return [
          { op: "advance", args: { to: now } },
          { op: "entity", args: entity, expect: { state } },
        ];
      }
      const { type: event_type, ...rest } = step.event;
      return [
        { op: "transition", at: now, args: { ...entity, body: { event_type, ...rest } }, expect: { state } },
      ];
    },
  );
  // Children first, so that what names them is checked against them.
  const machines = familyOf([machine]).map(({ definition }) => definition);
  return { statewright: "scenario/1", machines: machines.reverse(), start: 0, steps: [create, ...played] };
}

async function read(source: string | FileUrl): Promise<Scenario> {
  // Only here, so that the rest can be had where there are no files.
  const { readFile } = await import("node:fs/promises");
  const place = typeof source === "string" ? source : new URL(source.href);
  // Windows' editors begin a file with a mark of its encoding.
  const text = (await readFile(place, "utf8")).replace(/^\uFEFF/, "");
  try {
    return JSON.parse(text) as Scenario;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw wrong(String(place), `it is no JSON: ${problem}`, "a scenario");
  }
}

function titleOf(step: ScenarioStep | undefined): string {
  if (step === undefined) return "?";
  const body = step.args?.["body"];
  const type =
    typeof body === "object" && body !== null && "event_type" in body ? ` ${String(body.event_type)}` : "";
  return `${step.op}${type}`;
}
