// Events, their params, and the context of entities.

import type {
  AnyMachine,
  ContextOf,
  EventInput,
  ParamsOf,
  SnapshotOf,
  TypesOf,
} from "../../src/js/lib/typed.ts";
import { defineMachine, holds, type, type Same } from "./expect.ts";

interface Order {
  total: number;
  note?: string;
}

const order = defineMachine(
  {
    machine_id: "order",
    states: ["placed", "paid", "void"],
    initial_state: "placed",
    transitions: [
      { from: "placed", to: "paid", on: "pay" },
      { from: "placed", to: "void", on: "cancel" },
      { from: "paid", to: "paid", on: "remark" },
    ],
  },
  {
    types: {} as {
      context: Order;
      events: { pay: { amount: number; currency: "EUR" | "USD" }; remark: { text?: string } };
    },
  },
);

const plain = defineMachine({
  machine_id: "plain",
  states: ["a", "b"],
  initial_state: "a",
  transitions: [{ from: "a", to: "b", on: "go" }],
});

type("the context is as declared", () => {
  holds<Same<ContextOf<typeof order>, Order>>();
  holds<Same<SnapshotOf<typeof order>["context"], Order>>();
});

type("the params of an event are as declared", () => {
  holds<Same<ParamsOf<typeof order, "pay">, { amount: number; currency: "EUR" | "USD" }>>();
  holds<Same<ParamsOf<typeof order, "cancel">, object>>();
});

type("a context that was declared is needed", () => {
  order.create("o", { total: 1 });
  order.create("o", { total: 1, note: "x" }, { now: 0 });
  // @ts-expect-error it is missing
  order.create("o");
  // @ts-expect-error total is a number
  order.create("o", { total: "1" });
});

type("a context that was not declared is any object", () => {
  plain.create("p");
  plain.create("p", { any: ["thing"] });
  // @ts-expect-error it is an object
  plain.create("p", "text");
  holds<Same<ReturnType<typeof plain.create>["context"][string], unknown>>();
});

type("an event is its type, or an object", () => {
  const snapshot = plain.create("p");
  plain.send(snapshot, "go");
  plain.send(snapshot, { type: "go" });
  plain.send(snapshot, { type: "go", params: { any: 1 }, timestamp: 1, expectedVersion: 1 });
  plain.send(snapshot, "go", { now: 5, history: [] });
});

type("an event is one of the machine", () => {
  const snapshot = plain.create("p");
  // @ts-expect-error there is no event stop
  plain.send(snapshot, "stop");
  // @ts-expect-error there is no event stop
  plain.send(snapshot, { type: "stop" });
  // @ts-expect-error timeouts fire by themselves
  plain.send(snapshot, "$timeout");
});

type("an event whose params were declared needs them", () => {
  const snapshot = order.create("o", { total: 1 });
  order.send(snapshot, { type: "pay", params: { amount: 5, currency: "EUR" } });
  // @ts-expect-error no params
  order.send(snapshot, "pay");
  // @ts-expect-error no params
  order.send(snapshot, { type: "pay" });
  // @ts-expect-error no currency
  order.send(snapshot, { type: "pay", params: { amount: 5 } });
  // @ts-expect-error amount is a number
  order.send(snapshot, { type: "pay", params: { amount: "5", currency: "EUR" } });
  // @ts-expect-error there is no such currency
  order.send(snapshot, { type: "pay", params: { amount: 5, currency: "XXX" } });
});

type("an event whose params are all optional stands alone", () => {
  const snapshot = order.create("o", { total: 1 });
  order.send(snapshot, "remark");
  order.send(snapshot, { type: "remark" });
  order.send(snapshot, { type: "remark", params: { text: "x" } });
  // @ts-expect-error text is a text
  order.send(snapshot, { type: "remark", params: { text: 5 } });
});

type("an event whose params were not declared takes any, or none", () => {
  const snapshot = order.create("o", { total: 1 });
  order.send(snapshot, "cancel");
  order.send(snapshot, { type: "cancel", params: { any: "thing" } });
  interface Reason {
    why: string;
  }
  const params: Reason = { why: "x" };
  order.send(snapshot, { type: "cancel", params });
});

type("params are declared of events of the machine alone", () => {
  defineMachine(
    { machine_id: "m", states: ["a"], initial_state: "a", transitions: [{ from: "a", to: "a", on: "go" }] },
    // @ts-expect-error there is no event gone
    { types: {} as { events: { gone: { n: number } } } },
  );
});

type("types may be of the context alone", () => {
  const machine = defineMachine(
    { machine_id: "m", states: ["a"], initial_state: "a", transitions: [{ from: "a", to: "a", on: "go" }] },
    { types: {} as { context: { n: number } } },
  );
  const snapshot = machine.create("x", { n: 1 });
  holds<Same<typeof snapshot.context, { n: number }>>();
  machine.send(snapshot, "go");
});

type("events can be put in a variable first", () => {
  const event: EventInput<TypesOf<typeof order>> = { type: "pay", params: { amount: 1, currency: "USD" } };
  order.send(order.create("o", { total: 1 }), event);
});

type("machines with declared types go with any others", () => {
  const machines: AnyMachine[] = [order, plain];
  void machines;
});
