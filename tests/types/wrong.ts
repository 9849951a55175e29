// @ts-nocheck: each error below is where `>>>` points, and its message has what stands behind `says`. The test compiles
// a copy of this file without this line.

import { defineMachine } from "./expect.ts";

export const flat = defineMachine({
  machine_id: "order",
  states: ["placed", "paid"],
  /*>>>*/ initial_state: "place", // says "paid" | "placed"
  transitions: [
    { /*>>>*/ from: "payed", to: "paid", on: "pay" }, // says "paid" | "placed"
    { from: "placed", /*>>>*/ to: "payed", on: "pay" }, // says "paid" | "placed"
    { from: "placed", to: "paid", on: "pay", /*>>>*/ gaurd: { field: "x", op: "eq", value: 1 } }, // says guard
    { from: "placed", to: "paid", on: "pay", guard: { field: "x", /*>>>*/ op: "equals", value: 1 } }, // says GuardOp
    { from: "placed", to: "paid", /*>>>*/ om: "pay" }, // says on
  ],
  actions: [
    { /*>>>*/ on_enter: "pay", action: { type: "event", event_type: "x" } }, // says "paid" | "placed"
    {
      on_enter: "paid",
      action: {
        type: "transition",
        machine_id: "order",
        entity_id: "x",
        /*>>>*/ event_type: "pays", // says "pay"
      },
    },
    { on_enter: "paid", action: { /*>>>*/ type: "web_hook", url: "https://x" } }, // says "webhook"
  ],
  sub_machines: {
    /*>>>*/ payed: { machine_id: "c", lifecycle: "managed" }, // says `payed` is no state of this machine
    paid: {
      machine_id: "c",
      lifecycle: "managed",
      on_final: { /*>>>*/ done: "payed" }, // says "paid" | "placed"
      complete_when: [{ when: { _: "done" }, /*>>>*/ target: "payed" }], // says "paid" | "placed"
      /*>>>*/ reentry: "again", // says "fresh"
    },
  },
});

export const parallel = defineMachine({
  machine_id: "fulfilment",
  regions: [
    { id: "payment", states: ["pending", "captured"], /*>>>*/ initial_state: "picking" }, // says "captured" | "pending"
    { id: "goods", states: ["picking", "packed"], initial_state: "picking" },
  ],
  transitions: [
    { region: "payment", /*>>>*/ from: "picking", to: "captured", on: "pay" }, // says "captured" | "pending"
    { region: "goods", from: "picking", /*>>>*/ to: "captured", on: "pack" }, // says "packed" | "picking"
    { /*>>>*/ region: "good", from: "picking", to: "packed", on: "pack" }, // says "goods" | "payment"
  ],
  joins: [
    { when: { /*>>>*/ payment: "packed" }, target_region: "goods", target_state: "packed" }, // says "captured" | "pending"
    { when: { /*>>>*/ pay: "packed" }, target_region: "goods", target_state: "packed" }, // says payment
    { when: { payment: "captured" }, /*>>>*/ target_region: "good", target_state: "packed" }, // says "goods" | "payment"
    { when: { payment: "captured" }, target_region: "goods", /*>>>*/ target_state: "captured" }, // says "packed" | "picking"
  ],
  actions: [
    { region: "payment", /*>>>*/ on_enter: "packed", action: { type: "event", event_type: "x" } }, // says "captured" | "pending"
  ],
  broadcast: ["pay", /*>>>*/ "pays"], // says "pack" | "pay"
});

const machine = defineMachine(
  {
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "go" }],
  },
  { types: {} as { events: { go: { n: number } } } },
);
const snapshot = machine.create("x");
machine.send(snapshot, /*>>>*/ "gone"); // says EventDetail<"go", { go: { n: number; }; }>
machine.send(snapshot, /*>>>*/ "go"); // says EventDetail<"go", { go: { n: number; }; }>
machine.send(snapshot, /*>>>*/ { type: "go", params: { n: "1" } }); // says 'string' is not assignable to type 'number'

const plain = defineMachine({
  machine_id: "p",
  states: ["a", "b"],
  initial_state: "a",
  transitions: [
    { from: "a", to: "b", on: "go" },
    { from: "b", to: "a", on: "back" },
  ],
});
plain.send(plain.create("x"), /*>>>*/ "gone"); // says "back" | "go"
