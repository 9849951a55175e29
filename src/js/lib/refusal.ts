// What WebAssembly throws, as what is thrown to the caller.

import { core } from "#core-wasm";

import { type ErrorBody, StatewrightError } from "./errors.ts";

/** Calls WebAssembly. */
export function called<T>(call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    throw refusal(thrown);
  }
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
