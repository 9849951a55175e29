import type { JsonDefinition } from "statewright";

import type { Example } from "./example.ts";
import { advanced, created, DAY, found, HOUR, sent, START } from "./steps.ts";

const subscription: JsonDefinition = {
  machine_id: "subscription",
  description: "A trial that turns into a subscription, and is reminded when a payment fails",
  states: ["trial", "active", "past_due", "ended"],
  initial_state: "trial",
  transitions: [
    { from: "trial", to: "active", on: "subscribe" },
    { from: "trial", to: "ended", on: "$timeout", guard: { timeout_seconds: 1209600 } },
    { from: "active", to: "active", on: "renew", description: "The month begins anew" },
    { from: "active", to: "past_due", on: "payment_failed" },
    {
      from: "active",
      to: "past_due",
      on: "$timeout",
      guard: { timeout_seconds: 2764800 },
      description: "No renewal within 32 days",
    },
    { from: "active", to: "ended", on: "cancel" },
    { from: "past_due", to: "active", on: "payment_succeeded" },
    { from: "past_due", to: "ended", on: "cancel" },
  ],
  sub_machines: {
    past_due: {
      machine_id: "dunning",
      lifecycle: "managed",
      on_final: { promised: "active", given_up: "ended" },
      reentry: "fresh",
    },
  },
  actions: [
    { on_enter: "past_due", action: { type: "event", event_type: "subscription.past_due" } },
    {
      on_enter: "ended",
      action: { type: "webhook", url: "https://access.example/revoke", method: "DELETE" },
    },
  ],
};

const dunning: JsonDefinition = {
  machine_id: "dunning",
  description: "Reminders, until there is a promise or none is expected any more",
  states: ["first_reminder", "second_reminder", "last_call", "promised", "given_up"],
  initial_state: "first_reminder",
  transitions: [
    { from: "first_reminder", to: "promised", on: "promise" },
    { from: "second_reminder", to: "promised", on: "promise" },
    { from: "last_call", to: "promised", on: "promise" },
    { from: "first_reminder", to: "second_reminder", on: "$timeout", guard: { timeout_seconds: 259200 } },
    { from: "second_reminder", to: "last_call", on: "$timeout", guard: { timeout_seconds: 604800 } },
    { from: "last_call", to: "given_up", on: "$timeout", guard: { timeout_seconds: 604800 } },
  ],
  actions: [
    {
      on_enter: "second_reminder",
      action: {
        type: "webhook",
        url: "https://mail.example/reminders",
        body: { about: { $from: "/entity_id" }, level: 2 },
      },
    },
    {
      on_enter: "last_call",
      action: {
        type: "webhook",
        url: "https://mail.example/reminders",
        body: { about: { $from: "/entity_id" }, level: 3 },
      },
    },
  ],
};

const s1 = { machine_id: "subscription", entity_id: "s-314" };
const first = { machine_id: "dunning", entity_id: "s-314::sub::past_due" };

/** A subscription with a child that reminds of what is not paid. */
export const subscriptionExample: Example = {
  id: "subscription",
  name: "Subscription",
  description:
    "Renewals, failed payments and reminders by the clock. A first round of reminders was cancelled by a payment; the second one runs.",
  definitions: [subscription, dunning],
  subject: s1,
  scenario: {
    statewright: "scenario/1",
    start: START,
    machines: [subscription, dunning],
    steps: [
      created(s1, { customer: "c-17", plan: "team", seats: 5 }, { state: "trial" }),
      sent(s1, "subscribe", { at: 9 * DAY, expect: { outcome: "applied", state: "active" } }),
      sent(s1, "renew", { at: 39 * DAY, expect: { outcome: "applied", state: "active" } }),
      sent(s1, "payment_failed", {
        at: 69 * DAY,
        expect: {
          outcome: "applied",
          state: "past_due",
          body: { instances: [{ kind: "started", entity_id: first.entity_id }] },
        },
      }),
      sent(s1, "payment_succeeded", {
        at: 70 * DAY,
        expect: {
          outcome: "applied",
          state: "active",
          body: { instances: [{ kind: "cancelled", entity_id: first.entity_id }] },
        },
      }),
      found(first, "first_reminder"),
      advanced(70 * DAY, 102 * DAY + HOUR, 1),
      found(s1, "past_due"),
      advanced(102 * DAY + HOUR, 105 * DAY + 6 * HOUR, 1),
    ],
  },
};
