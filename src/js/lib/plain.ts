// Copies of plain JSON data, made by hand because they are made for each event.

/** Plain members, sorted by name. */
export type Members = { [name: string]: unknown };

/** Copies what is small; larger data is left to JSON. Every character counts one, and every value a few. */
export class Copier {
  #left = 0;
  /** Whether the last copy has values within values. */
  nested = false;

  /**
   * A copy of members, as their JSON text would give them: sorted, without those that are `undefined`, and without a negative zero.
   * Nothing where they are no plain JSON data, or weigh more than `most`.
   */
  members(source: object, most: number): Members | undefined {
    this.#left = most;
    this.nested = false;
    return this.#object(source, 0);
  }

  #object(source: object, depth: number): Members | undefined {
    const prototype: unknown = Object.getPrototypeOf(source);
    if (depth > DEEPEST || (prototype !== Object.prototype && prototype !== null)) return undefined;
    const values = source as Members;
    const names = Object.keys(values);
    let sorted = true;
    let simple = true;
    let previous = "";
    for (const name of names) {
      if (name === "__proto__" || name === "toJSON" || !name.isWellFormed()) return undefined;
      if (name <= previous && previous !== "") sorted = false;
      previous = name;
      const value = values[name];
      this.#left -= name.length + EACH;
      if (typeof value === "string") {
        if (!value.isWellFormed()) return undefined;
        this.#left -= value.length;
      } else if (typeof value === "number") {
        if (!Number.isFinite(value)) return undefined;
        if (value === 0 && 1 / value < 0) simple = false;
      } else if (typeof value !== "boolean" && value !== null) simple = false;
    }
    if (this.#left < 0) return undefined;
    if (sorted && simple && Object.getOwnPropertySymbols(values).length === 0) return { ...values };
    return this.#rebuilt(values, sorted ? names : names.sort(), depth);
  }

  #rebuilt(values: Members, names: readonly string[], depth: number): Members | undefined {
    const copy: Members = {};
    for (const name of names) {
      const value = values[name];
      if (value === undefined) continue;
      const copied = this.#value(value, depth);
      if (copied === undefined) return undefined;
      copy[name] = copied;
    }
    return copy;
  }

  /** Nothing for what is no JSON value. */
  #value(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case "string":
        this.#left -= value.length;
        return this.#left >= 0 && value.isWellFormed() ? value : undefined;
      case "number":
        return Number.isFinite(value) ? value + 0 : undefined;
      case "boolean":
        return value;
      case "object":
        if (value === null) return null;
        this.nested = true;
        return Array.isArray(value) ? this.#array(value, depth + 1) : this.#object(value, depth + 1);
      default:
        return undefined;
    }
  }

  #array(source: readonly unknown[], depth: number): unknown[] | undefined {
    this.#left -= source.length * EACH;
    if (depth > DEEPEST || this.#left < 0 || "toJSON" in source) return undefined;
    const copy: unknown[] = [];
    for (let index = 0; index < source.length; index += 1) {
      const copied = this.#value(source[index], depth);
      if (copied === undefined) return undefined;
      copy.push(copied);
    }
    return copy;
  }
}

/** What a value weighs beside its characters. */
const EACH = 8;
const DEEPEST = 24;

/** Members with others over them, sorted by name. */
export function merged(members: Members, over: Members): Members {
  let added = false;
  let any = false;
  for (const name of Object.keys(over)) {
    any = true;
    if (!Object.hasOwn(members, name)) added = true;
  }
  if (!any) return members;
  const both = { ...members, ...over };
  if (!added) return both;
  const sorted: Members = {};
  for (const name of Object.keys(both).sort()) sorted[name] = both[name];
  return sorted;
}
