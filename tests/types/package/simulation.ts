// Simulations, and the helpers for tests, as the package declares them.

import fc from "fast-check";
import {
  type AnyMachine,
  defineMachine,
  type EventOf,
  type Scenario,
  simulate,
  type SnapshotOf,
  type StateOf,
} from "statewright";
import { arbitraryEvents, asScenario, coverage, paths, play, scenario } from "statewright/testing";

import { holds, type, type Same } from "../expect.ts";

const permit = defineMachine({
  machine_id: "permit",
  states: ["asked", "granted"],
  initial_state: "asked",
  transitions: [{ from: "asked", to: "granted", on: "grant" }],
});

const order = defineMachine(
  {
    machine_id: "order",
    states: ["placed", "paid"],
    initial_state: "placed",
    transitions: [{ from: "placed", to: "paid", on: "pay" }],
  },
  { types: {} as { context: { total: number }; events: { pay: { amount: number } } } },
);

type("what the package declares is what the sources say", () => {
  holds<Same<StateOf<typeof order>, "placed" | "paid">>();
  holds<Same<EventOf<typeof order>, "pay">>();
  holds<Same<SnapshotOf<typeof order>["context"], { total: number }>>();
});

type("a simulation knows its machines", () => {
  using session = simulate([permit, order]);
  session.create("permit", "p");
  session.create("order", "o", { total: 1 });
  // @ts-expect-error there is no such machine
  session.create("invoice", "i");
});

type("a simulation knows the events of each machine", () => {
  using session = simulate([permit, order]);
  session.send("permit", "p", "grant");
  session.send("order", "o", { type: "pay", params: { amount: 1 } });
  // @ts-expect-error it is an event of the other machine
  session.send("permit", "p", "pay");
  // @ts-expect-error no params
  session.send("order", "o", "pay");
});

type("a simulation knows the states of each machine", () => {
  using session = simulate([permit, order]);
  const entity = session.entity("order", "o");
  holds<Same<typeof entity.current_state, "placed" | "paid">>();
  const answer = session.send("permit", "p", "grant");
  holds<Same<typeof answer.current_state, "asked" | "granted">>();
});

type("a simulation of machines that are not known takes any", () => {
  using session = simulate(null! as AnyMachine[]);
  session.create("any", "x", {});
  session.send("any", "x", "event");
});

type("of machines of which some are known, those are checked", () => {
  using session = simulate([permit, null! as AnyMachine]);
  session.send("permit", "p", "grant");
  session.send("another", "x", "event");
});

type("paths and what is played are of the machine", () => {
  for (const path of paths(permit)) {
    for (const { after, step } of play(permit, path.steps, { context: path.context })) {
      holds<Same<typeof after.current_state, "asked" | "granted">>();
      if (step.event) holds<Same<typeof step.wait, undefined>>();
      else holds<Same<typeof step.wait, number>>();
    }
    holds<Same<ReturnType<typeof asScenario>, Scenario>>();
  }
});

type("steps that are played are events of the machine", () => {
  play(permit, [{ event: { type: "grant" } }, { wait: 5 }]);
  // @ts-expect-error there is no event deny
  play(permit, [{ event: { type: "deny" } }]);
  // @ts-expect-error an event or a wait
  play(permit, [{ event: { type: "grant" }, wait: 5 }]);
});

type("generated steps are of the machine", () => {
  const steps = arbitraryEvents(fc, permit);
  fc.property(steps, (value) => {
    for (const { after } of play(permit, value)) holds<Same<typeof after.machine_id, "permit">>();
  });
});

type("coverage takes any machine and what was committed", () => {
  const { commit } = permit.send(permit.create("p"), "grant");
  if (commit) holds<Same<ReturnType<typeof coverage>["complete"], boolean>>();
  if (commit) coverage(permit, [commit, commit.rows]).missed;
  // @ts-expect-error a snapshot is no history
  coverage(permit, [permit.create("p")]);
});

type("a scenario is the body of a test", () => {
  holds<Same<ReturnType<typeof scenario>, () => Promise<void>>>();
});
