// Guards and delays as people read them: as the core's own Mermaid text has them.

import { isObject } from "../parts/json-value.ts";

const SIGNS: ReadonlyMap<unknown, string> = new Map([
  ["eq", "="],
  ["neq", "≠"],
  ["ne", "≠"],
  ["gt", ">"],
  ["gte", "≥"],
  ["lt", "<"],
  ["lte", "≤"],
  ["contains", "contains"],
]);

/** A comparison's sign. */
export function signOf(op: unknown): string {
  return SIGNS.get(op) ?? String(op);
}

const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
] as const;

/** How deep a guard is written out; a definition allows 32. */
const DEPTH = 32;

/** A delay in the largest unit that holds it exactly. */
export function durationText(millis: number): string {
  for (const [unit, name] of UNITS) {
    if (millis > 0 && millis % unit === 0) return `${millis / unit} ${name}`;
  }
  return `${millis} ms`;
}

/** The delay of a timeout's guard, in milliseconds. */
export function delayOf(guard: unknown): number | undefined {
  if (!isObject(guard)) return undefined;
  const { timeout_seconds: seconds, after_ms: millis } = guard;
  if (typeof seconds === "number") return seconds * 1000;
  return typeof millis === "number" ? millis : undefined;
}

/** The conditions of a guard, without its delay; undefined where it has none. */
export function guardText(guard: unknown): string | undefined {
  return isObject(guard) ? written(guard, 0) : undefined;
}

function written(guard: unknown, depth: number): string | undefined {
  if (!isObject(guard)) return undefined;
  if (depth > DEPTH) return "…";
  const { all, any, field, op, value } = guard;
  if (Array.isArray(all)) return listed(all, " and ", "always", depth);
  if (Array.isArray(any)) return listed(any, " or ", "never", depth);
  if (typeof field !== "string") return undefined;
  const name = /^[\p{L}\p{N}_.]+$/u.test(field) ? field : JSON.stringify(field);
  return `${name} ${signOf(op)} ${JSON.stringify(value) ?? "nothing"}`;
}

function listed(members: readonly unknown[], between: string, empty: string, depth: number): string {
  if (members.length === 0) return empty;
  const text = members.map((member) => written(member, depth + 1) ?? "?").join(between);
  return depth > 0 && members.length > 1 ? `(${text})` : text;
}
