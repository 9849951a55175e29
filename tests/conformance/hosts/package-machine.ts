// Machines of `statewright`, as they are walked. It uses nothing of Node.js.

import { type AnyMachine, defineMachine, type Machine as Defined, StatewrightError } from "statewright";

import type { Fields, Json } from "../matching.ts";
import type { Machine } from "./walk.ts";

type Any = Defined;

/** A definition that is no literal has no types. */
const define = defineMachine as unknown as (
  definition: object,
  options: { machines: readonly AnyMachine[] },
) => Any;

/** Compiles by `defineMachine`. What a machine refers to is given to it as machines that know no others. */
export function compile(definition: Fields, others: readonly Fields[]): Machine {
  const machines = others.map((other) => define(plain(other), { machines: [] }));
  const machine = define(plain(definition), { machines });
  const rowsOf = (commits: readonly unknown[]): Fields[] =>
    commits.flatMap((commit) => (commit === null ? [] : (commit as { rows: Fields[] }).rows));
  return {
    create(id, context, now) {
      const { snapshot, commit } = started(machine)(id, plain(context), { now });
      return { snapshot, rows: rowsOf([commit]) };
    },
    send(of, event, now, history) {
      try {
        const { event_type: type, expected_version: expectedVersion, ...rest } = plain(event) as Fields;
        const given = { type, ...rest, ...(expectedVersion === undefined ? {} : { expectedVersion }) };
        const sent = machine.send(of as never, given as never, { now, history: history as never });
        const told = sent as unknown as {
          snapshot: unknown;
          answer: Json;
          commit: unknown;
          timeouts: unknown[];
          before?: unknown[];
          error?: { code: string };
        };
        return {
          snapshot: told.snapshot,
          answer: told.answer ?? null,
          code: told.error?.code,
          rows: rowsOf([...told.timeouts, ...(told.before ?? []), told.commit ?? null]),
        };
      } catch (error) {
        if (!(error instanceof StatewrightError)) throw error;
        return { snapshot: of, answer: null, code: error.code, rows: [] };
      }
    },
    why(of, event, now) {
      const { event_type: type, ...rest } = plain(event) as Fields;
      return machine.why(of as never, { type, ...rest } as never, { now }) as unknown as Json;
    },
    events: (of, now) => machine.events(of as never, { now }) as unknown as Json,
    advance(of, now) {
      const { snapshot, timeouts } = machine.advance(of as never, now);
      return { snapshot, rows: rowsOf(timeouts) };
    },
    view(of) {
      const { children: _, ...view } = of as Fields;
      return view;
    },
  };
}

function started(machine: Any) {
  return machine.start.bind(machine) as unknown as (
    id: string,
    context: object,
    options: { now: number },
  ) => { snapshot: unknown; commit: unknown };
}

/** A value as JavaScript's own JSON has it: numbers as floats. */
function plain(value: Fields): object {
  return JSON.parse(JSON.stringify(value)) as object;
}
