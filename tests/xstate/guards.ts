// Guards as XState runs them in the differential tests: a second, plain reading of docs/definitions.md#operators.

import type { Guard } from "../../src/js/lib/definition.ts";

/** What a guard looks a field up in. */
export type Fields = Readonly<Record<string, unknown>>;

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

function number(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && NUMBER.test(value) ? Number(value) : undefined;
}

function equal(one: unknown, other: unknown): boolean {
  if (typeof one !== "number" && typeof other !== "number") return one === other;
  const [left, right] = [number(one), number(other)];
  return left !== undefined && left === right;
}

/** Whether a guard passes: fields are looked up in the first of the places that has them. */
export function passes(guard: Guard, ...places: readonly Fields[]): boolean {
  if ("all" in guard) return guard.all.every((member) => passes(member, ...places));
  if ("any" in guard) return guard.any.some((member) => passes(member, ...places));
  const place = places.find((fields) => Object.hasOwn(fields, guard.field));
  if (place === undefined) return false;
  const [seen, value] = [place[guard.field], guard.value];
  const [left, right] = [number(seen), number(value)];
  const ordered = (holds: (left: number, right: number) => boolean) =>
    left !== undefined && right !== undefined && holds(left, right);
  switch (guard.op) {
    case "eq":
      return equal(seen, value);
    case "neq":
    case "ne":
      return !equal(seen, value);
    case "gt":
      return ordered((one, other) => one > other);
    case "gte":
      return ordered((one, other) => one >= other);
    case "lt":
      return ordered((one, other) => one < other);
    case "lte":
      return ordered((one, other) => one <= other);
    case "contains":
      return typeof seen === "string" && typeof value === "string" && seen.includes(value);
  }
}
