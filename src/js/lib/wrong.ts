import { StatewrightError } from "./errors.ts";

/** An argument is wrong: what is wrong with it, and what would be right. */
export function wrong(path: string, problem: string, expected: string): StatewrightError {
  const message = `${path}: ${problem}; expected ${expected}`;
  return new StatewrightError({ code: "BAD_REQUEST", message, retry: false, path }, 400);
}

/** What a value is, in words: `5`, `null`, `a text`, `an array`, `a Date`. */
export function kindOf(value: unknown): string {
  switch (typeof value) {
    case "undefined":
      return "missing";
    case "number":
    case "boolean":
      return String(value);
    case "string":
      return "a text";
    case "object":
      return value === null ? "null" : kindOfObject(value);
    default:
      return `a ${typeof value}`;
  }
}

function kindOfObject(value: object): string {
  if (Array.isArray(value)) return "an array";
  const name = (value as { readonly constructor?: { readonly name?: unknown } }).constructor?.name;
  if (typeof name !== "string" || name === "" || name === "Object") return "an object";
  return `${/^[AEIOU]/i.test(name) ? "an" : "a"} ${name}`;
}
