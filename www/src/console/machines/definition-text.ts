// A machine's definition without what the service adds, as it is read and edited.

import type { JsonDefinition, Machine } from "statewright/client";

import { jsonText } from "../../editor/format.ts";

/** Keys in the order in which people write them; others follow. */
const ORDER = [
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

const ADDED = new Set(["tenant_id", "revision", "content_hash", "created_at", "updated_at", "warnings"]);

/** The definition of a registered machine. */
export function definitionOf(machine: Machine | JsonDefinition): JsonDefinition {
  const place = (key: string) => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);
  const entries = Object.entries(machine)
    .filter(([key]) => !ADDED.has(key))
    .sort(([a], [b]) => place(a) - place(b));
  // The service keeps what a definition is; what it added is left out.
  return Object.fromEntries(entries) as object as JsonDefinition;
}

/** A definition as text. */
export function definitionText(machine: Machine | JsonDefinition): string {
  return jsonText(definitionOf(machine));
}
