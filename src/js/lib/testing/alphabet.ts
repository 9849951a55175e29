// The events that a machine and the children below it may take, with params from the values in their guards.

import type { AnyMachine, PossibleEvent, TargetStep } from "../typed.ts";
import { fieldsOf, paramsFor, type Fields } from "./params.ts";
import type { Step } from "./steps.ts";

/** How deep children are looked for: as deep as they can be. */
const DEEPEST = 8;
const FLAT = "_";
const TIMEOUT = "$timeout";

/** A step that sends an event. */
export type Letter = Extract<Step, { readonly event: object }>;

/** All events of a machine, and of the children that it knows, each with all params that are tried. */
export class Alphabet {
  readonly letters: readonly Letter[];
  readonly #byPlace = new Map<string, Letter[]>();

  constructor(machine: AnyMachine) {
    const letters: Letter[] = [];
    for (const [owner, target] of placesOf(machine, [], DEEPEST)) {
      for (const [type, guards] of guardsByEvent(owner)) {
        const here = paramsFor(guards).map((params) => letterOf(type, params, target));
        const place = placeOf(type, target);
        this.#byPlace.set(place, [...(this.#byPlace.get(place) ?? []), ...here]);
        letters.push(...here);
      }
    }
    this.letters = letters;
  }

  /** The letters for an event that an entity says it can take. */
  for(possible: PossibleEvent): readonly Letter[] {
    const target = possible.forwarded ? [] : (possible.target ?? []);
    const found = this.#byPlace.get(placeOf(possible.event_type, target));
    // A child whose machine was not given says its events, and no more.
    return found ?? [letterOf(possible.event_type, {}, target)];
  }
}

/** The delays after which the machine's timeouts, and its children's, are due: in milliseconds, each once. */
export function delaysOf(machine: AnyMachine): readonly number[] {
  const delays = [...placesOf(machine, [], DEEPEST)].flatMap(([{ definition }]) =>
    definition.transitions.flatMap(({ on, guard }) => {
      if (on !== TIMEOUT || typeof guard !== "object" || guard === null) return [];
      const { timeout_seconds: seconds, after_ms: ms } = guard as Fields;
      return [typeof ms === "number" ? ms : Number(seconds) * 1000];
    }),
  );
  return [...new Set(delays.filter(Number.isFinite))];
}

/** Contexts that make the conditions of timeouts pass, which see nothing else; the empty one first. */
export function contextsOf({ definition }: AnyMachine): readonly Fields[] {
  const conditions = definition.transitions.filter(({ on }) => on === TIMEOUT).map(({ guard }) => guard);
  const found = paramsFor(conditions);
  return [{}, ...found.filter((context) => Object.keys(context).length > 0)];
}

/** The fields of contexts that decide which timeouts fire. */
export function timedFieldsOf(machine: AnyMachine): readonly string[] {
  return [...placesOf(machine, [], DEEPEST)].flatMap(([{ definition }]) =>
    fieldsOf(definition.transitions.filter(({ on }) => on === TIMEOUT).map(({ guard }) => guard)),
  );
}

function letterOf(type: string, params: Fields, target: readonly TargetStep[]): Letter {
  const event = Object.keys(params).length > 0 ? { type, params } : { type };
  return { event: target.length > 0 ? { ...event, target } : event };
}

function placeOf(type: string, target: readonly TargetStep[]): string {
  return JSON.stringify([type, ...target.flatMap(({ region, state }) => [region ?? FLAT, state])]);
}

/** The guards of each event's transitions. */
function guardsByEvent({ definition }: AnyMachine): ReadonlyMap<string, readonly unknown[]> {
  const guards = new Map<string, unknown[]>();
  for (const { on, guard } of definition.transitions) {
    if (on === TIMEOUT) continue;
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
  const regions = definition.regions ?? [{ id: FLAT, sub_machines: definition.sub_machines }];
  for (const { id: region, sub_machines: children } of regions) {
    for (const [state, { machine_id, lifecycle }] of Object.entries(children ?? {})) {
      const child = machines.find(({ id }) => id === machine_id);
      if (child === undefined) continue;
      const step = region === FLAT ? { state } : { region, state };
      yield* placesOf(child, lifecycle === "managed" ? [...target, step] : target, depth - 1);
    }
  }
}
