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
    if (!isMembersOnly()) return undefined;
    this.#left = most;
    this.nested = false;
    return this.#object(source, 0);
  }

  #object(source: object, depth: number): Members | undefined {
    const prototype: unknown = Object.getPrototypeOf(source);
    if (depth > DEEPEST || (prototype !== Object.prototype && prototype !== null)) return undefined;
    const values = source as Members;
    const copy: Members = {};
    let sorted = true;
    let previous = "";
    // All of them are its own: `isMembersOnly` has seen to that.
    for (const name in values) {
      if (name === "__proto__" || name === "toJSON" || !name.isWellFormed()) return undefined;
      if (name <= previous && previous !== "") sorted = false;
      previous = name;
      const value = values[name];
      this.#left -= name.length + EACH;
      if (value === undefined) continue;
      const copied = this.#value(value, depth);
      if (copied === undefined) return undefined;
      copy[name] = copied;
    }
    if (this.#left < 0) return undefined;
    return sorted ? copy : inOrder(copy);
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
  for (const name in over) {
    any = true;
    if (!Object.hasOwn(members, name)) added = true;
  }
  if (!any) return members;
  const both = { ...members, ...over };
  if (!added) return both;
  return inOrder(both);
}

function inOrder(members: Members): Members {
  const sorted: Members = {};
  for (const name of Object.keys(members).sort()) sorted[name] = members[name];
  return sorted;
}

/** Whether a loop over an object's members meets its own alone: nobody has added to the prototype of all. */
function isMembersOnly(): boolean {
  for (const _ in Object.prototype) return false;
  return true;
}

/** How many members an object has, where it has no others than its own. */
export function count(members: object): number {
  let all = 0;
  for (const _ in members) all += 1;
  return all;
}
