// A simulation as the command drives it: operations by name, with what a service would answer.

import { type Expected, type Scenario, simulate, type SimulatedStep } from "../simulate.ts";
import type { AnyMachine } from "../typed.ts";
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

/** Machines and entities on a virtual clock. */
export class Simulation {
  /** What each step came to, by its number; undone steps are written over. */
  private readonly came: Expected[] = [];
  private readonly session;

  constructor(now: number, machines: readonly AnyMachine[]) {
    this.session = simulate(machines, { now });
  }

  perform(op: string, args: object = {}): Reply {
    return this.session.perform(op, args);
  }

  /** The body of what an operation answers; its refusal ends the command. */
  expect(op: string, args: object = {}): unknown {
    return done(this.perform(op, args));
  }

  now(): number {
    return this.session.now;
  }

  /** Everything that was done, and how much of it is not undone. */
  steps(): { readonly done: number; readonly steps: readonly SimulatedStep[] } {
    return this.session.steps();
  }

  /** Does what changes something, and keeps what came of it, where that is to be expected again. */
  change(op: string, args: object, expected?: (reply: Reply) => Expected): Reply {
    const before = this.steps().done;
    const reply = this.perform(op, args);
    if (this.steps().done > before) {
      // What was undone before is forgotten.
      this.came.length = Math.min(this.came.length, before);
      if (expected !== undefined) this.came[before] = expected(reply);
    }
    return reply;
  }

  /** The steps that are done as a scenario that expects what came of them. */
  scenario(): Scenario {
    const scenario = this.session.export();
    const first = this.steps().done - scenario.steps.length;
    const steps = scenario.steps.map((step, index) => {
      const expect = this.came[first + index];
      return expect === undefined ? step : { ...step, expect };
    });
    return { ...scenario, steps };
  }
}

/** The body of an answer; its refusal is thrown. */
export function done(reply: Reply): unknown {
  const problem = problemOf(reply);
  if (problem !== undefined) throw new Refusal(`${problem.code}: ${problem.message}`, { exit: EXIT.faults });
  return reply.body;
}

/** What a refused operation says. */
export function problemOf({ status, body }: Reply): Problem | undefined {
  return status < 300 ? undefined : (body as { error: Problem }).error;
}
