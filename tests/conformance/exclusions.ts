// Cases that cannot be told on a host, and why: the table of docs/conformance.md is made from this.

const HEADER = "a header cannot hold a line break";
const STANDS = "it waits for a clock that stands while sends are tried again";

/** Over HTTP. tests/http asks the same of a service whose clock runs. */
export const OVER_HTTP: ReadonlyMap<string, string> = new Map([
  ["tenants-are-checked", HEADER],
  ["a-sink-that-fails-is-tried-again", STANDS],
  ["after-five-attempts-a-presentation-is-dead", STANDS],
  ["the-most-attempts-are-a-setting", STANDS],
  ["a-dead-presentation-is-presented-again-by-hand", STANDS],
  ["an-action-that-fails-is-tried-again-until-it-is-dead", STANDS],
  ["an-action-that-is-dead-is-sent-again-by-hand", STANDS],
]);

/** On an engine in a program, by `engine.fetch`. */
export const IN_A_PROGRAM: ReadonlyMap<string, string> = new Map(
  [...OVER_HTTP].filter(([name]) => name !== "an-action-that-is-dead-is-sent-again-by-hand"),
);

/** In JavaScript, where a mistyped name is more likely than one from a later version. */
export const OF_OBJECTS: ReadonlyMap<string, string> = new Map([
  ["unknown-fields-of-an-event-do-nothing", "`machine.send` refuses what nothing reads"],
]);

const OTHERS = "a snapshot does not know of other entities";

/** On machines and snapshots: what a session knows and a snapshot does not. */
export const OF_SNAPSHOTS: ReadonlyMap<string, string> = new Map([
  ["a-managed-child-of-another-parent-is-not-adopted", OTHERS],
]);
