// Forks of trees of every kind, against the real service: they stand as the service has them, and go on as it does.

import assert from "node:assert/strict";
import { test } from "node:test";

import { type AnyMachine, defineMachine, type JsonDefinition, simulate, type Simulation } from "statewright";
import { createClient } from "statewright/client";

import { forkOf } from "../../www/src/console/fork/forked.ts";
import { readLiveCopy } from "../../www/src/console/fork/live-copy.ts";
import { KEY, type Service, serve } from "../http/support.ts";
import { make, openBundle, order, park, send, stock } from "./console-entity-stock.ts";

const service: Service = await serve();
const client = createClient({ url: service.runtime.url, apiKey: KEY, tenant: "t1", retries: 0 });
await stock(service);

const form = {
  machine_id: "form",
  states: ["name", "address", "done"],
  initial_state: "name",
  transitions: [
    { from: "name", to: "address", on: "next" },
    { from: "address", to: "done", on: "next", guard: { field: "name", op: "contains", value: "A" } },
  ],
};

const application = {
  machine_id: "application",
  states: ["filling", "aside", "sent"],
  initial_state: "filling",
  transitions: [
    { from: "filling", to: "aside", on: "put_aside" },
    { from: "aside", to: "filling", on: "take_up" },
  ],
  sub_machines: {
    filling: { machine_id: "form", lifecycle: "managed", on_final: { done: "sent" }, reentry: "resume" },
  },
};

const steps = {
  machine_id: "steps",
  states: ["picking", "packing", "labelled"],
  initial_state: "picking",
  transitions: [
    { from: "picking", to: "packing", on: "picked" },
    { from: "packing", to: "labelled", on: "packed" },
  ],
};

const delivery = {
  machine_id: "delivery",
  states: ["ordered", "packing", "sent"],
  initial_state: "ordered",
  transitions: [{ from: "ordered", to: "packing", on: "start" }],
  sub_machines: { packing: { machine_id: "steps", on_final: { labelled: "sent" } } },
};

/** What differs of itself: numbers of rows, and of revisions, of which a simulation has one. */
function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, member: unknown) =>
      key === "row" || key === "revision" || key === "parent_row" ? 0 : member,
    ),
  );
}

/** A fork of an entity, in a simulation of its own. */
async function forked(machine: string, entity: string, personal = true) {
  const copy = await readLiveCopy(client, machine, entity, new AbortController().signal);
  const subject = { machine_id: machine, entity_id: entity };
  const { scenario, definitions } = forkOf(copy, { personal, now: Date.now(), subject });
  const machines: readonly AnyMachine[] = [];
  const session = simulate(machines);
  session.import(scenario);
  return { session, copy, definitions };
}

interface Event {
  readonly event_type: string;
  readonly timestamp: number;
  readonly params?: object;
  readonly target?: readonly { readonly region?: string; readonly state: string }[];
}

/** Sends an event to the service and to the fork; both must answer alike. */
async function sendBoth(session: Simulation, machine: string, entity: string, body: Event): Promise<void> {
  const served = await service.call("POST", `/api/machines/${machine}/entities/${entity}/transition`, {
    body,
  });
  const { status, body: answer } = session.perform("transition", {
    machine_id: machine,
    entity_id: entity,
    body,
  });
  assert.equal(status, served.status, served.text);
  assert.deepEqual(comparable(answer), comparable(served.body));
}

