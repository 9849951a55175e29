// What consumers/shared/exercise.js must answer, wherever it runs.

/** Of `pure`. */
export const PURE = {
  outcome: "applied",
  states: ["closed", "open", "closed"],
  due: 62_000,
  why: "no_transition",
  version: 2001,
  simulated: "closed",
  checked: true,
  refused: "BAD_REQUEST",
};

/** Of `durable`. */
export const DURABLE = { state: "open", later: "closed", missing: "404 NOT_FOUND" };
