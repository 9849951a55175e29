// The fields that guards read, and params as they are typed into a form of them.

/** A comparison of a guard. */
interface Compared {
  readonly field: string;
  readonly op: string;
  readonly value: unknown;
}

/** How a field is typed in. */
export type FieldKind = "number" | "choice" | "text" | "json";

/** A field that guards read. */
export interface GuardField {
  readonly name: string;
  readonly kind: FieldKind;
  /** What it is compared with: `≥ 25`. */
  readonly hint: string;
  /** Texts that it is compared with. */
  readonly suggestions: readonly string[];
}

const OPERATORS: ReadonlyMap<string, string> = new Map([
  ["eq", "="],
  ["neq", "≠"],
  ["ne", "≠"],
  ["gt", ">"],
  ["gte", "≥"],
  ["lt", "<"],
  ["lte", "≤"],
]);

/** A comparison's sign. */
export function signOf(op: string): string {
  return OPERATORS.get(op) ?? op;
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
export interface TypedParams {
  readonly params: { readonly [name: string]: unknown };
  readonly problems: ReadonlyMap<string | undefined, string>;
}

/** Reads what is typed for a field. */
function valueOf(kind: FieldKind, text: string): { readonly value: unknown } | undefined {
  switch (kind) {
    case "text":
      return { value: text };
    case "choice":
      return { value: text === "true" };
    case "number": {
      const value = Number(text);
      return text.trim() === "" || !Number.isFinite(value) ? undefined : { value };
    }
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        // A text needs no quotes.
        return { value: text };
      }
  }
}

/** Reads an object of JSON; of an empty text an empty one. */
export function objectOf(text: string): { readonly [name: string]: unknown } | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told by the caller.
  }
  return undefined;
}

/** The params of what is typed. Names like `__proto__` are names like others. */
export function paramsOf(fields: readonly GuardField[], typed: Typed): TypedParams {
  const problems = new Map<string | undefined, string>();
  const other = objectOf(typed.other);
  if (other === undefined) problems.set(undefined, "It is no JSON object.");
  const entries = new Map(Object.entries(other ?? {}));
  for (const { name, kind } of fields) {
    const text = typed.fields.get(name) ?? "";
    if (text === "") continue;
    const read = valueOf(kind, text);
    if (read === undefined) problems.set(name, "It is no number.");
    else entries.set(name, read.value);
  }
  return { params: Object.fromEntries(entries), problems };
}
