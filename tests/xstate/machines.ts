// Random machines as XState configs, and histories for them.

import fc from "fast-check";

import type { Guard } from "../../src/js/lib/definition.ts";

/** A transition of a config. */
export interface XTransition {
  readonly target?: string;
  readonly guard?: string;
  readonly reenter?: true;
  readonly actions?: "remember";
}

/** A state of a config. */
export interface XState {
  readonly id?: string;
  readonly type?: "parallel" | "final";
  readonly initial?: string;
  readonly states?: Readonly<Record<string, XState>>;
  readonly on?: Readonly<Record<string, readonly XTransition[]>>;
  readonly after?: Readonly<Record<string, readonly XTransition[]>>;
  readonly always?: readonly XTransition[];
  readonly onDone?: readonly XTransition[];
}

/** An event, or time that passes, in milliseconds. */
export type Step =
  { readonly event: string; readonly params: Readonly<Record<string, unknown>> } | { readonly wait: number };

/** A machine, what its guards mean, and what happens to it. */
export interface Case {
  readonly config: XState;
  readonly guards: Readonly<Record<string, Guard>>;
  readonly steps: readonly Step[];
}

const EVENTS = ["e0", "e1", "e2", "e3"];
/** All are multiples of it, so that XState's clock, moved by it, is never late. */
export const TICK = 100;
const DELAYS = [100, 200, 300, 500];

const field = fc.constantFrom("x", "y");
const value = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom("1", "2.0", "ab", "b", true, null));
const comparison: fc.Arbitrary<Guard> = fc.record({
  field,
  op: fc.constantFrom("eq", "neq", "gt", "gte", "lt", "lte", "contains"),
  value,
});
const guard: fc.Arbitrary<Guard> = fc.oneof(
  { weight: 4, arbitrary: comparison },
  { weight: 1, arbitrary: fc.record({ all: fc.array(comparison, { maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ any: fc.array(comparison, { maxLength: 2 }) }) },
);
const GUARDS = ["g0", "g1", "g2", "g3"];
/** Guards by name: those of transitions look at the event first, those of `always` at the context alone. */
const guards = fc.tuple(guard, guard, guard, guard).map((all) =>
  Object.fromEntries(
    all.flatMap((one, index): [string, Guard][] => [
      [`g${index}`, one],
      [`c${index}`, one],
    ]),
  ),
);

/** How large and how varied machines are. */
export interface Shape {
  /** Nesting below the root's states. */
  readonly depth: number;
  readonly root: "flat" | "parallel";
  /** Events have all fields, or some: those of nested states, which have contexts of their own, have all. */
  readonly fields: "all" | "some";
}

const maybe = <T>(percent: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: percent, arbitrary }, { weight: 100 - percent, arbitrary: fc.constant(undefined) });

function present<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as T;
}

/** A transition to one of the targets, or of an event that stays. */
function transition(targets: readonly string[], guardNames: readonly string[], stays: boolean) {
  return fc
    .record({
      target: stays ? maybe(85, fc.constantFrom(...targets)) : fc.constantFrom(...targets),
      guard: maybe(guardNames.length === 0 ? 0 : 45, fc.constantFrom(...guardNames, "")),
      reenter: maybe(30, fc.constant(true as const)),
      // What enters a state merges params here, so XState's has to; what stays may do nothing at all.
      remembers: fc.boolean(),
    })
    .map(({ target, guard, reenter, remembers }) => {
      const made = {
        target,
        guard: guard === "" ? undefined : guard,
        reenter,
        actions: target !== undefined || remembers ? ("remember" as const) : undefined,
      };
      return present(made) as XTransition;
    });
}

function table(keys: readonly string[], most: number, entry: fc.Arbitrary<XTransition>) {
  return fc
    .array(fc.tuple(fc.constantFrom(...keys), fc.array(entry, { minLength: 1, maxLength: 3 })), {
      maxLength: most,
    })
    .map((entries) => (entries.length === 0 ? undefined : Object.fromEntries(entries)));
}

