// Children of compound states.

import type { EventOf } from "../../src/js/lib/typed.ts";
import { defineMachine, holds, type, type Same } from "./expect.ts";

const permit = defineMachine({
  machine_id: "permit",
  states: ["asked", "granted", "denied"],
  initial_state: "asked",
  transitions: [
    { from: "asked", to: "granted", on: "grant" },
    { from: "asked", to: "denied", on: "deny" },
  ],
});

const build = defineMachine({
  machine_id: "build",
  regions: [
    { id: "design", states: ["open", "agreed"], initial_state: "open" },
    { id: "code", states: ["none", "tested"], initial_state: "none" },
  ],
  transitions: [
    { region: "design", from: "open", to: "agreed", on: "agree" },
    { region: "code", from: "none", to: "tested", on: "test" },
  ],
});

type("children of a flat machine", () => {
  defineMachine({
    machine_id: "m",
    states: ["idle", "asking", "allowed"],
    initial_state: "idle",
    transitions: [{ from: "idle", to: "asking", on: "ask" }],
    sub_machines: {
      asking: {
        machine_id: "permit",
        lifecycle: "managed",
        on_final: { granted: "allowed" },
        reentry: "fresh",
      },
    },
  });
});

type("children of a region, of machines that are given", () => {
  defineMachine(
    {
      machine_id: "m",
      regions: [
        {
          id: "work",
          states: ["planned", "building", "built"],
          initial_state: "planned",
          sub_machines: {
            building: {
              machine_id: "build",
              lifecycle: "managed",
              complete_when: [{ when: { design: "agreed", code: "tested" }, target: "built" }],
            },
          },
        },
      ],
      transitions: [{ region: "work", from: "planned", to: "building", on: "begin" }],
    },
    { machines: [build] },
  );
});

type("a compound state is a state", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [],
    // @ts-expect-error there is no state b
    sub_machines: { b: { machine_id: "permit", lifecycle: "managed" } },
  });
});

type("a compound state of a region is one of its own states", () => {
  defineMachine({
    machine_id: "m",
    regions: [
      // @ts-expect-error c is a state of the other region
      { id: "one", states: ["a"], initial_state: "a", sub_machines: { c: { machine_id: "x" } } },
      { id: "two", states: ["c", "d"], initial_state: "c", sub_machines: { d: { machine_id: "x" } } },
    ],
    transitions: [],
  });
});

type("a child's end leads to a state of its parent's region", () => {
  defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [],
    sub_machines: {
      // @ts-expect-error there is no state c
      b: { machine_id: "permit", lifecycle: "managed", on_final: { granted: "c" } },
    },
  });
  defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [],
    sub_machines: {
      b: {
        machine_id: "build",
        lifecycle: "managed",
        // @ts-expect-error there is no state c
        complete_when: [{ when: { design: "agreed" }, target: "c" }],
      },
    },
  });
});

type("an end is a state of a child that is given", () => {
  defineMachine(
    {
      machine_id: "m",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [],
      sub_machines: {
        // @ts-expect-error granted is meant
        b: { machine_id: "permit", lifecycle: "managed", on_final: { grunted: "a" } },
      },
    },
    { machines: [permit] },
  );
});

type("a rule names each region of a child that is given", () => {
  defineMachine(
    {
      machine_id: "m",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [],
      sub_machines: {
        b: {
          machine_id: "build",
          lifecycle: "managed",
          complete_when: [
            { when: { design: "agreed", code: "tested" }, target: "a" },
            // @ts-expect-error without code
            { when: { design: "agreed" }, target: "a" },
            // @ts-expect-error open is a state of the other region
            { when: { design: "agreed", code: "open" }, target: "a" },
          ],
        },
      },
    },
    { machines: [build] },
  );
});

type("a rule of a flat child names the region `_`", () => {
  defineMachine(
    {
      machine_id: "m",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [],
      sub_machines: {
        b: {
          machine_id: "permit",
          lifecycle: "managed",
          complete_when: [{ when: { _: "denied" }, target: "a" }],
        },
      },
    },
    { machines: [permit] },
  );
});

type("`complete_when` and `reentry` are of managed children", () => {
  defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [],
    sub_machines: {
      // @ts-expect-error it is a legacy child
      b: { machine_id: "permit", reentry: "fresh" },
    },
  });
  defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [],
    sub_machines: {
      // @ts-expect-error refuse, fresh or resume
      b: { machine_id: "permit", lifecycle: "managed", reentry: "again" },
    },
  });
});

type("events of managed children need a target", () => {
  const machine = defineMachine(
    {
      machine_id: "m",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [{ from: "a", to: "b", on: "ask" }],
      sub_machines: { b: { machine_id: "permit", lifecycle: "managed", on_final: { granted: "a" } } },
    },
    { machines: [permit] },
  );
  holds<Same<EventOf<typeof machine>, "ask">>();
  const snapshot = machine.create("x");
  // @ts-expect-error it is the child's
  machine.send(snapshot, "grant");
  machine.send(snapshot, { type: "grant", target: [{ state: "b" }] });
});

type("events of legacy children are forwarded: they are events of the parent", () => {
  const machine = defineMachine(
    {
      machine_id: "m",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [{ from: "a", to: "b", on: "ask" }],
      sub_machines: { b: { machine_id: "permit", on_final: { granted: "a" } } },
    },
    { machines: [permit] },
  );
  holds<Same<EventOf<typeof machine>, "ask" | "grant" | "deny">>();
});

type("events of a legacy child that is not given are any", () => {
  const machine = defineMachine({
    machine_id: "m",
    regions: [
      { id: "r", states: ["a", "b"], initial_state: "a", sub_machines: { b: { machine_id: "permit" } } },
    ],
    transitions: [{ region: "r", from: "a", to: "b", on: "ask" }],
  });
  machine.send(machine.create("x"), "whatever");
});
