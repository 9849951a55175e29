// A source's definition, as it is written and read. Pure.

import type { Source } from "statewright/client";

import { exactJson } from "../../parts/exact-numbers.ts";

/** What the service adds to what was put. */
const ADDED: readonly string[] = ["id", "counts", "created_at", "updated_at"];
/** What decides most, first. */
const FIRST: readonly string[] = ["machine", "scheme", "secret", "mapping"];

/** What a PUT of the source would say. */
export function definitionOf(source: Source): Record<string, unknown> {
  const put = Object.entries(source).filter(([name]) => !ADDED.includes(name));
  const first = FIRST.flatMap((name) => put.filter(([of]) => of === name));
  return Object.fromEntries([...first, ...put.filter(([name]) => !FIRST.includes(name))]);
}

/** A source to begin with, for a machine. */
export function startOf(machine: string): object {
  return {
    machine,
    scheme: { type: "standard-webhooks" },
    secret: "webhook-signing",
    mapping: {
      entity_id: "/data/id",
      rename: { "order.paid": "pay" },
      params: { amount: "/data/amount" },
    },
  };
}

/** Reads what was written: an object, or why it is none. */
export function readObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = exactJson(text);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Error(`this is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("this is no JSON object");
  }
  return Object.fromEntries(Object.entries(value));
}

/** How many requests came, whatever became of them. */
export function totalOf(counts: Source["counts"]): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
