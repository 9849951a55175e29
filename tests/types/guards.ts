// Guards and timeouts.

import { defineMachine, type } from "./expect.ts";

type("all forms of guards are taken, nested", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [
      {
        from: "a",
        to: "a",
        on: "go",
        guard: {
          any: [
            { field: "n", op: "gt", value: 1 },
            {
              all: [
                { field: "s", op: "contains", value: "x" },
                { any: [{ field: "b", op: "eq", value: true }] },
                { all: [] },
              ],
            },
            { field: "o", op: "neq", value: { deep: [1, null] } },
          ],
        },
      },
    ],
  });
});

type("an operator is one that there is", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    // @ts-expect-error eq is meant
    transitions: [{ from: "a", to: "a", on: "go", guard: { field: "n", op: "equals", value: 1 } }],
  });
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [
      // @ts-expect-error eq is meant, deep inside too
      { from: "a", to: "a", on: "go", guard: { all: [{ any: [{ field: "n", op: "==", value: 1 }] }] } },
    ],
  });
});

type("a comparison is whole", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    // @ts-expect-error no value
    transitions: [{ from: "a", to: "a", on: "go", guard: { field: "n", op: "eq" } }],
  });
});

type("a timeout has a delay", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "a", on: "$timeout", guard: { timeout_seconds: 1 } },
      { from: "a", to: "a", on: "$timeout", guard: { after_ms: 1, field: "n", op: "eq", value: 1 } },
      {
        from: "a",
        to: "a",
        on: "$timeout",
        guard: { after_ms: 1, all: [{ field: "n", op: "eq", value: 1 }] },
      },
      // @ts-expect-error no guard
      { from: "a", to: "a", on: "$timeout" },
      // @ts-expect-error no delay
      { from: "a", to: "a", on: "$timeout", guard: { field: "n", op: "eq", value: 1 } },
    ],
  });
});

type("a timeout has one delay", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    // @ts-expect-error two
    transitions: [{ from: "a", to: "a", on: "$timeout", guard: { timeout_seconds: 1, after_ms: 1 } }],
  });
});

type("an event has no delay", () => {
  defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    // @ts-expect-error only a timeout has one
    transitions: [{ from: "a", to: "a", on: "go", guard: { timeout_seconds: 1 } }],
  });
});

type("the guards of statemachine-e1e4.v1 have their own forms", () => {
  defineMachine({
    machine_id: "m",
    contract: "statemachine-e1e4.v1",
    states: ["a"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "a", on: "go", guard: { amount: { op: "gt", value: 1 } } },
      { from: "a", to: "a", on: "$timeout", guard: { timeout_seconds: "60" } },
    ],
  });
});
