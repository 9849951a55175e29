// An entity in Wasm goes where the core's snapshots go, by its own clock.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";
import { type AnyMachine, defineMachine, type JsonDefinition, StatewrightError } from "statewright";

import { type Core, core, settledHeap } from "./core.ts";
import { definitions, type Happening, histories, members } from "./random/definitions.ts";

const NOW = 1_700_000_000_000;

type Instance = ReturnType<AnyMachine["instance"]>;

/** The core's own snapshots, with a clock beside them. */
class Reference {
  readonly #machine: Core;
  snapshot: string;
  now = NOW;

  constructor(machine: Core, id: string, context: object) {
    this.#machine = machine;
    const { snapshot } = JSON.parse(machine.create(id, JSON.stringify(context), NOW)) as { snapshot: object };
    this.snapshot = JSON.stringify(snapshot);
  }

  advance(to: number): void {
    this.now = to;
    for (;;) {
      const { snapshot, more } = JSON.parse(this.#machine.advance(this.snapshot, to)) as {
        snapshot: object;
        more: boolean;
      };
      this.snapshot = JSON.stringify(snapshot);
      if (!more) return;
    }
  }

  /** Whether the event moved it, or the code of what refused it. */
  send(type: string, params: object | undefined): boolean | string {
    const event = JSON.stringify({ event_type: type, params });
    let told: { outcome: string; snapshot: object; error?: { code: string } };
    try {
      told = JSON.parse(this.#machine.send(this.snapshot, event, this.now)) as typeof told;
    } catch (thrown) {
      return (JSON.parse(String(thrown)) as { code: string }).code;
    }
    this.snapshot = JSON.stringify(told.snapshot);
    return told.error?.code ?? told.outcome === "applied";
  }
}

const codeOf = (call: () => boolean): boolean | string => {
  try {
    return call();
  } catch (error) {
    assert.ok(error instanceof StatewrightError);
    return error.code;
  }
};

interface Shown {
  readonly current_state: unknown;
  readonly state_version: number;
  readonly region_entries: Record<string, { readonly due_at?: number; readonly parked?: string }>;
}

function same(instance: Instance, reference: Reference): void {
  const shown = JSON.parse(reference.snapshot) as Shown;
  assert.deepEqual(instance.snapshot(), shown);
  assert.deepEqual(instance.state, shown.current_state);
  assert.equal(instance.version, shown.state_version);
  assert.equal(instance.now, reference.now);
}

function follows(definitions: readonly object[], context: object, history: readonly Happening[]): void {
  const [first, ...others] = definitions as [JsonDefinition, ...JsonDefinition[]];
  const machines = others.map((other) => defineMachine(other) as AnyMachine);
  const machine = defineMachine(first, { machines }) as AnyMachine;
  const wasm = core().WasmMachine.compile(JSON.stringify(definitions));
  let pairs = [context, {}].map((from, place) => ({
    instance: machine.instance(`e-${place}`, { context: from, now: NOW }),
    reference: new Reference(wasm, `e-${place}`, from),
  }));
  for (const [step, { event, wait }] of history.entries()) {
    const { type, params } = typeof event === "string" ? { type: event, params: undefined } : event;
    for (const { instance, reference } of pairs) {
      if (wait > 1 && step % 2 === 0) {
        reference.advance(reference.now + wait);
        instance.now += wait;
      }
      const sent = codeOf(() => {
        // By number, by type, and once.
        if (step % 3 === 0) return instance.send(instance.event(type, params));
        return params === undefined ? instance.send(type) : instance.send(type, params);
      });
      assert.equal(sent, reference.send(type, params));
      same(instance, reference);
    }
    if (step % 7 === 6) {
      pairs = pairs.map(({ instance, reference }) => {
        const snapshot = instance.snapshot();
        instance.free();
        return { instance: machine.restore(snapshot, { now: reference.now }), reference };
      });
    }
  }
  for (const { instance } of pairs) instance[Symbol.dispose]();
  wasm.free();
}

test("it goes where the core's snapshots go, of any definition and history", () => {
  fc.assert(
    fc.property(definitions, members, histories, (definition, context, history) => {
      follows([definition], context, history);
    }),
    { numRuns: 200 },
  );
});

const parent = {
  machine_id: "order",
  states: ["shopping", "paying", "sent", "void"],
  initial_state: "shopping",
  transitions: [
    { from: "shopping", to: "paying", on: "go" },
    { from: "paying", to: "void", on: "stop" },
    { from: "paying", to: "void", on: "$timeout", guard: { timeout_seconds: 2 } },
    { from: "void", to: "shopping", on: "tick" },
    { from: "sent", to: "shopping", on: "tick" },
  ],
  sub_machines: {
    paying: { machine_id: "payment", lifecycle: "managed", reentry: "fresh", on_final: { done: "sent" } },
  },
};
const child = {
  machine_id: "payment",
  states: ["asked", "done"],
  initial_state: "asked",
  transitions: [{ from: "asked", to: "done", on: "$timeout", guard: { timeout_seconds: 1 } }],
};

test("a machine with children goes the same way", () => {
  fc.assert(
    fc.property(members, histories, (context, history) => {
      follows([parent, child], context, history);
    }),
    { numRuns: 60 },
  );
  const machine = defineMachine(parent, { machines: [defineMachine(child) as AnyMachine] }) as AnyMachine;
  const order = machine.instance("o-1", { now: NOW });
  assert.equal(order.send("go"), true);
  assert.equal(order.due, NOW + 1000);
  assert.equal(order.snapshot().children?.length, 1);
  order.now = NOW + 1000;
  assert.equal(order.state, "sent");
  order[Symbol.dispose]();
});

const light = defineMachine({
  machine_id: "light",
  states: ["red", "green"],
  initial_state: "red",
  transitions: [
    { from: "red", to: "green", on: "$timeout", guard: { timeout_seconds: 30 } },
    { from: "green", to: "red", on: "$timeout", guard: { timeout_seconds: 60 } },
    { from: "red", to: "green", on: "press", guard: { field: "force", op: "gte", value: 3 } },
  ],
});

test("its clock moves when it is told to, and fires what is due, each when it was due", () => {
  const instance = light.instance("l", { now: NOW });
  assert.equal(instance.due, NOW + 30_000);
  instance.now = NOW + 29_999;
  assert.equal(instance.state, "red");
  instance.now = NOW + 30_000;
  assert.equal(instance.state, "green");
  instance.now = NOW + 24 * 3600 * 1000;
  assert.equal(instance.version, 1 + (24 * 3600 * 2) / 90);
  assert.equal(instance.state, "red");
  assert.throws(() => (instance.now = NOW), { code: "BAD_REQUEST" });
  assert.throws(() => (instance.now = Number.NaN), { code: "BAD_REQUEST" });
  assert.equal(instance.now, NOW + 24 * 3600 * 1000);
});

test("more timeouts than fire at once stand, and the same again goes on", () => {
  const instance = light.instance("l", { now: NOW });
  const year = 365 * 24 * 3600 * 1000;
  let calls = 1;
  for (; calls < 20; calls += 1) {
    try {
      instance.now = NOW + year;
      break;
    } catch (error) {
      assert.ok(error instanceof StatewrightError && error.code === "TIMEOUTS_PENDING" && error.retry);
    }
  }
  const rounds = Math.floor(year / 90_000);
  assert.equal(instance.version, 1 + 2 * rounds + (year % 90_000 >= 30_000 ? 1 : 0));
  assert.ok(calls > 1);
});

test("events have numbers, which are good for every instance of the machine", () => {
  const [first, second] = [light.instance("a", { now: NOW }), light.instance("b", { now: NOW })];
  const press = first.event("press", { force: 5 });
  assert.equal(second.event("press", { force: 5 }), press);
  assert.notEqual(first.event("press", { force: 4 }), press);
  assert.deepEqual([first.send(press), second.send(press), second.send(press)], [true, true, false]);
  assert.deepEqual(first.snapshot().context, { force: 5 });
  for (const wrong of [-1, 1.5, Number.NaN, 4_000_000_000, 2 ** 40]) {
    assert.throws(() => first.send(wrong), { code: "BAD_REQUEST" }, String(wrong));
  }
  assert.equal(second.send("elsewhere" as "press"), false);
  assert.throws(() => second.send("$timeout" as "press"), { code: "BAD_REQUEST" });
  assert.throws(() => first.event("press", { at: new Date(0) }), { code: "BAD_REQUEST" });
});

test("what is freed takes nothing more", () => {
  const instance = light.instance("l", { now: NOW });
  const press = instance.event("press", { force: 5 });
  instance.free();
  instance.free();
  for (const call of [
    () => instance.send(press),
    () => instance.send("press"),
    () => instance.state,
    () => instance.snapshot(),
  ]) {
    assert.throws(call, { name: "StatewrightError", code: "FREED", message: "the instance was freed" });
  }
});

test("memory stays bounded over 1,000,000 events with ever new params, and is freed", async () => {
  const run = (times: number, from: number) => {
    const instance = light.instance("l", { now: NOW });
    for (let turn = from; turn < from + times; turn += 1) instance.send("press", { force: turn });
    instance.free();
  };
  const alone = () => {
    for (let turn = 0; turn < 20_000; turn += 1) light.instance(`l-${turn}`, { now: NOW });
  };
  run(20_000, 0);
  alone();
  settledHeap();
  await new Promise((over) => setTimeout(over, 50));
  const [heap, wasm] = [settledHeap(), core().memory().byteLength];
  run(1_000_000, 20_000);
  for (let round = 0; round < 5; round += 1) {
    alone();
    // What was collected is freed by a task of its own.
    settledHeap();
    await new Promise((over) => setTimeout(over, 50));
  }
  const grown = settledHeap() - heap;
  assert.ok(grown < 2_000_000, `${grown} bytes of heap`);
  assert.ok(
    core().memory().byteLength - wasm <= 4 << 20,
    `${core().memory().byteLength - wasm} bytes of Wasm memory`,
  );
});
