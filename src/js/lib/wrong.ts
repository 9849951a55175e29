import { StatewrightError } from "./errors.ts";

/** An argument is wrong: what is wrong with it, and what would be right. */
export function wrong(path: string, problem: string, expected: string): StatewrightError {
  const message = `${path}: ${problem}; expected ${expected}`;
  return new StatewrightError({ code: "BAD_REQUEST", message, retry: false, path }, 400);
}
