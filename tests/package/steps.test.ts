// `Machine.send` answers what the core answers, whatever it remembers, and remembers only so much.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";
import { type AnyMachine, defineMachine, type JsonDefinition, StatewrightError } from "statewright";

import { type Core, core, settledHeap } from "./core.ts";
import { definitions, type Happening, histories, members } from "./random/definitions.ts";

const NOW = 1_700_000_000_000;

/** What the core itself says, without any memory: an answer or an error, as JSON text. */
function asCore(machine: Core, snapshot: object, { event }: Happening, now: number): string {
  const given = typeof event === "string" ? { type: event } : event;
  const { type, params, timestamp, expectedVersion } = given as Record<string, unknown>;
  const text = JSON.stringify({ event_type: type, params, timestamp, expected_version: expectedVersion });
  try {
    return machine.send(JSON.stringify(snapshot), text, now);
  } catch (thrown) {
    assert.ok(typeof thrown === "string");
    return thrown;
  }
}

function asSent(machine: AnyMachine, snapshot: object, { event }: Happening, now: number) {
  try {
    const sent = machine.send(snapshot as never, event as never, { now });
    return { text: JSON.stringify(sent), snapshot: sent.snapshot };
  } catch (error) {
    assert.ok(error instanceof StatewrightError);
    const { code, message, retry, details } = error;
    return { text: JSON.stringify({ code, message, retry, ...details }), snapshot: undefined };
  }
}

/** The same but for the order of members. */
function sameText(ours: string, theirs: string): void {
  if (ours !== theirs) assert.deepEqual(JSON.parse(ours), JSON.parse(theirs));
}

function isPlain(value: unknown): void {
  assert.deepEqual(JSON.parse(JSON.stringify(value)), value);
  assert.deepEqual(structuredClone(value), value);
  const look = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return assert.ok(!Object.is(part, -0));
    const prototype: unknown = Object.getPrototypeOf(part);
    assert.ok(prototype === Object.prototype || prototype === Array.prototype);
    assert.deepEqual(Object.getOwnPropertySymbols(part), []);
    for (const member of Object.values(part)) look(member);
  };
  look(value);
}

function follows(definition: object, context: object, history: readonly Happening[]): void {
  const machine = defineMachine(definition as JsonDefinition) as AnyMachine;
  const reference = core().WasmMachine.compile(JSON.stringify([definition]));
  // Two entities, so that one goes where the other was.
  let entities = [context, {}].map((from, place): object =>
    machine.create(`e-${place}`, from as never, { now: NOW }),
  );
  let now = NOW;
  for (const [place, happening] of history.entries()) {
    now += happening.wait;
    entities = entities.map((entity, which) => {
      if (which === 1 && place % 3 === 2) return entity;
      const snapshot = happening.tamper(entity);
      const before = JSON.stringify(snapshot);
      const ours = asSent(machine, snapshot, happening, now);
      sameText(ours.text, asCore(reference, snapshot, happening, now));
      assert.equal(JSON.stringify(snapshot), before, "what was given is as it was");
      if (ours.snapshot === undefined) return entity;
      isPlain(ours.snapshot);
      return ours.snapshot;
    });
  }
  reference.free();
}

test("it answers what the core answers, of any definition, history and snapshot", () => {
  fc.assert(
    fc.property(definitions, members, histories, (definition, context, history) => {
      follows(definition, context, history);
    }),
    { numRuns: 400 },
  );
});

const door = (guard?: object): JsonDefinition => ({
  machine_id: "door",
  states: ["open", "shut"],
  initial_state: "shut",
  transitions: ["open", "shut"].map((from) => ({
    from,
    to: from === "open" ? "shut" : "open",
    on: "push",
    ...(guard === undefined ? {} : { guard }),
  })),
  actions: [
    {
      on_enter: "open",
      action: { type: "webhook", url: "https://hooks.example/x", body: { $from: "/context" } },
    },
  ],
});

