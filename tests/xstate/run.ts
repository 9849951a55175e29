// Runs one history of a machine through XState and through Statewright, and tells what each shows after every step.

import { type AnyActor, assign, createActor, createMachine, SimulatedClock } from "xstate";

import {
  type AnyMachine,
  type ChildSnapshot,
  defineMachine,
  type Snapshot,
  type TargetStep,
} from "statewright";

import type { Imported } from "../../src/js/lib/import-xstate.ts";
import { type Fields, passes } from "./guards.ts";
import { type Case, type Step, TICK, type XState } from "./machines.ts";

/** What a machine shows after a step. */
export interface Shown {
  /** As XState tells it: `{ "a": "b" }` is state b within state a. */
  readonly value: unknown;
  readonly context: Fields;
}

/** Something that takes a history. */
export interface Player {
  take(step: Step): void;
  shown(): Shown;
}

/** XState's actor, on XState's simulated clock. */
export function xstate({ config, guards }: Case): Player {
  const implementations = {
    guards: Object.fromEntries(
      Object.entries(guards).map(([name, guard]) => [
        name,
        ({ context, event }: { context: Fields; event: Fields }) =>
          name.startsWith("c") ? passes(guard, context) : passes(guard, event, context),
      ]),
    ),
    actions: {
      remember: assign(({ context, event }: { context: Fields; event: { type: string } & Fields }) => {
        const { type: _type, ...params } = event;
        return { ...context, ...params };
      }),
    },
  };
  // The config is made as data, which XState's types cannot follow.
  const machine = createMachine(
    { context: {}, ...config, options: { maxIterations: 1000 } } as never,
    implementations as never,
  );
  const clock = new SimulatedClock();
  const actor = createActor(machine, { clock }) as AnyActor;
  actor.start();
  return {
    take(step) {
      if ("event" in step) actor.send({ type: step.event, ...step.params });
      // In ticks: a timer that is set by another one begins when that one was due.
      else for (let passed = 0; passed < step.wait; passed += TICK) clock.increment(TICK);
    },
    shown() {
      const snapshot = actor.getSnapshot() as { value: unknown; context: Fields };
      return { value: snapshot.value, context: snapshot.context };
    },
  };
}

/** Statewright's pure core, by what was imported. */
export function statewright(imported: Imported, config: XState): Player {
  const machine = defined(imported);
  let now = 0;
  let snapshot: Snapshot = machine.create("e", {}, { now });
  return {
    take(step) {
      if ("wait" in step) {
        now += step.wait;
        snapshot = machine.advance(snapshot, now).snapshot;
        return;
      }
      for (const target of places(snapshot)) {
        const event = { type: step.event, params: step.params, target };
        const sent = machine.send(snapshot, event, { now });
        if (sent.error !== undefined) throw sent.error;
        snapshot = sent.snapshot;
        if (sent.outcome === "applied") return;
      }
    },
    shown: () => ({ value: valueOf(snapshot, config), context: snapshot.context as Fields }),
  };
}

function defined({ definition, machines }: Imported): AnyMachine {
  const known = new Map<string, AnyMachine>();
  // Innermost first, since a machine is given those that it names.
  for (const each of [...machines].reverse()) known.set(each.machine_id, define(each, known));
  return define(definition, known);
}

function define(definition: Imported["definition"], known: ReadonlyMap<string, AnyMachine>): AnyMachine {
  return defineMachine(definition as never, { machines: [...known.values()] }) as AnyMachine;
}

/** The live children of an entity. */
function children(snapshot: Snapshot): ChildSnapshot[] {
  return (snapshot.children ?? []).filter(({ instance }) => instance?.status === "active");
}

/** Where an event may go, in the order in which XState asks: the innermost states first. */
function places(snapshot: Snapshot, at: readonly TargetStep[] = []): (readonly TargetStep[])[] {
  const below = children(snapshot).flatMap((child) => {
    const { region = "_", state = "", seq = 0 } = child.parent ?? {};
    return places(child, [...at, { region, state, seq }]);
  });
  return [...below, at];
}

/** A snapshot as XState shows its value. */
function valueOf(snapshot: Snapshot, config: XState): unknown {
  const within = (region: string, state: string, node: XState | undefined): unknown => {
    const inner = node?.states?.[state];
    if (inner?.states === undefined) return state;
    const child = (snapshot.children ?? []).find(
      ({ parent, instance }) =>
        instance?.status === "active" &&
        parent?.region === region &&
        parent.seq === snapshot.region_entries[region]?.seq,
    );
    return child === undefined ? `${state} without a child` : { [state]: valueOf(child, inner) };
  };
  const { current_state: current } = snapshot;
  if (typeof current === "string") return within("_", current, config);
  return Object.fromEntries(
    Object.entries(current).map(([region, state]) => [
      region,
      within(region, state, config.states?.[region]),
    ]),
  );
}
