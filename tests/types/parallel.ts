// Parallel machines: each region has states of its own.

import type { EventOf, RegionOf, SnapshotOf, StateOf } from "../../src/js/lib/typed.ts";
import { defineMachine, holds, type, type Same } from "./expect.ts";

const fulfilment = defineMachine({
  machine_id: "fulfilment",
  regions: [
    { id: "payment", states: ["pending", "captured", "refunded"], initial_state: "pending" },
    { id: "goods", states: ["picking", "packed", "sent", "back"], initial_state: "picking" },
  ],
  transitions: [
    { region: "payment", from: "pending", to: "captured", on: "pay" },
    { region: "goods", from: "picking", to: "packed", on: "pack" },
    { region: "goods", from: "sent", to: "back", on: "return" },
  ],
  joins: [
    { when: { payment: "captured", goods: "packed" }, target_region: "goods", target_state: "sent" },
    {
      when: { goods: "back" },
      target_region: "payment",
      target_state: "refunded",
      trigger: "edge",
      actions: [{ type: "event", event_type: "refund.due" }],
    },
  ],
  broadcast: ["pay"],
});

type("the regions are a union", () => {
  holds<Same<RegionOf<typeof fulfilment>, "payment" | "goods">>();
});

type("each region has its own states", () => {
  holds<Same<StateOf<typeof fulfilment, "payment">, "pending" | "captured" | "refunded">>();
  holds<Same<StateOf<typeof fulfilment, "goods">, "picking" | "packed" | "sent" | "back">>();
});

type("the states of all regions are one union", () => {
  holds<
    Same<
      StateOf<typeof fulfilment>,
      "pending" | "captured" | "refunded" | "picking" | "packed" | "sent" | "back"
    >
  >();
});

type("the events of all regions are one union", () => {
  holds<Same<EventOf<typeof fulfilment>, "pay" | "pack" | "return">>();
});

type("a snapshot has a state for each region", () => {
  const snapshot = null! as SnapshotOf<typeof fulfilment>;
  holds<Same<(typeof snapshot.current_state)["payment"], "pending" | "captured" | "refunded">>();
  holds<Same<(typeof snapshot.current_state)["goods"], "picking" | "packed" | "sent" | "back">>();
  holds<Same<typeof snapshot.region_entries.goods.state, "picking" | "packed" | "sent" | "back">>();
  // @ts-expect-error there is no such region
  snapshot.current_state.shipping;
});

type("a region's `initial_state` is one of its own states", () => {
  defineMachine({
    machine_id: "m",
    regions: [
      { id: "one", states: ["a", "b"], initial_state: "a" },
      // @ts-expect-error a is a state of the other region
      { id: "two", states: ["c", "d"], initial_state: "a" },
    ],
    transitions: [],
  });
});

type("`from` and `to` are states of the transition's region", () => {
  defineMachine({
    machine_id: "m",
    regions: [
      { id: "one", states: ["a", "b"], initial_state: "a" },
      { id: "two", states: ["c", "d"], initial_state: "c" },
    ],
    transitions: [
      // @ts-expect-error c is a state of the other region
      { region: "one", from: "c", to: "b", on: "go" },
      // @ts-expect-error d is a state of the other region
      { region: "one", from: "a", to: "d", on: "go" },
      { region: "two", from: "c", to: "d", on: "go" },
    ],
  });
});

type("the same name in two regions names two states", () => {
  const machine = defineMachine({
    machine_id: "m",
    regions: [
      { id: "one", states: ["off", "on"], initial_state: "off" },
      { id: "two", states: ["off", "open"], initial_state: "off" },
    ],
    transitions: [
      { region: "one", from: "off", to: "on", on: "start" },
      { region: "two", from: "off", to: "open", on: "start" },
    ],
  });
  holds<Same<StateOf<typeof machine, "one">, "off" | "on">>();
  holds<Same<StateOf<typeof machine, "two">, "off" | "open">>();
});

type("a transition of a parallel machine names its region", () => {
  defineMachine({
    machine_id: "m",
    regions: [{ id: "one", states: ["a", "b"], initial_state: "a" }],
    // @ts-expect-error it names none
    transitions: [{ from: "a", to: "b", on: "go" }],
  });
});

type("the region of a transition is one that there is", () => {
  defineMachine({
    machine_id: "m",
    regions: [{ id: "one", states: ["a", "b"], initial_state: "a" }],
    // @ts-expect-error there is no region two
    transitions: [{ region: "two", from: "a", to: "b", on: "go" }],
  });
});

type("a join waits for states of the right regions", () => {
  const regions = [
    { id: "one", states: ["a", "b"], initial_state: "a" },
    { id: "two", states: ["c", "d"], initial_state: "c" },
  ] as const;
  defineMachine({
    machine_id: "m",
    regions,
    transitions: [],
    joins: [
      { when: { one: "b" }, target_region: "two", target_state: "d" },
      // @ts-expect-error c is a state of the other region
      { when: { one: "c" }, target_region: "two", target_state: "d" },
      // @ts-expect-error there is no region three
      { when: { one: "b", three: "x" }, target_region: "two", target_state: "d" },
    ],
  });
});

type("a join moves a region to one of its states", () => {
  defineMachine({
    machine_id: "m",
    regions: [
      { id: "one", states: ["a", "b"], initial_state: "a" },
      { id: "two", states: ["c", "d"], initial_state: "c" },
    ],
    transitions: [],
    joins: [
      // @ts-expect-error b is a state of the other region
      { when: { one: "b" }, target_region: "two", target_state: "b" },
      // @ts-expect-error there is no region three
      { when: { one: "b" }, target_region: "three", target_state: "d" },
      // @ts-expect-error edge or level
      { when: { one: "b" }, target_region: "two", target_state: "d", trigger: "edgy" },
    ],
  });
});

type("a broadcast is an event of the machine", () => {
  defineMachine({
    machine_id: "m",
    regions: [{ id: "one", states: ["a", "b"], initial_state: "a" }],
    transitions: [{ region: "one", from: "a", to: "b", on: "go" }],
    // @ts-expect-error there is no event gone
    broadcast: ["go", "gone"],
  });
});

type("a machine is flat or parallel", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    // @ts-expect-error it is flat
    regions: [{ id: "one", states: ["a", "b"], initial_state: "a" }],
    transitions: [],
  });
  defineMachine({
    machine_id: "m",
    regions: [{ id: "one", states: ["a", "b"], initial_state: "a" }],
    // @ts-expect-error it is parallel
    initial_state: "a",
    transitions: [],
  });
});
