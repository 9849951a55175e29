// What callers give by mistake is refused in words: never taken for something else, and never a trap.

import assert from "node:assert/strict";
import { test } from "node:test";

import { type AnyMachine, defineMachine, simulate, StatewrightError } from "statewright";

const NOW = 1_700_000_000_000;

const order = defineMachine({
  machine_id: "order",
  states: ["placed", "paid"],
  initial_state: "placed",
  transitions: [{ from: "placed", to: "paid", on: "pay" }],
});
const placed = order.create("o-1", {}, { now: NOW });

/** The functions as a program without types calls them. */
interface Untyped {
  readonly [name: string]: (...args: readonly unknown[]) => unknown;
}
const machine = order as unknown as Untyped;
const define = defineMachine as (...args: readonly unknown[]) => AnyMachine;
const begin = simulate as unknown as (...args: readonly unknown[]) => Untyped & { free(): void };

/** The message with which a call is refused. */
function refusal(call: () => unknown, code = "BAD_REQUEST"): string {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof StatewrightError, String(error));
    assert.equal(error.code, code);
    return error.message;
  }
  return assert.fail("it is not refused");
}

test("a text that is none is refused by its name", () => {
  assert.equal(
    refusal(() => machine["create"]?.(5)),
    "id: it is 5; expected a text",
  );
  assert.equal(
    refusal(() => machine["create"]?.()),
    "id: it is missing; expected a text",
  );
  assert.equal(
    refusal(() => machine["instance"]?.(["a"])),
    "id: it is an array; expected a text",
  );
  assert.equal(
    refusal(() => machine["diagram"]?.(5)),
    "format: it is 5; expected a text",
  );
  assert.equal(
    refusal(() => begin([order], { tenant: 5 })),
    "tenant: it is 5; expected a text",
  );
  assert.equal(
    refusal(() => begin([order])["perform"]?.()),
    "op: it is missing; expected a text",
  );
  const instance = order.instance("o-1") as unknown as Untyped;
  assert.equal(
    refusal(() => instance["event"]?.({ length: 3 })),
    "type: it is an object; expected a text",
  );
  assert.equal(
    refusal(() => instance["send"]?.(["pay"])),
    "event: it is an array; expected a text",
  );
});

test("half of a surrogate pair is refused wherever it stands", () => {
  const half = "it has half of a surrogate pair; expected whole characters";
  assert.equal(
    refusal(() => order.create("\ud800")),
    `id: ${half}`,
  );
  assert.equal(
    refusal(() => order.instance("\ud801")),
    `id: ${half}`,
  );
  assert.equal(
    refusal(() => machine["send"]?.(placed, "\ud800")),
    `event: ${half}`,
  );
  assert.equal(
    refusal(() => machine["send"]?.(placed, { type: "pay", params: { a: ["\ud800"] } })),
    `event.params.a[0]: ${half}`,
  );
  assert.equal(
    refusal(() => order.create("o-1", { "\ud800": 1 })),
    `context: a member's name: ${half}`,
  );
});

test("a time that is none is refused wherever it is given", () => {
  const ways: readonly ((now: unknown) => unknown)[] = [
    (now) => machine["create"]?.("o-1", {}, { now }),
    (now) => machine["start"]?.("o-1", {}, { now }),
    (now) => machine["send"]?.(placed, "pay", { now }),
    (now) => machine["send"]?.(placed, "none", { now }),
    (now) => machine["why"]?.(placed, "pay", { now }),
    (now) => machine["events"]?.(placed, { now }),
    (now) => machine["advance"]?.(placed, now),
    (now) => machine["instance"]?.("o-1", { now }),
    (now) => machine["restore"]?.(placed, { now }),
    (now) => begin([order], { now }),
    (now) => {
      (order.instance("o-1") as { now: unknown }).now = now;
    },
  ];
  const times = [
    [Number.NaN, "NaN"],
    [1.5, "1.5"],
    [2 ** 60, String(2 ** 60)],
    ["x", "the text `x`"],
    [new Date(0), "a Date"],
  ] as const;
  for (const [time, told] of times) {
    const message = `now: it is ${told}; expected whole milliseconds since the epoch`;
    for (const way of ways)
      assert.equal(
        refusal(() => way(time)),
        message,
      );
  }
  assert.equal(
    refusal(() => machine["advance"]?.(placed)),
    "now: it is missing; expected whole milliseconds since the epoch",
  );
});

test("options that are none, or that nobody reads, are refused", () => {
  assert.equal(
    refusal(() => machine["send"]?.(placed, "pay", null)),
    "options: they are null; expected an object with `now`, `history`",
  );
  assert.equal(
    refusal(() => machine["send"]?.(placed, "pay", NOW)),
    `options: they are ${NOW}; expected an object with \`now\`, \`history\``,
  );
  assert.equal(
    refusal(() => machine["create"]?.("o-1", {}, { Now: 5 })),
    "options.Now: nothing reads it; expected one of `now`",
  );
  assert.equal(
    refusal(() => define(order.definition, null)),
    "options: they are null; expected an object with `machines`, `types`",
  );
  assert.equal(
    refusal(() => begin([order], { tennant: "t" })),
    "options.tennant: nothing reads it; expected one of `now`, `tenant`, `deliver`",
  );
  assert.equal(
    refusal(() => begin([order])["create"]?.("order", "o-1", {}, 5)),
    "options: they are 5; expected an object with `at`",
  );
});

