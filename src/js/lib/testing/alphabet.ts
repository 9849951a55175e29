// The events that a machine and the children below it may take, with params from the values in their guards.

import { DEEPEST_CHILD, FLAT_REGION, TIMEOUT_EVENT } from "../reserved.ts";
import type { AnyMachine, PossibleEvent, TargetStep } from "../typed.ts";
import { delayOf, fieldsOf, paramsFor, type Fields } from "./params.ts";
import type { Step } from "./steps.ts";

/** A step that sends an event. */
export type Letter = Extract<Step, { readonly event: object }>;

/** What an event may do where an entity is, and what may make it do so. */
export interface Choice {
  /** The transitions that the event may take, in definition order. */
  readonly transitions: readonly PossibleEvent[];
  /** The event with the params that may decide between them: those that let a guard pass first. */
  readonly letters: readonly Letter[];
  /** Whether its params also decide what timeouts do later. */
  readonly isLasting: boolean;
}

/** All events of a machine, and of the children that it knows, with the params that are tried. */
export class Alphabet {
  /** Every event with all its params. */
  readonly letters: readonly Letter[];
  readonly #places = new Map<string, AnyMachine[]>();
  readonly #timed: ReadonlySet<string>;
  readonly #chosen = new Map<string, Omit<Choice, "transitions">>();

  constructor(machine: AnyMachine) {
    const letters: Letter[] = [];
    for (const [owner, target] of placesOf(machine, [], DEEPEST_CHILD)) {
      const place = JSON.stringify(target);
      this.#places.set(place, [...(this.#places.get(place) ?? []), owner]);
      for (const [type, guards] of guardsByEvent(owner)) {
        letters.push(...paramsFor(guards).map((params) => letterOf(type, params, target)));
      }
    }
    this.letters = letters;
    this.#timed = new Set(timedFieldsOf(machine));
  }

  /** The choices that an entity has, by what it says it can take. */
  choices(possible: readonly PossibleEvent[]): readonly Choice[] {
    const groups = Map.groupBy(possible, ({ event_type, machine_id, target, forwarded }) =>
      JSON.stringify([event_type, machine_id, forwarded ? [] : (target ?? [])]),
    );
    return [...groups].map(([place, transitions]) => {
      const key = `${place} ${transitions.map(({ index }) => index).join(" ")}`;
      const known = this.#chosen.get(key) ?? this.#choose(transitions);
      this.#chosen.set(key, known);
      return { transitions, ...known };
    });
  }

  #choose(transitions: readonly PossibleEvent[]): Omit<Choice, "transitions"> {
    const [first] = transitions;
    if (first === undefined) return { letters: [], isLasting: false };
    const target = first.forwarded ? [] : (first.target ?? []);
    const path = target.map(({ state, region }) => stepTo(region ?? FLAT_REGION, state));
    const owners = this.#places.get(JSON.stringify(path)) ?? [];
    const owner = owners.find(({ id }) => id === first.machine_id);
    // A child whose machine was not given says its events, and no more.
    const guards = transitions.map(({ index }): unknown => owner?.definition.transitions[index]?.guard);
    const letters = paramsFor(guards).map((params) => letterOf(first.event_type, params, path));
    return { letters, isLasting: fieldsOf(guards).some((field) => this.#timed.has(field)) };
  }
}

/** The delays after which the machine's timeouts, and its children's, are due: in milliseconds, each once. */
export function delaysOf(machine: AnyMachine): readonly number[] {
  const delays = [...placesOf(machine, [], DEEPEST_CHILD)].flatMap(([{ definition }]) =>
    definition.transitions.flatMap(({ on, guard }) => {
      const delay = on === TIMEOUT_EVENT ? delayOf(guard) : undefined;
      return delay ?? [];
    }),
  );
  return [...new Set(delays)];
}

/** Contexts that make the conditions of timeouts pass, which see nothing else; the empty one first. */
export function contextsOf({ definition }: AnyMachine): readonly Fields[] {
  const conditions = definition.transitions
    .filter(({ on }) => on === TIMEOUT_EVENT)
    .map(({ guard }) => guard);
  const found = paramsFor(conditions);
  return [{}, ...found.filter((context) => Object.keys(context).length > 0)];
}

/** The fields of contexts that decide which timeouts fire. */
export function timedFieldsOf(machine: AnyMachine): readonly string[] {
  return [...placesOf(machine, [], DEEPEST_CHILD)].flatMap(([{ definition }]) =>
    fieldsOf(definition.transitions.filter(({ on }) => on === TIMEOUT_EVENT).map(({ guard }) => guard)),
  );
}

function letterOf(type: string, params: Fields, target: readonly TargetStep[]): Letter {
  const event = Object.keys(params).length > 0 ? { type, params } : { type };
  return { event: target.length > 0 ? { ...event, target } : event };
}

/** A step of a target, as short as it can be written. */
function stepTo(region: string, state: string): TargetStep {
  return region === FLAT_REGION ? { state } : { region, state };
}

/** The guards of each event's transitions. */
function guardsByEvent({ definition }: AnyMachine): ReadonlyMap<string, readonly unknown[]> {
  const guards = new Map<string, unknown[]>();
  for (const { on, guard } of definition.transitions) {
    if (on === TIMEOUT_EVENT) continue;
    guards.set(on, [...(guards.get(on) ?? []), guard]);
  }
  return guards;
}

/** A machine and the known machines of its children, with the way to each. A legacy child is sent to by its parent. */
function* placesOf(
  machine: AnyMachine,
  target: readonly TargetStep[],
  depth: number,
): Generator<readonly [AnyMachine, readonly TargetStep[]], void, undefined> {
  yield [machine, target];
  if (depth === 0) return;
  const { definition, machines } = machine;
  const regions = definition.regions ?? [{ id: FLAT_REGION, sub_machines: definition.sub_machines }];
  for (const { id: region, sub_machines: children } of regions) {
    for (const [state, { machine_id, lifecycle }] of Object.entries(children ?? {})) {
      const child = machines.find(({ id }) => id === machine_id);
      if (child === undefined) continue;
      const way = lifecycle === "managed" ? [...target, stepTo(region, state)] : target;
      yield* placesOf(child, way, depth - 1);
    }
  }
}