test("flat and parallel, live and ended, managed and legacy: a fork shows what the service shows", async () => {
  for (const machine of [form, application, steps, delivery]) await service.register(machine);
  await openBundle(service, "live");
  await openBundle(service, "done");
  const settled = [
    { region: "b1", state: "ret_b1" },
    { region: "case", state: "settling" },
  ];
  await send(service, "bundle", "done", { event_type: "return.buyer.observed", target: settled });
  await send(service, "bundle", "done", { event_type: "deadline.close", target: [settled[0]] });
  await openBundle(service, "cancelled");
  await send(service, "bundle", "cancelled", { event_type: "bundle.cancel_b1" });
  await make(service, "application", "woken");
  await send(service, "application", "woken", {
    event_type: "next",
    params: { name: "Ada" },
    target: [{ state: "filling" }],
  });
  for (const event_type of ["put_aside", "take_up", "put_aside"]) {
    await send(service, "application", "woken", { event_type });
  }
  await make(service, "delivery", "legacy");
  for (const event_type of ["start", "picked"]) await send(service, "delivery", "legacy", { event_type });
  await make(service, "order", "joined");
  await send(service, "order", "joined", { event_type: "pack", timestamp: 5 });
  await send(service, "order", "joined", { event_type: "pay", params: { amount: 12, country: "PT" } });
  await park(service, "parked");

  const all = [
    ["bundle", "live"],
    ["bundle", "done"],
    ["bundle", "cancelled"],
    ["application", "woken"],
    ["delivery", "legacy"],
    ["steps", "legacy::sub::packing"],
    ["order", "joined"],
    ["parking", "parked"],
  ] as const;
  for (const [machine, entity] of all) {
    const { session, copy } = await forked(machine, entity);
    const { tree } = copy;
    assert.deepEqual(comparable(session.tree(machine, entity)), comparable(tree), `${machine} ${entity}`);
  }
});

test("a fork goes on as the service does: events, completions, what wakes, what is forwarded, and replays", async () => {
  const bundle = await forked("bundle", "live");
  const target = [{ region: "b1", state: "ret_b1" }];
  const inner = [...target, { region: "case", state: "settling" }];
  await sendBoth(bundle.session, "bundle", "live", { event_type: "deadline.close", timestamp: 7, target });
  await sendBoth(bundle.session, "bundle", "live", {
    event_type: "return.buyer.observed",
    timestamp: 8,
    target: inner,
  });
  // It was sent before the fork was made: the fork knows it.
  await sendBoth(bundle.session, "bundle", "live", {
    event_type: "bundle.open",
    timestamp: 9000,
    params: { note: "from Charles Babbage" },
  });

  const woken = await forked("application", "woken");
  await sendBoth(woken.session, "application", "woken", { event_type: "take_up", timestamp: 7 });
  const filling = [{ state: "filling" }];
  await sendBoth(woken.session, "application", "woken", {
    event_type: "next",
    timestamp: 8,
    target: filling,
  });

  const legacy = await forked("delivery", "legacy");
  await sendBoth(legacy.session, "delivery", "legacy", { event_type: "packed", timestamp: 7 });
});

test("each entity runs by its revision, also where it stays on an old one", async () => {
  await make(service, "order", "pinned");
  const { regions, transitions, ...rest } = order;
  const next = { ...rest, label: "two", regions, transitions: transitions.filter(({ on }) => on !== "pack") };
  await service.expect(200, "PUT", "/api/machines/order?in_flight=pin", { body: next });
  await make(service, "order", "fresh");
  const machineOf = async (entity: string): Promise<JsonDefinition | undefined> =>
    (await forked("order", entity)).definitions.find(({ machine_id }) => machine_id === "order");
  assert.equal((await machineOf("pinned"))?.label, "Order");
  assert.equal((await machineOf("fresh"))?.label, "two");
  // What is read is a definition as it was written: nothing that the service adds.
  assert.deepEqual(Object.keys((await machineOf("fresh")) ?? {}).sort(), Object.keys(next).sort());
  const pinned = await forked("order", "pinned");
  await sendBoth(pinned.session, "order", "pinned", { event_type: "pack", timestamp: 7 });
  assert.doesNotThrow(() => defineMachine(pinned.definitions[0] as never));
});

test("masked, a fork decides as it would unmasked", async () => {
  await make(service, "application", "masked");
  const filling = [{ state: "filling" }];
  const params = { name: "Ada", street: "Rua do Ouro 7" };
  await send(service, "application", "masked", { event_type: "next", params, target: filling });
  const { session, copy } = await forked("application", "masked", false);
  const text = JSON.stringify([session.export(), session.tree("application", "masked")]);
  assert.ok(!text.includes("Rua do Ouro 7"));
  assert.ok(text.includes("Ada"));
  assert.equal(copy.tree.children?.[0]?.context["street"], "Rua do Ouro 7");
  const { status, body } = session.perform("transition", {
    machine_id: "application",
    entity_id: "masked",
    body: { event_type: "next", target: filling },
  });
  assert.equal(status, 200);
  assert.equal((body as { transition: string }).transition, "address → done");
});
