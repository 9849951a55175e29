// What the service of the tests of an entity's view knows: a bundle with a return in it, as docs/children.md has them, and orders.

import type { Service } from "../http/support.ts";

/** An order: parallel, with a join, a timeout and an action. */
export const order = {
  machine_id: "order",
  label: "Order",
  regions: [
    { id: "payment", states: ["open", "paid", "lapsed"], initial_state: "open" },
    { id: "goods", states: ["picking", "packed", "ready", "sent"], initial_state: "picking" },
  ],
  transitions: [
    {
      region: "payment",
      from: "open",
      to: "paid",
      on: "pay",
      guard: {
        all: [
          { field: "amount", op: "gte", value: 10 },
          { field: "country", op: "eq", value: "PT" },
        ],
      },
    },
    { region: "payment", from: "open", to: "lapsed", on: "$timeout", guard: { timeout_seconds: 86400 } },
    { region: "goods", from: "picking", to: "packed", on: "pack" },
    { region: "goods", from: "ready", to: "sent", on: "send" },
  ],
  joins: [{ when: { payment: "paid", goods: "packed" }, target_region: "goods", target_state: "ready" }],
  actions: [
    {
      on_enter: "paid",
      region: "payment",
      // The machine is not registered: the effect is tried, fails, and waits.
      action: {
        type: "transition",
        machine_id: "shipment",
        entity_id: "s-{/entity_id}",
        event_type: "order_paid",
      },
    },
  ],
} as const;

const settle = {
  machine_id: "settle",
  states: ["observing", "settled"],
  initial_state: "observing",
  transitions: [{ from: "observing", to: "settled", on: "return.buyer.observed" }],
};

const returnCase = {
  machine_id: "return_case",
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
    {
      region: "case",
      from: "opened",
      to: "settling",
      on: "decision.approve",
      guard: { field: "value", op: "lt", value: 1000 },
    },
    { region: "case", from: "opened", to: "kept", on: "decision.refuse" },
    { region: "deadline", from: "open", to: "closed", on: "deadline.close" },
    { region: "deadline", from: "open", to: "closed", on: "$timeout", guard: { timeout_seconds: 1209600 } },
  ],
};

const bundle = {
  machine_id: "bundle",
  regions: [
    {
      id: "b1",
      states: ["idle", "ret_b1", "returned", "kept", "cancelled"],
      initial_state: "idle",
      sub_machines: {
        ret_b1: {
          machine_id: "return_case",
          lifecycle: "managed",
          complete_when: [
            { when: { case: "returned", deadline: "closed" }, target: "returned" },
            { when: { case: "kept", deadline: "closed" }, target: "kept" },
          ],
        },
      },
    },
  ],
  transitions: [
    { region: "b1", from: "idle", to: "ret_b1", on: "bundle.open" },
    { region: "b1", from: "ret_b1", to: "cancelled", on: "bundle.cancel_b1" },
  ],
};

/** A machine whose timeout is parked: the machine of the child that it would start is not registered. */
const parking = {
  machine_id: "parking",
  states: ["waiting", "working"],
  initial_state: "waiting",
  transitions: [{ from: "waiting", to: "working", on: "$timeout", guard: { after_ms: 1 } }],
  sub_machines: { working: { machine_id: "nowhere", lifecycle: "managed", on_final: {} } },
};

/** Registers the machines. */
export async function stock(service: Service): Promise<void> {
  for (const definition of [order, settle, returnCase, bundle, parking]) await service.register(definition);
}

/** Makes an entity of a machine. */
export async function make(
  service: Service,
  machine: string,
  entity_id: string,
  context: object = {},
): Promise<void> {
  await service.expect(201, "POST", `/api/machines/${machine}/entities`, { body: { entity_id, context } });
}

/** Sends an event to an entity. */
export async function send(
  service: Service,
  machine: string,
  entity_id: string,
  body: object,
): Promise<void> {
  const path = `/api/machines/${machine}/entities/${encodeURIComponent(entity_id)}/transition`;
  await service.expect(200, "POST", path, { body });
}

/** Makes an entity whose timer is parked: an event finds it due, and its commit refused. */
export async function park(service: Service, entity_id: string): Promise<void> {
  await make(service, "parking", entity_id);
  await send(service, "parking", entity_id, { event_type: "look" });
}

/** Makes a bundle whose return is settling: three live levels, and a timer on the second. */
export async function openBundle(service: Service, entity_id: string): Promise<void> {
  const context = { buyer: "Ada Lovelace", address: { street: "Rua do Ouro 7" } };
  await make(service, "bundle", entity_id, context);
  const note = "from Charles Babbage";
  await send(service, "bundle", entity_id, { event_type: "bundle.open", timestamp: 9000, params: { note } });
  await send(service, "bundle", entity_id, {
    event_type: "decision.approve",
    timestamp: 9001,
    params: { value: 120, agent: "Grace Hopper" },
    target: [{ region: "b1", state: "ret_b1" }],
  });
}
