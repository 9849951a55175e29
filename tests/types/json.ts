// Definitions whose names are not known: of JSON, or put together while a program runs.

import type { Definition, JsonDefinition } from "../../src/js/lib/definition.ts";
import type { AnyMachine, EventOf, StateOf } from "../../src/js/lib/typed.ts";
import { defineMachine, holds, type, type Same } from "./expect.ts";

import everything from "./everything.json" with { type: "json" };
import flat from "./flat.json" with { type: "json" };

type("an imported JSON file is a definition", () => {
  const machine = defineMachine(flat);
  holds<Same<StateOf<typeof machine>, string>>();
  holds<Same<EventOf<typeof machine>, string>>();
  holds<Same<(typeof machine)["id"], string>>();
});

type("an imported JSON file may have all that a definition has", () => {
  const machine = defineMachine(everything);
  machine.send(machine.create("x", { any: "context" }), "any event");
  const taken: JsonDefinition = everything;
  void taken;
});

type("a definition of unknown names is taken", () => {
  const definition = null! as Definition;
  const machine = defineMachine(definition);
  const state = machine.create("x").current_state;
  if (typeof state !== "string") holds<Same<(typeof state)[string], string>>();
});

type("names that are put together are strings", () => {
  const states = [1, 2, 3].map((n) => `s${n}`);
  const machine = defineMachine({
    machine_id: "m",
    states,
    initial_state: states[0]!,
    transitions: states.map((from) => ({ from, to: from, on: "go" })),
  });
  holds<Same<StateOf<typeof machine>, string>>();
});

type("a JSON definition has the shape of one", () => {
  // @ts-expect-error transitions are missing
  defineMachine({} as { machine_id: string; states: string[] });
});

type("a written definition has its own type too", () => {
  const definition: Definition = {
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [{ from: "a", to: "a", on: "go", guard: { field: "n", op: "gt", value: 1 } }],
  };
  const json: JsonDefinition = definition;
  defineMachine(json);
  const wrong: Definition = {
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    // @ts-expect-error gt is meant
    transitions: [{ from: "a", to: "a", on: "go", guard: { field: "n", op: "greater", value: 1 } }],
  };
  void wrong;
});

type("machines of any definition go together", () => {
  const written = defineMachine({
    machine_id: "m",
    states: ["a"],
    initial_state: "a",
    transitions: [{ from: "a", to: "a", on: "go" }],
  });
  const machines: AnyMachine[] = [written, defineMachine(flat)];
  void machines;
});
