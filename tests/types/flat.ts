// Flat machines: states and events are unions, and what is named is there.

import type { EventOf, IdOf, RegionOf, StateOf } from "../../src/js/lib/typed.ts";
import { defineMachine, holds, type, type Same } from "./expect.ts";

const order = defineMachine({
  machine_id: "order",
  states: ["placed", "paid", "sent", "void"],
  initial_state: "placed",
  transitions: [
    { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 10 } },
    { from: "paid", to: "sent", on: "ship" },
    { from: "placed", to: "void", on: "$timeout", guard: { timeout_seconds: 60 } },
  ],
});

type("the states are a union of literals, without `as const`", () => {
  holds<Same<StateOf<typeof order>, "placed" | "paid" | "sent" | "void">>();
});

type("the events are a union of literals, without `$timeout`", () => {
  holds<Same<EventOf<typeof order>, "pay" | "ship">>();
});

type("a flat machine has the region `_`", () => {
  holds<Same<RegionOf<typeof order>, "_">>();
  holds<Same<StateOf<typeof order, "_">, "placed" | "paid" | "sent" | "void">>();
});

type("the id is a literal", () => {
  holds<Same<IdOf<typeof order>, "order">>();
  holds<Same<typeof order.id, "order">>();
});

type("`as const` changes nothing", () => {
  const definition = {
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "go" }],
  } as const;
  const machine = defineMachine(definition);
  holds<Same<StateOf<typeof machine>, "a" | "b">>();
  holds<Same<EventOf<typeof machine>, "go">>();
});

type("one event on many transitions is one event", () => {
  const machine = defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "b", on: "flip" },
      { from: "b", to: "a", on: "flip" },
    ],
  });
  holds<Same<EventOf<typeof machine>, "flip">>();
});

type("a machine without transitions has no events", () => {
  const machine = defineMachine({ machine_id: "m", states: ["a"], initial_state: "a", transitions: [] });
  holds<Same<EventOf<typeof machine>, never>>();
});

type("a machine may have timeouts alone", () => {
  const machine = defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "$timeout", guard: { after_ms: 5 } }],
  });
  holds<Same<EventOf<typeof machine>, never>>();
});

type("names may be any text", () => {
  const machine = defineMachine({
    machine_id: "a.b",
    states: ["it's", "$", "a.b"],
    initial_state: "$",
    transitions: [{ from: "$", to: "it's", on: "go now" }],
  });
  holds<Same<StateOf<typeof machine>, "it's" | "$" | "a.b">>();
});

type("what is for people is taken", () => {
  defineMachine({
    machine_id: "m",
    contract: "statewright.v1",
    label: "2026-01",
    description: "A machine",
    meta: { owner: { team: "orders" }, tags: ["a", 1, null] },
    states: ["a"],
    initial_state: "a",
    transitions: [{ from: "a", to: "a", on: "go", description: "again" }],
  });
});

type("`initial_state` is one of the states", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    // @ts-expect-error there is no state b
    initial_state: "b",
    transitions: [],
  });
});

type("a flat machine has an `initial_state`", () => {
  // @ts-expect-error it is missing
  defineMachine({ machine_id: "m", states: ["a"], transitions: [] });
});

type("a machine has states or regions", () => {
  // @ts-expect-error it has neither
  defineMachine({ machine_id: "m", transitions: [] });
});

type("a machine has an id and transitions", () => {
  // @ts-expect-error no id
  defineMachine({ states: ["a"], initial_state: "a", transitions: [] });
  // @ts-expect-error no transitions
  defineMachine({ machine_id: "m", states: ["a"], initial_state: "a" });
});

type("`from` and `to` are states", () => {
  defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [
      // @ts-expect-error there is no state c
      { from: "c", to: "b", on: "go" },
      // @ts-expect-error there is no state c
      { from: "a", to: "c", on: "go" },
      { from: "a", to: "b", on: "go" },
    ],
  });
});

type("a transition has `from`, `to` and `on`", () => {
  defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [
      // @ts-expect-error no on
      { from: "a", to: "b" },
      // @ts-expect-error no to
      { from: "a", on: "go" },
      // @ts-expect-error no from
      { to: "b", on: "go" },
    ],
  });
});

type("a transition of a flat machine names no region", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    // @ts-expect-error there are no regions
    transitions: [{ region: "a", from: "a", to: "a", on: "go" }],
  });
});

type("unknown keys do not compile", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    // @ts-expect-error guard is meant
    transitions: [{ from: "a", to: "a", on: "go", gaurd: { field: "x", op: "eq", value: 1 } }],
  });
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [],
    // @ts-expect-error actions is meant
    action: [],
  });
});

type("a flat machine has no joins and no broadcast", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [],
    // @ts-expect-error of parallel machines
    joins: [{ when: { _: "a" }, target_region: "_", target_state: "a" }],
  });
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [{ from: "a", to: "a", on: "go" }],
    // @ts-expect-error of parallel machines
    broadcast: ["go"],
  });
});

type("a contract is one that there is", () => {
  defineMachine({
    machine_id: "m",
    // @ts-expect-error there is no v2
    contract: "statewright.v2",
    states: ["a"],
    initial_state: "a",
    transitions: [],
  });
});
