// How values and errors cross to the core: as JSON text, of which nothing is lost in silence.

import { core } from "#core-wasm";

import { type ErrorBody, StatewrightError } from "./errors.ts";

/**
 * A value as JSON text. Members that are `undefined` are absent, as in JSON; whatever else JSON has no form for is refused, where
 * `JSON.stringify` would drop it or write something else.
 *
 * @param path Where the value stands, for the error.
 * @throws {StatewrightError} `BAD_REQUEST`: a Date, a Map, an instance of a class, a function, a symbol, a bigint, NaN or Infinity,
 * `undefined` in an array, an object with `toJSON`, or a cycle.
 */
export function jsonText(value: unknown, path: string): string {
  check(value, path, 0);
  return JSON.stringify(value);
}

/** Deeper than any document is read. */
const DEEPEST = 128;

function check(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (Number.isFinite(value)) return;
      throw unfit(path, `it is ${value}`, "a finite number");
    case "object":
      break;
    case "bigint":
      throw unfit(path, "it is a bigint", "a number, or its digits as text");
    default:
      throw unfit(path, `it is ${value === undefined ? "undefined" : `a ${typeof value}`}`, "a JSON value");
  }
  if (value === null) return;
  if (depth > DEEPEST) throw unfit(path, "it is too deep, or within itself", `at most ${DEEPEST} levels`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) check(value[index], `${path}[${index}]`, depth + 1);
    return;
  }
  if (!isPlain(value))
    throw unfit(path, `it is a ${kindOf(value)}`, "plain data: text, a number or an object");
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) check(member, `${path}.${key}`, depth + 1);
  }
}

/** Whether JSON says all that an object is. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !isForeign(prototype)) return false;
  return typeof (value as { readonly toJSON?: unknown }).toJSON !== "function";
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

function kindOf(value: object): string {
  const name = (value as { readonly constructor?: { readonly name?: unknown } }).constructor?.name;
  if (typeof name !== "string" || name === "" || name === "Object") return "object with toJSON";
  return name;
}

/** A part of what was given is wrong. */
export function unfit(path: string, problem: string, expected: string): StatewrightError {
  const error = {
    code: "BAD_REQUEST",
    message: `${path}: ${problem}; expected ${expected}`,
    retry: false,
    path,
  };
  return new StatewrightError(error, 400);
}

/** What Wasm threw, as what is thrown to the caller. */
export function refusal(thrown: unknown): unknown {
  if (typeof thrown !== "string") return thrown;
  return errorOf(JSON.parse(thrown) as ErrorBody);
}

/** The inside of an answer's `error`, as an error. */
export function errorOf(body: ErrorBody): StatewrightError {
  return new StatewrightError(body, core().status(body.code));
}
