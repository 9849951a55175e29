// What entering a state calls for.

import { defineMachine, type } from "./expect.ts";

const seat = defineMachine({
  machine_id: "seat",
  states: ["free", "taken"],
  initial_state: "free",
  transitions: [
    { from: "free", to: "taken", on: "take" },
    { from: "taken", to: "free", on: "leave" },
  ],
});

type("each type of action is taken", () => {
  defineMachine({
    machine_id: "booking",
    states: ["asked", "confirmed"],
    initial_state: "asked",
    transitions: [{ from: "asked", to: "confirmed", on: "confirm" }],
    actions: [
      {
        on_enter: "confirmed",
        action: {
          type: "webhook",
          url: "https://example.com/bookings",
          method: "PUT",
          headers: { authorization: { secret: "bookings", prefix: "Bearer " }, "x-kind": "booking" },
          body: { booking: { $from: "/entity_id" }, seats: { $from: "/context/seats", default: 1 } },
          signed: false,
        },
      },
      { on_enter: "confirmed", action: { type: "event", event_type: "anything.at.all" } },
      {
        on_enter: "confirmed",
        action: {
          type: "transition",
          machine_id: "seat",
          entity_id: "{/context/seat}",
          event_type: "take",
          params: { by: { $from: "/entity_id" } },
          create: false,
        },
      },
    ],
  });
});

type("`on_enter` is a state", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [],
    // @ts-expect-error there is no state b
    actions: [{ on_enter: "b", action: { type: "event", event_type: "x" } }],
  });
});

type("`on_enter` is a state of the action's region, or of any", () => {
  defineMachine({
    machine_id: "m",
    regions: [
      { id: "one", states: ["a", "b"], initial_state: "a" },
      { id: "two", states: ["c", "d"], initial_state: "c" },
    ],
    transitions: [],
    actions: [
      { on_enter: "d", action: { type: "event", event_type: "x" } },
      { on_enter: "d", region: "two", action: { type: "event", event_type: "x" } },
      // @ts-expect-error d is a state of the other region
      { on_enter: "d", region: "one", action: { type: "event", event_type: "x" } },
      // @ts-expect-error there is no region three
      { on_enter: "d", region: "three", action: { type: "event", event_type: "x" } },
    ],
  });
});

type("the type of an action is one that there is", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [],
    // @ts-expect-error webhook is meant
    actions: [{ on_enter: "a", action: { type: "hook", url: "https://example.com" } }],
  });
});

type("an action is whole", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [],
    actions: [
      // @ts-expect-error no url
      { on_enter: "a", action: { type: "webhook" } },
      // @ts-expect-error no entity_id
      { on_enter: "a", action: { type: "transition", machine_id: "x", event_type: "go" } },
    ],
  });
});

type("the method of a webhook is one that there is", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [],
    actions: [
      // @ts-expect-error methods are written in capitals
      { on_enter: "a", action: { type: "webhook", url: "https://example.com", method: "post" } },
    ],
  });
});

type("an event to the machine itself is one of its own", () => {
  defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "go" }],
    actions: [
      { on_enter: "b", action: { type: "transition", machine_id: "m", entity_id: "x", event_type: "go" } },
      // @ts-expect-error there is no event gone
      { on_enter: "b", action: { type: "transition", machine_id: "m", entity_id: "x", event_type: "gone" } },
    ],
  });
});

type("an event to a machine that is given is one of that machine", () => {
  defineMachine(
    {
      machine_id: "m",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [{ from: "a", to: "b", on: "go" }],
      actions: [
        {
          on_enter: "b",
          action: { type: "transition", machine_id: "seat", entity_id: "x", event_type: "take" },
        },
        {
          on_enter: "b",
          // @ts-expect-error seat has no event go
          action: { type: "transition", machine_id: "seat", entity_id: "x", event_type: "go" },
        },
      ],
    },
    { machines: [seat] },
  );
});

type("an event to a machine that is not given is any", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [],
    actions: [
      {
        on_enter: "a",
        action: { type: "transition", machine_id: "seat", entity_id: "x", event_type: "any" },
      },
    ],
  });
});

type("the actions of a join stand alone or with a state", () => {
  defineMachine(
    {
      machine_id: "m",
      regions: [{ id: "one", states: ["a", "b"], initial_state: "a" }],
      transitions: [],
      joins: [
        {
          when: { one: "a" },
          target_region: "one",
          target_state: "b",
          actions: [
            { type: "transition", machine_id: "seat", entity_id: "x", event_type: "take" },
            { on_enter: "b", action: { type: "event", event_type: "x" } },
            // @ts-expect-error there is no state c
            { on_enter: "c", action: { type: "event", event_type: "x" } },
            // @ts-expect-error seat has no event go
            { type: "transition", machine_id: "seat", entity_id: "x", event_type: "go" },
          ],
        },
      ],
    },
    { machines: [seat] },
  );
});
