// Machines as the package defines them: what is asked crosses to the core and back, and what is refused is thrown.

import assert from "node:assert/strict";
import { test } from "node:test";

import { defineMachine, type Snapshot, StatewrightError, validate } from "statewright";

const NOW = 1_700_000_000_000;
const HOUR = 3_600_000;

const order = defineMachine({
  machine_id: "order",
  states: ["placed", "paid", "void"],
  initial_state: "placed",
  transitions: [
    { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 1 } },
    { from: "placed", to: "void", on: "$timeout", guard: { timeout_seconds: 3600 } },
  ],
  actions: [{ on_enter: "paid", action: { type: "webhook", url: "https://shop.example/paid" } }],
});

const parcel = defineMachine({
  machine_id: "parcel",
  states: ["packing", "sent"],
  initial_state: "packing",
  transitions: [{ from: "packing", to: "sent", on: "send" }],
});
const shipment = defineMachine(
  {
    machine_id: "shipment",
    states: ["open", "done"],
    initial_state: "open",
    transitions: [],
    sub_machines: { open: { machine_id: "parcel", lifecycle: "managed", on_final: { sent: "done" } } },
  },
  { machines: [parcel] },
);

/** What a call throws. */
function refused(call: () => unknown): StatewrightError {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof StatewrightError);
    return error;
  }
  return assert.fail("it is not refused");
}

test("an entity is plain JSON, and what it is given stays as it is", () => {
  const placed = order.create("o-1", { customer: "c-1" }, { now: NOW });
  const kept = JSON.stringify(placed);
  const { outcome, snapshot, answer, commit, timeouts } = order.send(
    placed,
    { type: "pay", params: { amount: 5 }, timestamp: 7 },
    { now: NOW + 1 },
  );
  assert.equal(JSON.stringify(placed), kept);
  assert.equal(outcome, "applied");
  assert.equal(answer?.transition, "placed → paid");
  assert.deepEqual(timeouts, []);
  assert.deepEqual(snapshot.context, { customer: "c-1", amount: 5 });
  assert.equal(snapshot.state_version, 2);
  assert.equal(commit?.rows[0]?.identity_key, '["evt","pay",7]');
  assert.deepEqual(
    commit?.effects.map(({ kind, effect_id }) => [kind, effect_id]),
    [["webhook", "order/o-1@2.0"]],
  );
  const again = JSON.parse(JSON.stringify(snapshot)) as typeof snapshot;
  assert.deepEqual(structuredClone(again), again);
  assert.equal(order.send(again, "pay", { now: NOW + 2 }).outcome, "no_transition");
});

test("what was sent can be copied: all of it is its own", () => {
  const placed = order.create("o-1", {}, { now: NOW });
  const pay = { type: "pay", params: { amount: 5 } } as const;
  // Decided by the core, and remembered.
  for (const sent of [order.send(placed, pay, { now: NOW }), order.send(placed, pay, { now: NOW })]) {
    const names = ["outcome", "snapshot", "timeouts", "answer", "commit"];
    assert.deepEqual(Object.keys(sent), names);
    for (const copy of [structuredClone(sent), { ...sent }]) {
      assert.deepEqual(copy, JSON.parse(JSON.stringify(sent)));
      assert.equal(copy.commit?.effects.length, 1);
    }
    assert.equal(sent.commit, sent.commit);
  }
  const refused = order.send(placed, { ...pay, expectedVersion: 9 }, { now: NOW });
  assert.equal("error" in refused, true);
  assert.deepEqual([structuredClone(refused).answer, { ...refused }.commit], [null, null]);
});

test("a replay is found in the history that is given", () => {
  const pay = { type: "pay", params: { amount: 5 }, timestamp: 7 } as const;
  const first = order.send(order.create("o-1", {}, { now: NOW }), pay, { now: NOW });
  const history = first.commit?.rows ?? [];
  const replay = order.send(first.snapshot, pay, { now: NOW, history });
  assert.equal(replay.outcome, "duplicate");
  assert.equal(replay.commit, null);
  const other = { ...pay, params: { amount: 6 } };
  assert.equal(
    order.send(first.snapshot, other, { now: NOW, history }).error?.code,
    "EVENT_IDENTITY_CONFLICT",
  );
});

test("timers that are due fire before an event, and by advance", () => {
  const placed = order.create("o-1", {}, { now: NOW });
  assert.deepEqual(order.due(placed), {
    machine_id: "order",
    entity_id: "o-1",
    region: "_",
    state: "placed",
    at: NOW + HOUR,
  });
  const late = order.send(placed, { type: "pay", params: { amount: 5 } }, { now: NOW + HOUR });
  assert.equal(late.outcome, "no_transition");
  assert.equal(late.timeouts.length, 1);
  assert.equal(late.snapshot.current_state, "void");
  const { snapshot, timeouts, more } = order.advance(placed, NOW + 2 * HOUR);
  assert.equal(snapshot.current_state, "void");
  assert.equal(timeouts[0]?.rows[0]?.timestamp, NOW + HOUR, "the time at which it was due");
  assert.equal(more, false);
  assert.equal(order.due(snapshot), undefined);
});

