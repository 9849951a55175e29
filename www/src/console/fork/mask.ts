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

/** The fields of context and params that decide, by machine. */
function fieldsRead(definitions: readonly JsonDefinition[]): ReadonlyMap<string, ReadonlySet<string>> {
  const read = new Map<string, Set<string>>();
  for (const { machine_id, transitions } of definitions) {
    const fields = read.get(machine_id) ?? new Set<string>();
    for (const { guard } of transitions) readBy(guard, fields);
    read.set(machine_id, fields);
  }
  return read;
}

/**
 * The tree and its history with every value of context and params masked, but those of fields that a guard of the entity's machine
 * reads: what the fork does next is what the entity would do. Names of fields stay, and so do ids, states, event types and times.
 * What does change: an event that is sent again with its own params is no duplicate of a row whose params are masked, and texts that
 * templates of actions fill from the context have the mask in them.
 */
export function mask(
  tree: Entity,
  history: readonly HistoryRow[],
  definitions: readonly JsonDefinition[],
): Masked {
  const read = fieldsRead(definitions);
  const kept = new Map<string, Set<string>>();
  let masked = 0;
  const hidden = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(hidden);
    if (isObject(value)) {
      // Made of entries, so that a key like `__proto__` is one like any other.
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, hidden(member)]));
    }
    if (value === null) return null;
    masked += 1;
    return MASK;
  };
  const shown = (machine: string, values: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(values).map(([field, value]) => {
        if (read.get(machine)?.has(field) !== true) return [field, hidden(value)];
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
