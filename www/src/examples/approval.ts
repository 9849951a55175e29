import type { JsonDefinition } from "statewright";

import type { Example } from "./example.ts";
import { advanced, created, DAY, found, HOUR, sent, START } from "./steps.ts";

const approval: JsonDefinition = {
  machine_id: "approval",
  description: "An expense that somebody has to approve, and that is not forgotten",
  states: ["draft", "submitted", "reminded", "escalated", "approved", "rejected", "expired"],
  initial_state: "draft",
  transitions: [
    { from: "draft", to: "submitted", on: "submit" },
    {
      from: "submitted",
      to: "approved",
      on: "approve",
      guard: {
        any: [
          { field: "role", op: "eq", value: "director" },
          {
            all: [
              { field: "role", op: "eq", value: "lead" },
              { field: "amount", op: "lte", value: 500 },
            ],
          },
        ],
      },
      description: "A lead may approve up to 500, a director anything",
    },
    {
      from: "reminded",
      to: "approved",
      on: "approve",
      guard: {
        any: [
          { field: "role", op: "eq", value: "director" },
          {
            all: [
              { field: "role", op: "eq", value: "lead" },
              { field: "amount", op: "lte", value: 500 },
            ],
          },
        ],
      },
    },
    {
      from: "escalated",
      to: "approved",
      on: "approve",
      guard: { field: "role", op: "eq", value: "director" },
    },
    { from: "submitted", to: "rejected", on: "reject" },
    { from: "reminded", to: "rejected", on: "reject" },
    { from: "escalated", to: "rejected", on: "reject" },
    { from: "submitted", to: "draft", on: "take_back" },
    {
      from: "submitted",
      to: "escalated",
      on: "$timeout",
      guard: { timeout_seconds: 14400, field: "amount", op: "gt", value: 5000 },
      description: "Large ones go up after four hours",
    },
    { from: "submitted", to: "reminded", on: "$timeout", guard: { timeout_seconds: 86400 } },
    { from: "reminded", to: "escalated", on: "$timeout", guard: { timeout_seconds: 172800 } },
    { from: "escalated", to: "expired", on: "$timeout", guard: { timeout_seconds: 604800 } },
  ],
  actions: [
    {
      on_enter: "reminded",
      action: {
        type: "webhook",
        url: "https://chat.example/remind",
        headers: { authorization: { secret: "chat-token", prefix: "Bearer " } },
        body: {
          expense: { $from: "/entity_id" },
          to: { $from: "/context/lead" },
          why: { $from: "/event/type" },
        },
      },
    },
    { on_enter: "escalated", action: { type: "event", event_type: "approval.escalated" } },
    { on_enter: "expired", action: { type: "event", event_type: "approval.expired" } },
  ],
};

const a1 = { machine_id: "approval", entity_id: "expense-88" };

/** An approval with reminders, escalation and expiry. */
export const approvalExample: Example = {
  id: "approval",
  name: "Approval with timeouts",
  description:
    "Reminders, escalation and expiry by the clock. A reminder has just fired; two days are left until it escalates.",
  definitions: [approval],
  subject: a1,
  scenario: {
    statewright: "scenario/1",
    start: START,
    machines: [approval],
    steps: [
      created(a1, { employee: "Ada", lead: "Grace", amount: 800 }, { state: "draft" }),
      sent(a1, "submit", { at: HOUR, expect: { outcome: "applied", state: "submitted" } }),
      sent(a1, "approve", {
        at: 2 * HOUR,
        params: { role: "lead" },
        expect: { outcome: "no_transition", state: "submitted" },
      }),
      advanced(2 * HOUR, DAY + 2 * HOUR, 1),
      found(a1, "reminded"),
    ],
  },
};