test("what stands for machines is machines", () => {
  const expected = "expected an array of machines that `defineMachine` gave";
  assert.equal(
    refusal(() => begin(order)),
    `machines: it is a machine; ${expected}`,
  );
  assert.equal(
    refusal(() => begin()),
    `machines: it is missing; ${expected}`,
  );
  assert.equal(
    refusal(() => begin([order.definition])),
    `machines[0]: it is an object; ${expected}`,
  );
  assert.equal(
    refusal(() => define({ ...order.definition, machine_id: "other" }, { machines: [order.definition] })),
    `machines[0]: it is an object; ${expected}`,
  );
  assert.equal(
    refusal(() => define()),
    "definition: it is undefined; expected a JSON value",
  );
  assert.match(
    refusal(() => define(null, { machines: [order] })),
    /it is null/,
  );
});

test("a machine is what was defined, whatever becomes of the object that it was defined by", () => {
  const mine = { ...order.definition, transitions: [{ from: "placed", to: "paid", on: "pay" }] };
  const made = define(mine);
  (mine.transitions[0] as { on: string }).on = "other";
  assert.deepEqual(made.definition, order.definition);
  assert.throws(() => {
    (made.definition.transitions?.[0] as { on: string }).on = "other";
  }, TypeError);
  const other = define(mine);
  const message = "machines: `order` is defined in two ways; expected one definition of each machine";
  assert.equal(
    refusal(() => begin([order, other])),
    message,
  );
  assert.equal(
    refusal(() => define(order.definition, { machines: [other] })),
    message,
  );
  begin([order, made]).free();
});

test("an event says nothing that is not read", () => {
  const known = "expected one of `type`, `params`, `timestamp`, `expectedVersion`, `target`";
  for (const call of ["send", "why"]) {
    assert.equal(
      refusal(() => machine[call]?.(placed, { type: "pay", amount: 5 })),
      `event.amount: nothing reads it; ${known}`,
    );
    assert.equal(
      refusal(() => machine[call]?.(placed, { event_type: "pay" })),
      `event.event_type: nothing reads it; ${known}`,
    );
    assert.equal(
      refusal(() => machine[call]?.(placed, {})),
      "event.type: it is missing; expected a text",
    );
    assert.equal(
      refusal(() => machine[call]?.(placed, 5)),
      "event: it is 5; expected a type, or an object with `type`",
    );
  }
  // What was met before is looked at no less.
  assert.equal(order.send(placed, { type: "pay", params: {} }).outcome, "applied");
  assert.match(
    refusal(() => machine["send"]?.(placed, { type: "pay", params: {}, amount: 5 })),
    /^event\.amount/,
  );
  assert.match(
    refusal(() => machine["send"]?.(placed, { type: "pay", timestamp: "x" })),
    /^event\.timestamp: it is no timestamp/,
  );
  const instance = order.instance("o-1") as unknown as Untyped;
  const pay = instance["event"]?.("pay");
  assert.equal(
    refusal(() => instance["send"]?.(pay, { amount: 5 })),
    "params: they are an object; expected none: the event of a number has those it was given",
  );
});

test("what JSON does not say is refused with its place", () => {
  const sent = (params: object) => refusal(() => order.send(placed, { type: "pay", params }));
  const cycle: { deep: { again?: object } } = { deep: {} };
  cycle.deep.again = cycle;
  assert.equal(
    sent({ cycle }),
    "event.params.cycle.deep.again: it is within itself; expected plain data without a cycle",
  );
  let deep: object = {};
  for (let level = 0; level < 130; level += 1) deep = { deep };
  assert.equal(
    sent(deep),
    "event.params.deep.deep: it goes on below for more than 127 levels; expected at most 127 levels",
  );
  const plain = "expected plain data: text, a number or an object";
  assert.equal(sent({ at: new Date(0) }), `event.params.at: it is a Date; ${plain}`);
  assert.equal(
    sent({ odd: Object.create({ y: 1 }) as object }),
    `event.params.odd: it is an object with a prototype of its own; ${plain}`,
  );
  assert.equal(
    sent({ odd: { toJSON: () => 5 } }),
    `event.params.odd: it is an object with \`toJSON\`; ${plain}`,
  );
});

test("a snapshot says only what is read of it", () => {
  const entry = { ...placed.region_entries._, basis: "zz" };
  const odd = { ...placed, region_entries: { _: entry } } as typeof placed;
  assert.equal(
    refusal(() => order.send(odd, "pay")),
    'snapshot.region_entries["_"].basis: it is `zz`; expected `exact`',
  );
  const contrary = { ...placed, current_state: "paid" } as unknown as typeof placed;
  assert.match(
    refusal(() => order.send(contrary, "pay"), "CORRUPT_INSTANCE"),
    /^entity `o-1` of machine `order` cannot be read: /,
  );
});

test("what is freed says so, and may be freed again", () => {
  const simulation = begin([order]);
  simulation.free();
  simulation.free();
  assert.equal(
    refusal(() => simulation["entities"]?.(), "FREED"),
    "the simulation was freed",
  );
});

test("the machines of a simulation stay when all is undone", () => {
  const simulation = simulate([order]);
  assert.equal(simulation.steps().done, 0);
  simulation.create("order", "o-1");
  simulation.undo(0);
  assert.equal(simulation.entities().length, 0);
  simulation.create("order", "o-1");
  assert.equal(simulation.export().steps.length, 1);
  const other = simulate([]);
  other.import(simulation.export());
  assert.equal(other.steps().done, 1);
  other.undo(0);
  other.create("order" as never, "o-2");
  assert.equal(
    refusal(() => simulation.undo(-1)),
    "$.to: it is -1; expected a number of steps from 0 to 1",
  );
});
