// A machine's definition without what the service adds, as it is read and edited.

import type { JsonDefinition, Machine } from "statewright/client";

import { jsonText } from "../../editor/format.ts";

/** Keys in the order in which people write them; others follow. */
const OF_MACHINE = [
  "machine_id",
  "contract",
  "label",
  "description",
  "states",
  "initial_state",
  "regions",
  "transitions",
  "joins",
  "sub_machines",
  "actions",
  "broadcast",
  "meta",
];

/** The same of the members of its lists. */
const OF_MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["regions", ["id", "description", "states", "initial_state", "sub_machines"]],
  ["transitions", ["region", "from", "to", "on", "guard", "description"]],
  ["joins", ["when", "target_region", "target_state", "trigger", "actions", "description"]],
  ["actions", ["region", "on_enter", "action"]],
]);

const ADDED = new Set(["tenant_id", "revision", "content_hash", "created_at", "updated_at", "warnings"]);

/** An object with its keys in an order; anything else as it is. */
function ordered(value: unknown, order: readonly string[]): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const place = (key: string) => (order.includes(key) ? order.indexOf(key) : order.length);
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => place(a) - place(b)));
}

/** The definition of a registered machine, in the order in which people write one. */
export function definitionOf(machine: Machine | JsonDefinition): JsonDefinition {
  const entries = Object.entries(machine)
    .filter(([key]) => !ADDED.has(key))
    .map(([key, value]: [string, unknown]): [string, unknown] => {
      const order = OF_MEMBERS.get(key);
      if (order === undefined || !Array.isArray(value)) return [key, value];
      return [key, value.map((member: unknown) => ordered(member, order))];
    });
  // Only what the service added is left out.
  return ordered(Object.fromEntries(entries), OF_MACHINE) as JsonDefinition;
}

/** A definition as text. */
export function definitionText(machine: Machine | JsonDefinition): string {
  return jsonText(definitionOf(machine));
}