const names = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** States of one level: `outside` are the targets that lie beyond it. */
function states(
  path: string,
  outside: readonly string[],
  depth: number,
  shape: Shape,
): fc.Arbitrary<{ initial: string; states: Record<string, XState> }> {
  return fc.integer({ min: 2, max: depth === shape.depth ? 4 : 3 }).chain((count) => {
    const keys = names(count, "s");
    const state = (key: string, index: number): fc.Arbitrary<XState> => {
      const ids = keys.map((other) => `#${path}.${other}`);
      const targets = [...keys, ...keys, ...(outside.length > 0 ? outside : ids)];
      const timed = shape.fields === "some" ? GUARDS : [];
      const plain = fc.record({
        on: table(EVENTS, 3, transition(targets, GUARDS, true)),
        after: maybe(30, table(DELAYS.map(String), 2, transition(keys, timed, false))),
        always: maybe(
          12,
          fc.array(
            transition(
              keys,
              GUARDS.map((name) => name.replace("g", "c")),
              false,
            ),
            {
              minLength: 1,
              maxLength: 2,
            },
          ),
        ),
      });
      const isFinal =
        index > 0 ? maybe(index === count - 1 ? 50 : 10, fc.constant(true)) : fc.constant(undefined);
      const nested: fc.Arbitrary<XState | undefined> =
        depth === 0
          ? fc.constant(undefined)
          : maybe(
              50,
              fc.oneof(
                { weight: 3, arbitrary: states(`${path}.${key}`, [...outside, ...ids], depth - 1, shape) },
                { weight: 1, arbitrary: regions(`${path}.${key}`, depth - 1, shape) },
              ),
            );
      return fc
        .tuple(
          plain,
          isFinal,
          nested,
          maybe(80, fc.array(transition(keys, [], false), { minLength: 1, maxLength: 1 })),
        )
        .map(([plain, isFinal, nested, onDone]) => {
          if (isFinal === true) return { type: "final" as const };
          if (nested === undefined) return present(plain) as XState;
          return present({ ...plain, ...nested, onDone }) as XState;
        });
    };
    return fc.tuple(...keys.map(state)).map((made) => ({
      initial: "s0",
      states: Object.fromEntries(keys.map((key, index) => [key, made[index] ?? {}])),
    }));
  });
}

/** Regions of a parallel state. */
function regions(path: string, depth: number, shape: Shape): fc.Arbitrary<XState> {
  return fc.integer({ min: 2, max: 3 }).chain((count) => {
    const keys = names(count, `r${depth}`);
    const region = (key: string) =>
      fc
        .tuple(
          states(`${path}.${key}`, [], depth, shape),
          maybe(30, table(EVENTS, 1, transition([".s0", ".s1"], GUARDS, true))),
        )
        .map(([inner, on]) => present({ ...inner, on }) as XState);
    return fc.tuple(...keys.map(region)).map((made) => ({
      type: "parallel" as const,
      states: Object.fromEntries(keys.map((key, index) => [key, made[index] ?? {}])),
    }));
  });
}

function params(fields: Shape["fields"]): fc.Arbitrary<Record<string, unknown>> {
  return fc.record({ x: value, y: value }, fields === "all" ? {} : { requiredKeys: [] });
}

/** Cases of a shape. */
export function cases(shape: Shape, length: number): fc.Arbitrary<Case> {
  const root: fc.Arbitrary<XState> =
    shape.root === "parallel"
      ? regions("m", shape.depth, shape)
      : fc
          .tuple(
            states("m", [], shape.depth, shape),
            maybe(30, table(EVENTS, 2, transition([".s0", ".s1"], GUARDS, true))),
          )
          .map(([inner, on]) => present({ ...inner, on }) as XState);
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ event: fc.constantFrom(...EVENTS), params: params(shape.fields) }) },
    {
      weight: 1,
      arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 6 }).map((ticks) => ticks * TICK) }),
    },
  );
  return fc.record({
    config: root.map((config) => ({ id: "m", ...config })),
    guards,
    steps: fc.array(step, { minLength: 4, maxLength: length }),
  });
}
