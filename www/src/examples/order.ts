import type { JsonDefinition } from "statewright";

import type { Example } from "./example.ts";
import { created, DAY, found, HOUR, MINUTE, sent, START } from "./steps.ts";

const order: JsonDefinition = {
  machine_id: "order",
  description: "An order of a shop: paid in time or cancelled, then packed and shipped",
  states: ["placed", "paid", "packed", "shipped", "delivered", "cancelled"],
  initial_state: "placed",
  transitions: [
    { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 25 } },
    { from: "placed", to: "cancelled", on: "cancel" },
    {
      from: "placed",
      to: "cancelled",
      on: "$timeout",
      guard: { timeout_seconds: 86400 },
      description: "Not paid within a day",
    },
    { from: "paid", to: "packed", on: "pack" },
    { from: "paid", to: "cancelled", on: "cancel" },
    { from: "packed", to: "shipped", on: "ship" },
    { from: "shipped", to: "delivered", on: "deliver" },
  ],
  actions: [
    {
      on_enter: "paid",
      action: {
        type: "webhook",
        url: "https://mail.example/receipts",
        headers: { authorization: { secret: "mail-token", prefix: "Bearer " } },
        body: {
          order: { $from: "/entity_id" },
          customer: { $from: "/context/customer" },
          amount: { $from: "/event/params/amount" },
        },
      },
    },
    {
      on_enter: "paid",
      action: {
        type: "transition",
        machine_id: "stock",
        entity_id: "{/context/article}",
        event_type: "reserve",
        params: { order: { $from: "/entity_id" } },
      },
    },
    {
      on_enter: "shipped",
      action: {
        type: "transition",
        machine_id: "stock",
        entity_id: "{/context/article}",
        event_type: "take",
      },
    },
    { on_enter: "cancelled", action: { type: "event", event_type: "order.cancelled" } },
  ],
};

const stock: JsonDefinition = {
  machine_id: "stock",
  description: "An article on the shelf, reserved by the order that pays for it",
  states: ["free", "reserved", "taken"],
  initial_state: "free",
  transitions: [
    { from: "free", to: "reserved", on: "reserve" },
    { from: "reserved", to: "free", on: "release" },
    { from: "reserved", to: "taken", on: "take" },
  ],
};

const o1 = { machine_id: "order", entity_id: "o-1001" };
const lamp = { machine_id: "stock", entity_id: "lamp-7" };

/** An order, with a guard of its amount. */
export const orderExample: Example = {
  id: "order",
  name: "Order",
  description:
    "One machine with a guard, a timeout and effects; paying reserves an article of another machine.",
  definitions: [order, stock],
  subject: o1,
  scenario: {
    statewright: "scenario/1",
    start: START,
    machines: [order, stock],
    steps: [
      created(o1, { customer: "c-17", article: "lamp-7" }, { state: "placed" }),
      sent(o1, "pay", {
        at: 10 * MINUTE,
        params: { amount: 20 },
        expect: { outcome: "no_transition", state: "placed" },
      }),
      sent(o1, "pay", {
        at: 12 * MINUTE,
        params: { amount: 49 },
        expect: { outcome: "applied", state: "paid" },
      }),
      found(lamp, "reserved"),
      sent(o1, "pack", { at: 3 * HOUR, expect: { outcome: "applied", state: "packed" } }),
      // Late enough that the timer of `placed` would have fired: it was disarmed when the order was paid.
      sent(o1, "cancel", { at: DAY + HOUR, expect: { outcome: "no_transition", state: "packed" } }),
    ],
  },
};
