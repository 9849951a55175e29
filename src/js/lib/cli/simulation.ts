// A simulation as the command drives it: operations by name, with what a service would answer.

import { core } from "#core-wasm";

import type { Definition } from "../definition.ts";
import { EXIT, Refusal } from "./refusal.ts";

/** What an operation answers: the status and the body of a service's answer. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** What a refusal says. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

/** What came of a step, as a scenario expects it. */
export interface Expectation {
  readonly outcome?: string;
  readonly state?: unknown;
  readonly error?: string;
}

/** Machines and entities on a virtual clock. */
export class Simulation {
  /** What each step came to, by its number; undone steps are written over. */
  private readonly came: Expectation[] = [];
  private readonly session;

  constructor(now: number) {
    this.session = new (core().WasmSession)(now);
  }

  perform(op: string, args: object = {}): Reply {
    return JSON.parse(this.session.perform(op, JSON.stringify(args))) as Reply;
  }

  /** The body of what an operation answers; its refusal ends the command. */
  expect(op: string, args: object = {}): unknown {
    const reply = this.perform(op, args);
    const problem = problemOf(reply);
    if (problem !== undefined) {
      throw new Refusal(`${problem.code}: ${problem.message}`, { exit: EXIT.faults });
    }
    return reply.body;
  }

  register(definitions: readonly Definition[]): void {
    // Children first, so that what names them is checked against them.
    for (const definition of [...definitions].reverse()) this.expect("register", { body: definition });
  }

  now(): number {
    return (this.expect("steps") as { now: number }).now;
  }

  /** How many steps are done, and how many there are with those that were undone. */
  steps(): {
    readonly done: number;
    readonly steps: readonly { op: string; at: number; args: object; status: number }[];
  } {
    return this.expect("steps") as ReturnType<Simulation["steps"]>;
  }

  /** Keeps what the last step came to. */
  cameTo(expectation: Expectation): void {
    this.came[this.steps().done - 1] = expectation;
  }

  /** The steps that are done as a scenario that expects what came of them. */
  scenario(): object {
    const scenario = this.expect("export") as { steps: { expect?: object }[] };
    const first = this.steps().done - scenario.steps.length;
    const steps = scenario.steps.map((step, index) => {
      const expectation = this.came[first + index];
      return expectation === undefined ? step : { ...step, expect: expectation };
    });
    return { ...scenario, steps };
  }
}

/** What a refused operation says. */
export function problemOf({ status, body }: Reply): Problem | undefined {
  return status < 300 ? undefined : (body as { error: Problem }).error;
}
