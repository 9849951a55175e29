// Params that may make a guard pass, or fail: found from the values that it compares with. Which transition is then
// taken is for the core to say.

import type { GuardOp } from "../definition.ts";
import { isObject } from "../json-value.ts";

/** Params or a context: values by field. */
export type Fields = Readonly<Record<string, unknown>>;

interface Clause {
  readonly field: string;
  readonly op: GuardOp;
  readonly value: unknown;
}

/** Most ways in which one guard can pass that are looked at. */
const MOST_WAYS = 64;
/** Most params that are tried for one event. */
const MOST_PARAMS = 256;

/**
 * Params for an event whose transitions have these guards: none, those that make each guard pass, those that make one
 * comparison of it fail, and, where they are few, all combinations of the values at the edges.
 */
export function paramsFor(guards: readonly unknown[]): readonly Fields[] {
  const clauses = guards.flatMap(comparisons);
  const values = byField(clauses);
  const found = new Found();
  for (const guard of guards) {
    for (const way of ways(guard)) found.add(passing(way));
  }
  const combinations = [...values.values()].reduce((count, { length }) => count * (length + 1), 1);
  if (combinations <= MOST_PARAMS / 4) {
    for (const fields of product([...values])) found.add(fields);
  } else {
    for (const guard of guards) {
      for (const way of ways(guard)) {
        const base = passing(way);
        for (const clause of way) {
          for (const value of values.get(clause.field) ?? []) found.add({ ...base, [clause.field]: value });
        }
      }
    }
  }
  found.add({});
  return found.all;
}

/** The fields that guards look up. */
export function fieldsOf(guards: readonly unknown[]): readonly string[] {
  return [...new Set(guards.flatMap(comparisons).map(({ field }) => field))];
}

/** After how many milliseconds a timeout with this guard is due. */
export function delayOf(guard: unknown): number | undefined {
  if (!isObject(guard)) return undefined;
  const { timeout_seconds: seconds, after_ms: ms } = guard;
  if (typeof ms === "number") return ms;
  return typeof seconds === "number" ? seconds * 1000 : undefined;
}

/** What was found, each once, up to a bound. */
class Found {
  readonly #texts = new Set<string>();
  readonly all: Fields[] = [];

  add(fields: Fields): void {
    const text = JSON.stringify(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
    if (this.all.length >= MOST_PARAMS || this.#texts.has(text)) return;
    this.#texts.add(text);
    this.all.push(fields);
  }
}

/** The comparison at the top of a guard, beside a delay or alone. */
function clauseOf(guard: Fields): Clause | undefined {
  const { field, op, value } = guard;
  return typeof field === "string" && typeof op === "string" && "value" in guard
    ? { field, op: op as GuardOp, value }
    : undefined;
}

function comparisons(guard: unknown): readonly Clause[] {
  if (!isObject(guard)) return [];
  const own = clauseOf(guard);
  const below = [guard["all"], guard["any"]].flatMap((list) => (Array.isArray(list) ? list : []));
  return [...(own ? [own] : []), ...below.flatMap(comparisons)];
}

/** The ways in which a guard can pass: the comparisons that then hold together. */
function ways(guard: unknown): readonly (readonly Clause[])[] {
  if (!isObject(guard)) return [[]];
  const own = clauseOf(guard);
  if (own) return [[own]];
  const { all, any } = guard;
  if (Array.isArray(any)) return any.flatMap(ways).slice(0, MOST_WAYS);
  if (!Array.isArray(all)) return [[]];
  return all.reduce<readonly (readonly Clause[])[]>(
    (before, member) =>
      before.flatMap((way) => ways(member).map((more) => [...way, ...more])).slice(0, MOST_WAYS),
    [[]],
  );
}

/** Values for the fields of comparisons that are to hold together. */
function passing(way: readonly Clause[]): Fields {
  const fields: Record<string, unknown> = {};
  for (const field of new Set(way.map((clause) => clause.field))) {
    fields[field] = valueFor(way.filter((clause) => clause.field === field));
  }
  return fields;
}

function valueFor(clauses: readonly Clause[]): unknown {
  const of = (...ops: GuardOp[]) => clauses.filter(({ op }) => ops.includes(op)).map(({ value }) => value);
  const [equal] = of("eq");
  if (equal !== undefined) return equal;
  const parts = of("contains");
  if (parts.length > 0) return parts.map(String).join(" ");
  const numbers = (...ops: GuardOp[]) => of(...ops).map(Number);
  const low = Math.max(...numbers("gt", "gte"));
  const high = Math.min(...numbers("lt", "lte"));
  if (low > -Infinity || high < Infinity) return numberWithin(low, high, of("neq", "ne").map(Number));
  return other(of("neq", "ne"));
}

/** A number between two bounds, a whole one if there is one, that is none of those to avoid. */
function numberWithin(low: number, high: number, avoid: readonly number[]): number {
  const whole = low > -Infinity ? Math.floor(low) + 1 : Math.ceil(high) - 1;
  const step = low > -Infinity ? 1 : -1;
  const candidates = Array.from({ length: avoid.length + 1 }, (_, index) => whole + step * index);
  const between = low + (high - low) / 2;
  const fits = (value: number) => value >= low && value <= high && !avoid.includes(value);
  const inside = candidates.find((value) => fits(value) && value !== low && value !== high);
  return inside ?? [between, low, high].find((value) => Number.isFinite(value) && fits(value)) ?? whole;
}

/** A value that is none of these. */
function other(values: readonly unknown[]): unknown {
  const [first] = values;
  switch (typeof first) {
    case "number":
      return Math.max(...values.map(Number)) + 1;
    case "boolean":
      return !first;
    case "string":
      return `${values.map(String).sort().at(-1)}x`;
    default:
      return "x";
  }
}

/** For each field the values at the edges of what it is compared with. */
function byField(clauses: readonly Clause[]): ReadonlyMap<string, readonly unknown[]> {
  const values = new Map<string, unknown[]>();
  const add = (field: string, ...more: unknown[]) => {
    const known = values.get(field) ?? [];
    const texts = new Set(known.map((value) => JSON.stringify(value)));
    for (const value of more) {
      const text = JSON.stringify(value);
      if (!texts.has(text)) known.push(value);
      texts.add(text);
    }
    values.set(field, known);
  };
  for (const { field, op, value } of clauses) {
    switch (op) {
      case "gt":
      case "lte":
        add(field, Number(value), Number(value) + 1);
        break;
      case "gte":
      case "lt":
        add(field, Number(value), Number(value) - 1);
        break;
      default:
        add(field, value, other([value]));
    }
  }
  for (const field of values.keys()) {
    const parts = clauses.filter((clause) => clause.field === field && clause.op === "contains");
    if (parts.length > 1) add(field, parts.map(({ value }) => String(value)).join(" "));
  }
  return values;
}

/** Every choice of a value, or of none, for each field. */
function product(values: readonly (readonly [string, readonly unknown[]])[]): readonly Fields[] {
  return values.reduce<readonly Fields[]>(
    (before, [field, choices]) =>
      before.flatMap((fields) => [
        ...choices.map((choice): Fields => ({ ...fields, [field]: choice })),
        fields,
      ]),
    [{}],
  );
}
