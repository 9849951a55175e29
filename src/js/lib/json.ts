// How values cross to WebAssembly and to services: as JSON text, of which nothing is lost in silence.

import { kindOf, wrong } from "./wrong.ts";

/**
 * A value as JSON text. Members that are `undefined` are absent, as in JSON; whatever else JSON has no form for is refused, where
 * `JSON.stringify` would drop it or write something else.
 *
 * @param path Where the value stands, for the error.
 * @throws {StatewrightError} `BAD_REQUEST`: a Date, a Map, an instance of a class, a function, a symbol, a bigint, NaN or Infinity,
 * half of a surrogate pair, `undefined` in an array, an object with `toJSON`, a cycle, or more than 127 levels.
 */
export function jsonText(value: unknown, path: string): string {
  checkJson(value, path);
  return JSON.stringify(value);
}

/** Checks a value as `jsonText` does, where something else writes it. */
export function checkJson(value: unknown, path: string): void {
  new Walk(path).check(value);
}

/** Deeper than any document is read. */
const DEEPEST = 127;

/** A way through a value. */
class Walk {
  readonly #root: string;
  /** From the root to where it is: members and places, and the objects that have them. */
  readonly #way: (string | number)[] = [];
  readonly #above: object[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  check(value: unknown): void {
    switch (typeof value) {
      case "string":
        if (!value.isWellFormed()) throw this.#wrong(HALF, "whole characters");
        return;
      case "boolean":
        return;
      case "number":
        if (!Number.isFinite(value)) throw this.#wrong(`it is ${value}`, "a finite number");
        return;
      case "object":
        if (value !== null) this.#object(value);
        return;
      case "bigint":
        throw this.#wrong("it is a bigint", "a number, or its digits as text");
      default:
        throw this.#wrong(`it is ${value === undefined ? "undefined" : kindOf(value)}`, "a JSON value");
    }
  }

  #object(value: object): void {
    if (this.#above.length >= DEEPEST) throw this.#deep();
    this.#above.push(value);
    if (Array.isArray(value)) {
      // Holes too.
      for (let place = 0; place < value.length; place += 1) this.#member(place, value[place]);
    } else {
      const odd = oddity(value);
      if (odd !== undefined) throw this.#wrong(`it is ${odd}`, "plain data: text, a number or an object");
      for (const name of Object.keys(value)) {
        const member = (value as { readonly [name: string]: unknown })[name];
        if (member === undefined) continue;
        if (!name.isWellFormed()) throw this.#wrong(`a member's name: ${HALF}`, "whole characters");
        this.#member(name, member);
      }
    }
    this.#above.pop();
  }

  #member(name: string | number, member: unknown): void {
    this.#way.push(name);
    this.check(member);
    this.#way.pop();
  }

  /** That it goes on too long: for ever, where an object is within itself. */
  #deep(): Error {
    const again = this.#above.findIndex((object, place) => this.#above.indexOf(object) < place);
    this.#way.length = again < 0 ? SHOWN : again;
    if (again >= 0) return this.#wrong("it is within itself", "plain data without a cycle");
    return this.#wrong(`it goes on below for more than ${DEEPEST} levels`, `at most ${DEEPEST} levels`);
  }

  #wrong(problem: string, expected: string): Error {
    const way = this.#way.map((name) => (typeof name === "number" ? `[${name}]` : `.${name}`));
    return wrong(`${this.#root}${way.join("")}`, problem, expected);
  }
}

/** What is told of a way that is too long. */
const SHOWN = 3;
/** What is wrong with a text that has no form in UTF-8. */
export const HALF = "it has half of a surrogate pair";

/** What an object is, where JSON does not say all that it is. */
function oddity(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !isForeign(prototype)) {
    const kind = kindOf(value);
    return kind === "an object" ? "an object with a prototype of its own" : kind;
  }
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? "an object with `toJSON`" : undefined;
}

/** Whether a prototype is that of another realm's plain objects. */
function isForeign(prototype: unknown): boolean {
  return (
    typeof prototype === "object" &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, "isPrototypeOf")
  );
}
