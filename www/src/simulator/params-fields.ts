// The fields that guards read, and params as they are typed into a form of them.

import { signOf } from "../diagram/guard.ts";
import { exactJson, inexactText, isDecimal, isExact } from "../parts/exact-numbers.ts";
import { isObject } from "../parts/json-value.ts";

/** A comparison of a guard. */
interface Compared {
  readonly field: string;
  readonly op: string;
  readonly value: unknown;
}

/** How a field is typed in. */
type FieldKind = "number" | "choice" | "text" | "json";

/** A field that guards read. */
export interface GuardField {
  readonly name: string;
  readonly kind: FieldKind;
  /** What it is compared with: `≥ 25`. */
  readonly hint: string;
  /** Texts that it is compared with. */
  readonly suggestions: readonly string[];
}

/** A value as JSON, cut where it is long. */
export function short(value: unknown, most = 60): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Guards nest 32 deep at most. */
const DEEPEST = 40;

function comparisonsOf(guard: unknown, deep = 0): Compared[] {
  if (typeof guard !== "object" || guard === null || deep > DEEPEST) return [];
  const { all, any, field, op, value } = guard as { readonly [key: string]: unknown };
  const parts = [all, any].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  const nested = parts.flatMap((part) => comparisonsOf(part, deep + 1));
  if (typeof field !== "string" || typeof op !== "string") return nested;
  return [...nested, { field, op, value }];
}

const ORDERS: ReadonlySet<string> = new Set(["gt", "gte", "lt", "lte"]);

function kindOf(comparisons: readonly Compared[]): FieldKind {
  const all = (fits: (compared: Compared) => boolean) => comparisons.every(fits);
  if (all(({ value, op }) => typeof value === "number" || ORDERS.has(op))) return "number";
  if (all(({ value }) => typeof value === "boolean")) return "choice";
  if (all(({ value }) => typeof value === "string")) return "text";
  return "json";
}

/** The fields that some guards read, in the order in which they do. */
export function fieldsOf(guards: readonly unknown[]): readonly GuardField[] {
  const found = new Map<string, Compared[]>();
  for (const compared of guards.flatMap((guard) => comparisonsOf(guard))) {
    const same = found.get(compared.field);
    if (same === undefined) found.set(compared.field, [compared]);
    else same.push(compared);
  }
  return [...found].map(([name, comparisons]) => {
    const hints = new Set(comparisons.map(({ op, value }) => `${signOf(op)} ${short(value, 24)}`));
    const texts = comparisons.flatMap(({ value }) => (typeof value === "string" ? [value] : []));
    return {
      name,
      kind: kindOf(comparisons),
      hint: [...hints].slice(0, 3).join(", ") + (hints.size > 3 ? ", …" : ""),
      suggestions: [...new Set(texts)].slice(0, 50),
    };
  });
}

/** What is typed into a form: texts by field, where one is empty it is not sent, and JSON of other params. */
export interface Typed {
  readonly fields: ReadonlyMap<string, string>;
  readonly other: string;
}

/** Nothing typed. */
export const BLANK: Typed = { fields: new Map(), other: "" };

/** The params that are typed, or what is wrong with them by field; that of the other params has no name. */
interface TypedParams {
  readonly params: { readonly [name: string]: unknown };
  readonly problems: ReadonlyMap<string | undefined, string>;
}

/** What a text says, or what is wrong with it. */
type Said<T> =
  | { readonly value: T; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string };

/** Reads what is typed for a field. */
function valueOf(kind: FieldKind, text: string): Said<unknown> {
  switch (kind) {
    case "text":
      return { value: text };
    case "choice":
      return { value: text === "true" };
    case "number": {
      const number = text.trim();
      if (!isDecimal(number)) return { problem: "It is no number." };
      return isExact(number) ? { value: Number(number) } : { problem: inexactText(number) };
    }
    case "json":
      try {
        return { value: exactJson(text) };
      } catch (error) {
        // A text needs no quotes.
        return error instanceof RangeError ? { problem: error.message } : { value: text };
      }
  }
}

/** Reads an object of JSON; of an empty text an empty one. */
export function objectSaid(text: string): Said<{ readonly [name: string]: unknown }> {
  if (text.trim() === "") return { value: {} };
  try {
    const value = exactJson(text);
    if (isObject(value)) return { value: { ...value } };
  } catch (error) {
    if (error instanceof RangeError) return { problem: error.message };
  }
  return { problem: "It is no JSON object." };
}

/** The params of what is typed. Names like `__proto__` are names like others. */
export function paramsOf(fields: readonly GuardField[], typed: Typed): TypedParams {
  const problems = new Map<string | undefined, string>();
  const other = objectSaid(typed.other);
  if (other.problem !== undefined) problems.set(undefined, other.problem);
  const entries = new Map(Object.entries(other.value ?? {}));
  for (const { name, kind } of fields) {
    const text = typed.fields.get(name) ?? "";
    if (text === "") continue;
    const read = valueOf(kind, text);
    if (read.problem !== undefined) problems.set(name, read.problem);
    else entries.set(name, read.value);
  }
  return { params: Object.fromEntries(entries), problems };
}
