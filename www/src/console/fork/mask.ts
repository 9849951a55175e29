// Leaves out what people are called and where they live, and keeps what a machine decides by.

import type { JsonDefinition } from "statewright";
import type { Entity, HistoryRow } from "statewright/client";

import { isObject } from "../../parts/json-value.ts";

/** What stands in place of a value. */
export const MASK = "•••";

/** What was masked, and what was not. */
export interface Masked {
  readonly tree: Entity;
  readonly history: readonly HistoryRow[];
  /** Fields that stand as they are, since a guard reads them: by machine. */
  readonly kept: ReadonlyMap<string, readonly string[]>;
  /** How many values are left out. */
  readonly masked: number;
}

/** The fields that a guard compares, however deep. A guard of the older contract may be any JSON. */
function readBy(guard: unknown, into: Set<string>): void {
  if (!isObject(guard)) return;
  if (typeof guard["field"] === "string") into.add(guard["field"]);
  for (const part of [guard["all"], guard["any"]]) {
    if (Array.isArray(part)) for (const member of part) readBy(member, into);
  }
}

/** The parts of all JSON pointers that templates in a value read by: `"{/context/address/street}"`, `{ "$from": "/params/by" }`. */
function placesIn(value: unknown, into: Set<string>): void {
  if (typeof value === "string") {
    for (const [, pointer = ""] of value.matchAll(/\{(\/[^{}]*)\}/g)) partsOf(pointer, into);
  } else if (typeof value === "object" && value !== null) {
    if ("$from" in value && typeof value.$from === "string") partsOf(value.$from, into);
    for (const member of Object.values(value)) placesIn(member, into);
  }
}

function partsOf(pointer: string, into: Set<string>): void {
  for (const part of pointer.split("/")) into.add(part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const NOTHING = { fields: new Set<string>(), places: new Set<string>() };

/** What a machine reads of context and params. */
interface Reads {
  /** The fields that decide. */
  readonly fields: Set<string>;
  /** Names that its actions look for within fields. */
  readonly places: Set<string>;
}

/** What machines read, by machine. */
function readsOf(definitions: readonly JsonDefinition[]): ReadonlyMap<string, Reads> {
  const read = new Map<string, Reads>();
  for (const { machine_id, transitions, actions, joins } of definitions) {
    const reads = read.get(machine_id) ?? { fields: new Set(), places: new Set() };
    for (const { guard } of transitions) readBy(guard, reads.fields);
    placesIn([actions, joins], reads.places);
    read.set(machine_id, reads);
  }
  return read;
}

/**
 * The tree and its history with every value of context and params masked, but those of fields that a guard of the entity's machine
 * reads: what the fork does next is what the entity would do. Names of fields stay, and so do ids, states, event types and times; names
 * within a masked field do not, since they can be data as well (an address in a map of addresses), but those that an action looks for.
 * What does change: an event that is sent again with its own params is no duplicate of a row whose params are masked, and texts that
 * templates of actions fill from the context have the mask in them.
 */
export function mask(
  tree: Entity,
  history: readonly HistoryRow[],
  definitions: readonly JsonDefinition[],
): Masked {
  const read = readsOf(definitions);
  const kept = new Map<string, Set<string>>();
  let masked = 0;
  const hidden = (value: unknown, places: ReadonlySet<string>): unknown => {
    if (Array.isArray(value)) return value.map((member: unknown) => hidden(member, places));
    if (isObject(value)) {
      // Made of entries, so that a key like `__proto__` is one like any other.
      return Object.fromEntries(
        Object.entries(value).map(([key, member], at) => [
          places.has(key) ? key : `${MASK} ${at + 1}`,
          hidden(member, places),
        ]),
      );
    }
    if (value === null) return null;
    masked += 1;
    return MASK;
  };
  const shown = (machine: string, values: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(values).map(([field, value]) => {
        const { fields: decide, places } = read.get(machine) ?? NOTHING;
        if (!decide.has(field)) return [field, hidden(value, places)];
        const fields = kept.get(machine) ?? new Set<string>();
        kept.set(machine, fields.add(field));
        return [field, value];
      }),
    );
  const below = (entity: Entity): Entity => {
    const { context, children } = entity;
    const here = { ...entity, context: shown(entity.machine_id, context) };
    return children === undefined ? here : { ...here, children: children.map(below) };
  };
  const result = {
    tree: below(tree),
    history: history.map((row) => ({ ...row, event_params: shown(row.machine_id, row.event_params) })),
  };
  return {
    ...result,
    kept: new Map([...kept].map(([machine, fields]) => [machine, [...fields].sort()])),
    masked,
  };
}
