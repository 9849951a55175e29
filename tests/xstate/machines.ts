// Random machines as XState configs, and histories for them.

import fc from "fast-check";
import { and, or } from "xstate";

import type { Guard } from "../../src/js/lib/definition.ts";

/** A transition of a config. */
export interface XTransition {
  readonly target?: string;
  /** A name, or XState's own combination of names. */
  readonly guard?: string | object;
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

const EVENTS = ["e0", "e1", "e2", "e3", "e4", "e5"];
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
const CONTEXT_GUARDS = ["c0", "c1", "c2", "c3"];
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

/** A guard by name, or now and then two of them. */
function guardOf(guardNames: readonly string[]): fc.Arbitrary<string | object> {
  const name = fc.constantFrom(...(guardNames.length === 0 ? GUARDS : guardNames));
  const two = fc.tuple(name, name, fc.constantFrom(and, or));
  return fc.oneof(
    { weight: 5, arbitrary: name },
    { weight: 1, arbitrary: two.map(([one, other, combine]): object => combine([one, other])) },
  );
}

/** A transition to one of the targets; that of an event merges its params, and may have no target. */
function transition(targets: readonly string[], guardNames: readonly string[], isEvent: boolean) {
  return fc
    .record({
      target: isEvent ? maybe(85, fc.constantFrom(...targets)) : fc.constantFrom(...targets),
      guard: maybe(guardNames.length === 0 ? 0 : 45, guardOf(guardNames)),
      reenter: maybe(30, fc.constant(true as const)),
      // What enters a state merges params here, so XState's has to; what stays may do nothing at all.
      remembers: fc.boolean(),
    })
    .map(({ target, guard, reenter, remembers }) => {
      const made = {
        target,
        guard,
        reenter,
        actions: isEvent && (target !== undefined || remembers) ? ("remember" as const) : undefined,
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

/** Where states lie, and what they may hold. */
interface Level {
  /** The id of the node whose states they are. */
  readonly id: string;
  /** Ids of states further out, that theirs may lead to. */
  readonly outside: readonly string[];
  /** How deep states may lie within them. */
  readonly depth: number;
  readonly events: readonly string[];
  /** What their names begin with: two regions may not have nested states in states of one name. */
  readonly prefix: string;
  readonly finals: boolean;
  readonly shape: Shape;
}

/** States of one level. The first two are always there. */
function states(level: Level): fc.Arbitrary<{ initial: string; states: Record<string, XState> }> {
  const { prefix, depth, shape } = level;
  return fc.integer({ min: 2, max: depth === shape.depth ? 4 : 3 }).chain((count) => {
    const keys = names(count, prefix);
    return fc.tuple(...keys.map((_, index) => state(level, keys, index))).map((made) => ({
      initial: keys[0] ?? "",
      states: Object.fromEntries(keys.map((key, index) => [key, made[index] ?? {}])),
    }));
  });
}

function state(level: Level, keys: readonly string[], index: number): fc.Arbitrary<XState> {
  const { id, outside, depth, events, shape } = level;
  const key = keys[index] ?? "";
  const isAlone = shape.root === "flat" && shape.depth === 0;
  const ids = keys.map((other) => `#${id}.${other}`);
  const targets = [...keys, ...keys, ...(outside.length > 0 ? outside : ids)];
  const timed = shape.fields === "some" ? GUARDS : [];
  // Ahead only: one that leads back has XState go round for ever.
  const ahead = keys.slice(index + 1);
  const always = transition(
    ahead.length === 0 ? keys : ahead,
    isAlone && index > 0 ? CONTEXT_GUARDS : [],
    false,
  );
  const nested: fc.Arbitrary<XState | undefined> =
    depth === 0
      ? fc.constant(undefined)
      : maybe(
          50,
          fc.oneof(
            {
              weight: 3,
              arbitrary: states({
                ...level,
                id: `${id}.${key}`,
                outside: [...outside, ...ids],
                depth: depth - 1,
                prefix: "s",
                finals: true,
              }),
            },
            { weight: 1, arbitrary: regions({ ...level, id: `${id}.${key}`, depth: depth - 1 }) },
          ),
        );
  return fc
    .record({
      on: table(events, 3, transition(targets, GUARDS, true)),
      // What another region does may let a guard pass between two delays.
      after: maybe(30, table(DELAYS.map(String), isAlone ? 3 : 1, transition(keys, timed, false))),
      // A level within that comes to its end where it starts has XState go round for ever, too.
      always:
        ahead.length === 0 || (index === 0 && depth < shape.depth)
          ? fc.constant(undefined)
          : maybe(isAlone ? 30 : 15, fc.array(always, { minLength: 1, maxLength: 2 })),
      isFinal:
        level.finals && index > 0
          ? maybe(index === keys.length - 1 ? 60 : 15, fc.constant(true))
          : fc.constant(undefined),
      nested,
      // Now and then as it comes: then the import has to list it, and the case is passed over.
      isRaw: maybe(15, fc.constant(true)),
      onDone: maybe(80, fc.array(transition(keys, [], false), { minLength: 1, maxLength: 1 })),
    })
    .map(({ on, after, always, isFinal, nested, onDone, isRaw }) => {
      if (isFinal === true) return { type: "final" as const };
      const isBare = isRaw === true || (after === undefined && nested === undefined);
      const own = [key, `#${id}.${key}`];
      return present({
        on: isBare ? on : mapped(on, own, false),
        after: isRaw === true ? after : mapped(after, own, true),
        always,
        ...nested,
        onDone:
          nested === undefined
            ? undefined
            : onDone?.map((entry) => (isRaw === true ? entry : entered(entry, own))),
      }) as XState;
    });
}

/** What leads to its own state has to enter it anew. */
function entered(entry: XTransition, own: readonly string[]): XTransition {
  return entry.target !== undefined && own.includes(entry.target) ? { ...entry, reenter: true } : entry;
}

/** Leaves a state with timers or nested states as it is, or enters it anew; what is between has no counterpart. */
function mapped(on: XState["on"], own: readonly string[], isTimer: boolean): XState["on"] {
  if (on === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(on).map(([event, entries]) => [
      event,
      entries.map((entry) => (entry.target === undefined && !isTimer ? {} : entered(entry, own))),
    ]),
  );
}

/** Regions of a parallel state. */
function regions(level: Level): fc.Arbitrary<XState> {
  const { depth, id } = level;
  return fc.tuple(fc.integer({ min: 2, max: 3 }), fc.boolean()).chain(([count, finals]) => {
    const keys = names(count, "r");
    const region = (key: string, index: number): fc.Arbitrary<XState> => {
      // What nested states take, no other region may: they are machines of their own.
      const events = depth === 0 ? level.events : level.events.filter((_, place) => place % count === index);
      const prefix = `${String.fromCharCode(97 + index)}`;
      const inner = { ...level, id: `${id}.${key}`, outside: [], events, prefix, finals };
      // XState's actor stops once all regions are final, whatever they could take.
      const on = finals ? fc.constant(undefined) : maybe(40, ownEvents(events, prefix));
      return fc.tuple(states(inner), on).map(([inner, on]) => present({ ...inner, on }) as XState);
    };
    return fc.tuple(...keys.map(region)).map((made) => ({
      type: "parallel" as const,
      states: Object.fromEntries(keys.map((key, index) => [key, made[index] ?? {}])),
    }));
  });
}

/** What a region, or the root, takes in all of its states. */
function ownEvents(events: readonly string[], prefix: string) {
  return table(events, 2, transition([`.${prefix}0`, `.${prefix}1`], GUARDS, true));
}

function params(fields: Shape["fields"]): fc.Arbitrary<Record<string, unknown>> {
  return fc.record({ x: value, y: value }, fields === "all" ? {} : { requiredKeys: [] });
}

/** Cases of a shape. */
export function cases(shape: Shape, length: number): fc.Arbitrary<Case> {
  const level = {
    id: "m",
    outside: [],
    depth: shape.depth,
    events: EVENTS,
    prefix: "s",
    finals: true,
    shape,
  };
  const root: fc.Arbitrary<XState> =
    shape.root === "parallel"
      ? regions(level)
      : fc
          .tuple(states(level), maybe(30, ownEvents(EVENTS, "s")))
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