test("what was met is not asked again: neither for the next state nor for the commit", () => {
  const order = defineMachine({
    machine_id: "order",
    states: ["placed", "paid"],
    initial_state: "placed",
    transitions: [
      { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 1 } },
      { from: "paid", to: "placed", on: "reopen" },
    ],
    actions: [{ on_enter: "paid", action: { type: "event", event_type: "order.paid" } }],
  }) as AnyMachine;
  const asked: string[] = [];
  const machine = core().WasmMachine.prototype;
  const { send } = machine;
  machine.send = function (this: Core, ...given: Parameters<Core["send"]>) {
    asked.push(given[1]);
    return send.apply(this, given);
  };
  try {
    for (let turn = 0; turn < 20; turn += 1) {
      // Other entities, amounts and times.
      let snapshot = order.create(`o-${turn}`, { note: { turn } } as never, { now: NOW + turn });
      const timestamp = NOW - turn;
      for (const event of [{ type: "pay", params: { amount: turn }, timestamp }, "reopen", "pay", "pay"]) {
        const sent = order.send(snapshot, event as never, { now: NOW + turn });
        assert.equal(sent.answer?.entity_id, `o-${turn}`);
        assert.equal(sent.commit === null, sent.outcome === "no_transition");
        snapshot = sent.snapshot;
      }
    }
  } finally {
    machine.send = send;
  }
  // Once for each of: `pay` that moves it, that does not where it is placed, where it is paid; and `reopen`, and that where placed.
  assert.equal(asked.length, 5, asked.join("\n"));
});

test("what is read later tells of the event as it was sent, whatever became of what it was sent with", () => {
  const machine = defineMachine(door()) as AnyMachine;
  const reference = core().WasmMachine.compile(JSON.stringify([door()]));
  const params = { list: [1, 2], by: "a" };
  const event = { type: "push", params };
  for (let round = 0; round < 4; round += 1) {
    params.list = [1, 2];
    const before = machine.create("d", { keys: { front: ["x"] } } as never, { now: NOW });
    const happening = { event, wait: 0, tamper: (snapshot: object) => snapshot };
    const told = asCore(reference, before, happening, NOW + round);
    const sent = machine.send(before, event as never, { now: NOW + round });
    // The caller goes on with all of it as if it were its own.
    params.list.push(3);
    const deep = (value: { readonly context: object }) =>
      value.context as { keys: { front: string[] }; list: number[] };
    deep(before).keys.front.push("y");
    const after = JSON.parse(JSON.stringify(sent.snapshot)) as unknown;
    deep(sent.snapshot).keys.front.push("z");
    deep(sent.snapshot).list.push(4);
    assert.deepEqual({ ...JSON.parse(JSON.stringify(sent)), snapshot: after }, JSON.parse(told));
    // What was told is no part of what is remembered either.
    (sent.answer as unknown as { actions_dispatched: unknown[] }).actions_dispatched.push("more");
    (sent.commit?.rows[0]?.actions_dispatched as unknown[]).push("more");
  }
});

test("a context that was changed by hand is taken as it is now", () => {
  const machine = defineMachine(door({ field: "force", op: "gte", value: 3 })) as AnyMachine;
  let snapshot = machine.create("d", { force: 5 } as never, { now: NOW });
  for (const force of [5, 1, 5, 2, 3, "4", "x"]) {
    (snapshot.context as { force: unknown }).force = force;
    const { outcome, snapshot: next } = machine.send(snapshot, "push", { now: NOW });
    assert.equal(outcome, Number(force) >= 3 ? "applied" : "no_transition", String(force));
    snapshot = next;
  }
});

