// What callers give, checked before it crosses to WebAssembly: there, what is of another type would be taken for something else.

import { HALF } from "./json.ts";
import type { At } from "./typed.ts";
import { kindOf, wrong } from "./wrong.ts";

/** A text that is given. */
export function textOf(text: unknown, path: string): string {
  if (typeof text !== "string") throw wrong(path, `it is ${kindOf(text)}`, "a text");
  if (!text.isWellFormed()) throw wrong(path, HALF, "whole characters");
  return text;
}

/** A text that is given, and that a header can hold. */
export function lineOf(text: unknown, path: string): string {
  const line = textOf(text, path);
  if (/[\x00-\x1f\x7f]/.test(line)) throw wrong(path, "it has a control character", "one line of text");
  return line;
}

/** A time that is given. */
export function timeOf(time: unknown, path: string): number {
  if (Number.isSafeInteger(time)) return time as number;
  const problem = `it is ${typeof time === "string" ? `the text \`${time.slice(0, 40)}\`` : kindOf(time)}`;
  throw wrong(path, problem, "whole milliseconds since the epoch");
}

/** A whole number that is given. */
export function wholeOf(number: unknown, path: string, least: number, most: number): number {
  if (Number.isSafeInteger(number) && (number as number) >= least && (number as number) <= most) {
    return number as number;
  }
  throw wrong(path, `it is ${kindOf(number)}`, `a whole number from ${least} to ${most}`);
}

/** Options that are given: an object whose every member is read. */
export function optionsOf<Options extends object>(options: Options, known: readonly string[]): Options {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw wrong("options", `they are ${kindOf(options)}`, `an object with \`${known.join("`, `")}\``);
  }
  onlyOf(options, "options", known);
  return options;
}

/** Refuses members that nothing reads. */
export function onlyOf(members: object, path: string, known: readonly string[]): void {
  // Not by a list of the keys: this is asked for each event.
  for (const name in members) {
    if (known.includes(name) || (members as { readonly [name: string]: unknown })[name] === undefined)
      continue;
    throw wrong(`${path}.${name}`, "nothing reads it", `one of \`${known.join("`, `")}\``);
  }
}

const AT: readonly string[] = ["now"];

/** When something happens: the time that is given, or now. */
export function nowOf(options: At, known = AT): number {
  const { now } = optionsOf(options, known);
  return timeOf(now ?? Date.now(), "now");
}
