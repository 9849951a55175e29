import type { JsonDefinition } from "statewright";

import type { Example } from "./example.ts";
import { created, DAY, HOUR, MINUTE, sent, START } from "./steps.ts";

const fulfilment: JsonDefinition = {
  machine_id: "fulfilment",
  description: "Payment, goods and invoice go their own ways, and wait for each other at joins",
  regions: [
    {
      id: "payment",
      states: ["pending", "authorised", "captured", "void", "refunded"],
      initial_state: "pending",
    },
    { id: "goods", states: ["picking", "packed", "sent", "back", "restocked"], initial_state: "picking" },
    { id: "invoice", states: ["draft", "approved", "issued", "voided"], initial_state: "draft" },
  ],
  transitions: [
    { region: "payment", from: "pending", to: "authorised", on: "authorise" },
    { region: "payment", from: "authorised", to: "captured", on: "capture" },
    {
      region: "payment",
      from: "authorised",
      to: "pending",
      on: "$timeout",
      guard: { timeout_seconds: 604800 },
      description: "An authorisation holds for a week",
    },
    { region: "goods", from: "picking", to: "packed", on: "pack" },
    { region: "goods", from: "sent", to: "back", on: "return" },
    { region: "invoice", from: "draft", to: "approved", on: "approve_invoice" },
    { region: "payment", from: "pending", to: "void", on: "call_off" },
    { region: "payment", from: "authorised", to: "void", on: "call_off" },
    { region: "goods", from: "picking", to: "restocked", on: "call_off" },
    { region: "goods", from: "packed", to: "restocked", on: "call_off" },
    { region: "invoice", from: "draft", to: "voided", on: "call_off" },
    { region: "invoice", from: "approved", to: "voided", on: "call_off" },
  ],
  broadcast: ["call_off"],
  joins: [
    {
      when: { payment: "captured", invoice: "approved" },
      target_region: "invoice",
      target_state: "issued",
      description: "The invoice goes out when the money is there",
      actions: [{ type: "event", event_type: "invoice.issued" }],
    },
    {
      when: { payment: "captured", goods: "packed", invoice: "issued" },
      target_region: "goods",
      target_state: "sent",
      description: "Nothing leaves before it is paid and invoiced",
    },
    { when: { goods: "back" }, target_region: "payment", target_state: "refunded" },
  ],
  actions: [
    {
      on_enter: "sent",
      region: "goods",
      action: {
        type: "webhook",
        url: "https://carrier.example/parcels",
        method: "PUT",
        headers: { "x-api-key": { secret: "carrier-key" } },
        body: { order: { $from: "/entity_id" }, weight: { $from: "/context/weight", default: 1 } },
      },
    },
    {
      on_enter: "refunded",
      region: "payment",
      action: {
        type: "webhook",
        url: "https://pay.example/refunds",
        body: { order: { $from: "/entity_id" } },
      },
    },
  ],
};

const f1 = { machine_id: "fulfilment", entity_id: "o-2001" };

/** An order in parallel regions, which a join brings together. */
export const fulfilmentExample: Example = {
  id: "fulfilment",
  name: "Parallel order with a join",
  description: "Three regions side by side. One event is left: pack, and the second join sends the goods.",
  definitions: [fulfilment],
  subject: f1,
  scenario: {
    statewright: "scenario/1",
    start: START,
    machines: [fulfilment],
    steps: [
      created(
        f1,
        { customer: "c-17", weight: 2.4 },
        { state: { payment: "pending", goods: "picking", invoice: "draft" } },
      ),
      sent(f1, "authorise", { at: 5 * MINUTE, expect: { outcome: "applied" } }),
      sent(f1, "approve_invoice", { at: 2 * HOUR, expect: { outcome: "applied" } }),
      sent(f1, "capture", {
        at: DAY,
        expect: {
          outcome: "applied",
          state: { payment: "captured", goods: "picking", invoice: "issued" },
          body: { joins_fired: [{ target_region: "invoice", target_state: "issued" }] },
        },
      }),
    ],
  },
};