test("what JSON cannot say is refused, with its place", () => {
  const machine = defineMachine(door()) as AnyMachine;
  const snapshot = machine.create("d", {}, { now: NOW });
  const loop: unknown[] = [];
  loop.push(loop);
  class Money {
    amount = 1;
  }
  const wrong: readonly [unknown, RegExp][] = [
    [new Date(0), /^event\.params\.x: it is a Date/],
    [new Map(), /a Map/],
    [new Money(), /a Money/],
    [{ toJSON: () => 1 }, /toJSON/],
    [10n, /bigint/],
    [Number.NaN, /NaN/],
    [[1, Infinity], /^event\.params\.x\[1\]: it is Infinity/],
    [[undefined], /undefined/],
    [() => 1, /function/],
    [Symbol("s"), /symbol/],
    [loop, /within itself/],
  ];
  for (let round = 0; round < 2; round += 1) {
    machine.send(snapshot, "push", { now: NOW });
    for (const [value, message] of wrong) {
      const event = { type: "push", params: { x: value } };
      assert.throws(
        () => machine.send(snapshot, event as never, { now: NOW }),
        (error) => {
          assert.ok(error instanceof StatewrightError && error.code === "BAD_REQUEST");
          return message.test(error.message);
        },
      );
    }
    assert.throws(() => machine.send(snapshot, "push", { now: 1.5 }), { code: "BAD_REQUEST" });
    assert.throws(() => machine.send({ ...snapshot, note: new Date(0) } as never, "push", { now: NOW }), {
      code: "BAD_REQUEST",
    });
  }
  const event = { type: "push", params: { x: undefined, y: 1 } };
  assert.deepEqual(machine.send(snapshot, event as never, { now: NOW }).snapshot.context, { y: 1 });
});

test("numbers beyond 2^53 are the numbers that JavaScript has", () => {
  const machine = defineMachine(door({ field: "n", op: "eq", value: 9007199254740992 })) as AnyMachine;
  const text = JSON.stringify(machine.create("d", {}, { now: NOW })).replace(
    '"context":{}',
    '"context":{"n":9007199254740993}',
  );
  for (let round = 0; round < 2; round += 1) {
    const sent = machine.send(JSON.parse(text) as never, "push", { now: NOW });
    assert.equal(sent.outcome, "applied");
    assert.deepEqual(sent.snapshot.context, { n: 9007199254740992 });
  }
});

test("`__proto__` is a name like any other", () => {
  const machine = defineMachine(door({ field: "__proto__", op: "eq", value: 1 })) as AnyMachine;
  const event = JSON.parse('{"type": "push", "params": {"__proto__": 1}}') as never;
  let snapshot = machine.create("d", {}, { now: NOW });
  assert.equal(machine.send(snapshot, "push", { now: NOW }).outcome, "no_transition");
  for (let round = 0; round < 3; round += 1) {
    const sent = machine.send(snapshot, event, { now: NOW });
    assert.equal(sent.outcome, "applied");
    assert.equal(JSON.stringify(sent.snapshot.context), '{"__proto__":1}');
    snapshot = sent.snapshot;
  }
});

test("memory stays bounded over 1,000,000 sends with ever new params and contexts", () => {
  const machines = [door(), door({ field: "n", op: "gte", value: 0 })].map(
    (each) => defineMachine(each) as AnyMachine,
  );
  const run = (times: number, from: number) => {
    for (const machine of machines) {
      let snapshot = machine.create("d", {}, { now: NOW });
      for (let turn = from; turn < from + times / 2; turn += 1) {
        const event = { type: "push", params: { n: turn, text: `turn ${turn}` } };
        snapshot = machine.send(snapshot, event as never, { now: NOW }).snapshot;
      }
      assert.equal(snapshot.state_version, 1 + times / 2);
    }
  };
  // Everything has grown as far as it does.
  run(100_000, 0);
  const [heap, wasm] = [settledHeap(), core().memory().byteLength];
  run(1_000_000, 100_000);
  const grown = settledHeap() - heap;
  assert.ok(grown < 2_000_000, `${grown} bytes of heap`);
  assert.equal(core().memory().byteLength - wasm, 0, "bytes of Wasm memory");
});
