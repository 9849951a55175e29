// The core needs no DOM and no types of Node.js.

import { defineMachine, simulate, StatewrightError, type StateOf } from "statewright";

const door = defineMachine({
  machine_id: "door",
  states: ["closed", "open"],
  initial_state: "closed",
  transitions: [
    { from: "closed", to: "open", on: "push" },
    { from: "open", to: "closed", on: "pull" },
  ],
});

const sent = door.send(door.create("front"), "push");
export const state: "closed" | "open" = sent.snapshot.current_state;
export const named: StateOf<typeof door> = "open";
// @ts-expect-error: it has no such state.
export const wrong: StateOf<typeof door> = "ajar";
// @ts-expect-error: it takes no such event.
door.send(sent.snapshot, "kick");

const session = simulate([door], { now: 0 });
session.create("door", "back");
export const simulated: "closed" | "open" = session.entity("door", "back").current_state;
export const code = (error: unknown): string => (error instanceof StatewrightError ? error.code : "");