test("what is refused is an outcome, with the error that a service answers", () => {
  const placed = order.create("o-1", {}, { now: NOW });
  const { outcome, error, snapshot, answer, commit } = order.send(
    placed,
    { type: "pay", params: { amount: 5 }, expectedVersion: 9 },
    { now: NOW },
  );
  assert.deepEqual([outcome, answer, commit], ["refused", null, null]);
  assert.deepEqual(snapshot, placed);
  assert.ok(error instanceof StatewrightError);
  assert.deepEqual(
    [error.code, error.status, error.retry, error.details],
    ["VERSION_CONFLICT", 409, false, { expected: 9, actual: 1 }],
  );
});

test("why not, and what can happen", () => {
  const placed = order.create("o-1", {}, { now: NOW });
  const why = order.why(placed, { type: "pay", params: { amount: 0 } }, { now: NOW });
  assert.equal(why.would, "no_transition");
  assert.deepEqual(why.candidates[0]?.clauses[0], {
    path: "guard",
    field: "amount",
    op: "gte",
    expected: 1,
    seen: 0,
    source: "param",
  });
  assert.deepEqual(
    order.events(placed, { now: NOW }).map(({ event_type, guarded }) => [event_type, guarded]),
    [["pay", true]],
  );
});

test("children live in their parent's snapshot", () => {
  const { snapshot, commit } = shipment.start("s-1", {}, { now: NOW });
  assert.deepEqual(
    commit.lives.map(({ kind, entity_id }) => [kind, entity_id]),
    [["started", "s-1::sub::open"]],
  );
  const sent = shipment.send(snapshot, { type: "send", target: [{ state: "open" }] }, { now: NOW });
  assert.equal(sent.snapshot.current_state, "done");
  assert.equal(sent.snapshot.children?.[0]?.instance?.status, "completed");
  assert.equal(sent.answer?.instances?.[0]?.parent_to, "done");
});

test("a snapshot that is none is refused with the place", () => {
  const placed = order.create("o-1", {}, { now: NOW });
  const broken = { ...placed, state_version: "1" } as unknown as Snapshot;
  const error = refused(() => order.send(broken as typeof placed, "pay"));
  assert.deepEqual([error.code, error.details.path], ["BAD_REQUEST", "snapshot.state_version"]);
  const contrary = { ...placed, current_state: "paid" } as const;
  assert.equal(refused(() => order.due(contrary)).code, "CORRUPT_INSTANCE");
});

test("a time that is none is refused by its name", () => {
  const placed = order.create("o-1", {}, { now: NOW });
  const calls = [
    () => order.create("o-1", {}, { now: Number.NaN }),
    () => order.send(placed, "pay", { now: 0.5 }),
    () => order.why(placed, "pay", { now: Number.POSITIVE_INFINITY }),
    () => order.events(placed, { now: 2 ** 60 }),
    () => order.advance(placed, Number.NaN),
    () => order.instance("o-1", { now: Number.NaN }),
    () => order.restore(placed, { now: Number.NaN }),
  ];
  for (const call of calls) assert.equal(refused(call).code, "BAD_REQUEST");
});

test("types of contexts and params are for TypeScript alone", () => {
  const counter = defineMachine(
    { machine_id: "counter", states: ["on"], initial_state: "on", transitions: [] },
    { types: {} as { context: { count: number } } },
  );
  assert.equal(counter.create("c-1", { count: 1 }, { now: NOW }).context.count, 1);
});

test("a definition with faults is refused with all of them, where they stand", () => {
  const definition = JSON.parse(
    '{"machine_id":"x","states":["a"],"initial_state":"b","transitions":[{"from":"a","to":"c","on":"e"}]}',
  ) as object;
  const error = refused(() => defineMachine(definition as never));
  assert.equal(error.code, "BAD_REQUEST");
  const faults = error.details.faults;
  assert.deepEqual(
    faults?.map(({ path }) => path),
    ["$.initial_state", "$.transitions[0].to"],
  );
  const { valid, faults: same } = validate(definition);
  assert.equal(valid, false);
  assert.deepEqual(same, faults);
});

test("what a definition says of its children is checked with them", () => {
  const definition = JSON.parse(
    `{"machine_id":"p","states":["a","b"],"initial_state":"a","transitions":[],
      "sub_machines":{"a":{"machine_id":"parcel","lifecycle":"managed","on_final":{"gone":"b"}}}}`,
  ) as object;
  assert.equal(validate(definition).valid, true);
  const error = refused(() => defineMachine(definition as never, { machines: [parcel] }));
  assert.equal(error.details.faults?.[0]?.path, "$.sub_machines.a.on_final.gone");
});

test("a definition that hardly means what it says is compiled, with a warning", () => {
  const { warnings } = defineMachine({
    machine_id: "w",
    states: ["a", "b", "c"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "go" }],
  });
  assert.deepEqual(
    warnings.map(({ kind, path }) => [kind, path]),
    [["unreachable_state", "$.states[2]"]],
  );
});

test("diagrams mark where an entity is", () => {
  const placed = order.create("o-1", {}, { now: NOW });
  assert.match(order.diagram("mermaid"), /^stateDiagram-v2/);
  assert.match(order.diagram("dot", placed), /^digraph/);
  assert.notEqual(order.diagram("dot", placed), order.diagram("dot"));
});

test("an instance in Wasm has the rules of the machine that it is of", () => {
  const instance = order.instance("o-1", { now: NOW });
  assert.equal(instance.send("pay", { amount: 0 }), false);
  assert.equal(instance.send("pay", { amount: 5 }), true);
  assert.equal(instance.state, "paid");
  const { outcome } = order.send(instance.snapshot(), "pay", { now: NOW });
  assert.equal(outcome, "no_transition");
  instance.free();
});
