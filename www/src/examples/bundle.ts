import type { JsonDefinition } from "statewright";

import type { Example } from "./example.ts";
import { created, DAY, found, HOUR, sent, START } from "./steps.ts";

const caseOf = {
  machine_id: "return_case",
  lifecycle: "managed",
  complete_when: [
    { when: { case: "returned", deadline: "closed" }, target: "returned" },
    { when: { case: "kept", deadline: "closed" }, target: "kept" },
  ],
};

const parcel = (id: string) => ({
  id,
  states: ["idle", `ret_${id}`, "returned", "kept", "cancelled"],
  initial_state: "idle",
  sub_machines: { [`ret_${id}`]: caseOf },
});

const waysOf = (id: string) => [
  { region: id, from: "idle", to: `ret_${id}`, on: `open_${id}` },
  { region: id, from: `ret_${id}`, to: "cancelled", on: `cancel_${id}` },
];

const bundle: JsonDefinition = {
  machine_id: "bundle",
  description: "Parcels that were bought together; each may come back, as a case of its own",
  regions: [
    parcel("b1"),
    parcel("b2"),
    { id: "refund", states: ["waiting", "due"], initial_state: "waiting" },
  ],
  transitions: [...waysOf("b1"), ...waysOf("b2")],
  joins: [
    {
      when: { b1: "returned", b2: "cancelled" },
      target_region: "refund",
      target_state: "due",
      description: "Nothing is open any more, and one parcel is back",
    },
    { when: { b1: "returned", b2: "returned" }, target_region: "refund", target_state: "due" },
  ],
  actions: [
    {
      on_enter: "due",
      region: "refund",
      action: {
        type: "webhook",
        url: "https://pay.example/refunds",
        headers: { authorization: { secret: "pay-token", prefix: "Bearer " } },
        body: { bundle: { $from: "/entity_id" }, buyer: { $from: "/context/buyer" } },
      },
    },
  ],
};

const returnCase: JsonDefinition = {
  machine_id: "return_case",
  description: "The decision on one return, and how long it may take",
  regions: [
    {
      id: "case",
      states: ["opened", "settling", "returned", "kept"],
      initial_state: "opened",
      sub_machines: {
        settling: { machine_id: "settle", lifecycle: "managed", on_final: { settled: "returned" } },
      },
    },
    { id: "deadline", states: ["open", "closed"], initial_state: "open" },
  ],
  transitions: [
    { region: "case", from: "opened", to: "settling", on: "approve" },
    { region: "case", from: "opened", to: "kept", on: "refuse" },
    { region: "deadline", from: "open", to: "closed", on: "close" },
    {
      region: "deadline",
      from: "open",
      to: "closed",
      on: "$timeout",
      guard: { timeout_seconds: 1209600 },
      description: "Two weeks",
    },
  ],
};

const settle: JsonDefinition = {
  machine_id: "settle",
  description: "An approved return, until the parcel was seen",
  states: ["awaited", "arrived", "settled"],
  initial_state: "awaited",
  transitions: [
    { from: "awaited", to: "arrived", on: "parcel_arrived" },
    { from: "arrived", to: "settled", on: "inspected" },
  ],
};

const run7 = { machine_id: "bundle", entity_id: "run-7" };
const b1 = { region: "b1", state: "ret_b1" };
const b2 = { region: "b2", state: "ret_b2" };
const settling = { region: "case", state: "settling" };
const case1 = { machine_id: "return_case", entity_id: "run-7::sub::ret_b1" };
const case2 = { machine_id: "return_case", entity_id: "run-7::sub::ret_b2" };
const settle2 = { machine_id: "settle", entity_id: "run-7::sub::ret_b2::sub::settling" };

/** A bundle with returns, three machines deep. */
export const bundleExample: Example = {
  id: "bundle",
  name: "Bundle with returns, three deep",
  description:
    "Managed children in children. The first return is done, up to the root; one event more and the second completes three machines in one commit.",
  definitions: [bundle, returnCase, settle],
  subject: run7,
  scenario: {
    statewright: "scenario/1",
    start: START,
    machines: [bundle, returnCase, settle],
    steps: [
      created(run7, { buyer: "Ada" }, { state: { b1: "idle", b2: "idle", refund: "waiting" } }),
      sent(run7, "open_b1", {
        at: HOUR,
        expect: {
          outcome: "applied",
          body: { instances: [{ kind: "started", entity_id: case1.entity_id }] },
        },
      }),
      sent(run7, "open_b2", { at: 2 * HOUR, expect: { outcome: "applied" } }),
      sent(run7, "approve", {
        at: DAY,
        target: [b1],
        expect: { outcome: "applied", body: { instances: [{ kind: "started", depth: 2 }] } },
      }),
      sent(run7, "approve", { at: DAY + HOUR, target: [b2], expect: { outcome: "applied" } }),
      sent(run7, "parcel_arrived", { at: 4 * DAY, target: [b1, settling], expect: { outcome: "applied" } }),
      sent(run7, "inspected", {
        at: 4 * DAY + HOUR,
        target: [b1, settling],
        expect: { outcome: "applied", body: { instances: [{ kind: "completed", parent_to: "returned" }] } },
      }),
      found(case1, { case: "returned", deadline: "open" }),
      sent(run7, "close", {
        at: 5 * DAY,
        target: [b1],
        expect: {
          outcome: "applied",
          state: { b1: "returned", b2: "ret_b2", refund: "waiting" },
          body: { instances: [{ kind: "completed", entity_id: case1.entity_id, parent_to: "returned" }] },
        },
      }),
      sent(run7, "close", { at: 5 * DAY + HOUR, target: [b2], expect: { outcome: "applied" } }),
      sent(run7, "parcel_arrived", { at: 6 * DAY, target: [b2, settling], expect: { outcome: "applied" } }),
      found(case2, { case: "settling", deadline: "closed" }),
      found(settle2, "arrived"),
    ],
  },
};
