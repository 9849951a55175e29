// What stands for code that was left out: functions that do nothing, which the import knows and lists by their names.

/** A function in the place of one that was not read; it is never called. */
export function codeNamed(name: string): () => undefined {
  const code = (): undefined => undefined;
  Object.defineProperty(code, "name", { value: name });
  return code;
}

const COMBINATIONS: ReadonlyMap<string, string> = new Map([
  ["and", "checkAnd"],
  ["or", "checkOr"],
  ["not", "checkNot"],
  ["stateIn", "checkStateIn"],
]);

/** Calls of XState that make an action, by which the import lists it. */
const ACTIONS: ReadonlySet<string> = new Set([
  "assign",
  "cancel",
  "emit",
  "enqueueActions",
  "forwardTo",
  "log",
  "raise",
  "sendParent",
  "sendTo",
  "spawnChild",
  "stopChild",
]);

/** Whether a call by this name is read, its arguments too. */
export function isCombination(name: string): boolean {
  return COMBINATIONS.has(name);
}

/** What a call of `and`, `or`, `not` or `stateIn` makes in XState, as far as an import looks at it. */
export function combination(name: string, argument: unknown): unknown {
  const check = codeNamed(COMBINATIONS.get(name) ?? "");
  return Object.assign(codeNamed(name), { check, guards: Array.isArray(argument) ? argument : [argument] });
}

/** What another call makes. */
export function calledCode(name: string): unknown {
  return ACTIONS.has(name)
    ? Object.assign(codeNamed(name), { type: `xstate.${name}` })
    : codeNamed(`${name}(…)`);
}
