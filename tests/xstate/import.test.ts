// What becomes of each part of an XState config, and what is listed.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";
import { and, assign, createMachine, not, or, stateIn } from "xstate";

import { StatewrightError } from "../../src/js/lib/errors.ts";
import { type Imported, type ImportOptions, importXState } from "../../src/js/lib/import-xstate.ts";

const listed = ({ notCarried }: Imported) => notCarried.map(({ path, what }) => `${path}: ${what}`);

/** Imports, and expects nothing to be listed. */
function carried(config: object, options: ImportOptions = {}): Imported {
  const imported = importXState({ id: "m", ...config }, options);
  assert.deepEqual(imported.notCarried, []);
  return imported;
}

const big = { field: "amount", op: "gt", value: 100 } as const;
const remember = { actions: { remember: "merge" } } as const;
const on = (target: string, more: object = {}) => ({ target, actions: "remember", ...more });

test("a flat machine: states, guards by name, delays, ends, descriptions", () => {
  const { definition, machines, context } = carried(
    {
      id: "order",
      version: "2.1",
      description: "An order",
      context: { amount: 0 },
      initial: "placed",
      states: {
        placed: {
          tags: ["open"],
          description: "waits for money",
          on: {
            pay: [on("review", { guard: "isBig", description: "look twice" }), on("paid")],
            cancel: on("#order.gone"),
          },
          after: { 1000: "gone", longer: { target: "gone", guard: "isBig" } },
        },
        review: { on: { approve: on("paid"), pay: {} } },
        paid: { type: "final" },
        gone: { type: "final" },
      },
    },
    { ...remember, guards: { isBig: big }, delays: { longer: 5000 } },
  );
  assert.deepEqual(definition, {
    machine_id: "order",
    label: "2.1",
    description: "An order",
    states: ["placed", "review", "paid", "gone"],
    initial_state: "placed",
    transitions: [
      { from: "placed", to: "review", on: "pay", guard: big, description: "look twice" },
      { from: "placed", to: "paid", on: "pay" },
      { from: "placed", to: "gone", on: "cancel" },
      { from: "placed", to: "gone", on: "$timeout", guard: { after_ms: 1000 } },
      { from: "placed", to: "gone", on: "$timeout", guard: { after_ms: 5000, ...big } },
      { from: "review", to: "paid", on: "approve" },
    ],
    meta: { xstate: { states: { placed: { description: "waits for money", tags: ["open"] } } } },
  });
  assert.deepEqual(machines, []);
  assert.deepEqual(context, { amount: 0 });
});

test("what the root takes, every state takes after its own, but not an end", () => {
  const { definition } = carried(
    {
      initial: "a",
      states: {
        a: { on: { go: on("b"), stop: on("b", { guard: "isBig" }) } },
        b: { on: { stop: undefined } },
        c: { type: "final" },
      },
      on: { stop: on(".c") },
    },
    { ...remember, guards: { isBig: big } },
  );
  assert.deepEqual(definition.transitions, [
    { from: "a", to: "b", on: "go" },
    { from: "a", to: "b", on: "stop", guard: big },
    { from: "a", to: "c", on: "stop" },
  ]);
});

test("regions take an event together; one that a region alone takes is no broadcast", () => {
  const { definition } = carried(
    {
      type: "parallel",
      states: {
        pump: {
          initial: "off",
          states: { off: { on: { start: on("on") } }, on: { on: { halt: on("off") } } },
        },
        valve: {
          initial: "shut",
          states: { shut: { on: { start: on("open") } }, open: {} },
          on: { reset: on(".shut") },
        },
        lamp: {},
      },
    },
    remember,
  );
  assert.deepEqual(definition.regions, [
    { id: "pump", states: ["off", "on"], initial_state: "off" },
    { id: "valve", states: ["shut", "open"], initial_state: "shut" },
    { id: "lamp", states: ["lamp"], initial_state: "lamp" },
  ]);
  assert.deepEqual(definition.broadcast, ["start"]);
  assert.deepEqual(definition.transitions, [
    { region: "pump", from: "off", to: "on", on: "start" },
    { region: "pump", from: "on", to: "off", on: "halt" },
    { region: "valve", from: "shut", to: "open", on: "start" },
    { region: "valve", from: "shut", to: "shut", on: "reset" },
    { region: "valve", from: "open", to: "shut", on: "reset" },
  ]);
});

test("nested states are a managed child; its ends, and what leads out of it, move the parent", () => {
  const imported = importXState(
    {
      id: "trip",
      initial: "booked",
      states: {
        booked: { on: { leave: on("away") } },
        away: {
          initial: "train",
          states: {
            train: { on: { arrive: on("city"), lost: on("#trip.home") } },
            city: { type: "final" },
          },
          on: { cancel: on("home") },
          onDone: "home",
          after: { 9000: "home" },
        },
        home: {},
      },
    },
    remember,
  );
  assert.deepEqual(listed(imported), ["$: events of nested states"]);
  assert.deepEqual(imported.definition.sub_machines, {
    away: {
      machine_id: "trip.away",
      lifecycle: "managed",
      on_final: { "#trip.home": "home", city: "home" },
      reentry: "fresh",
    },
  });
  assert.deepEqual(imported.machines, [
    {
      machine_id: "trip.away",
      states: ["train", "city", "#trip.home"],
      initial_state: "train",
      transitions: [
        { from: "train", to: "city", on: "arrive" },
        { from: "train", to: "#trip.home", on: "lost" },
      ],
    },
  ]);
});

test("a parallel child is done in each combination of its regions' ends", () => {
  const region = {
    initial: "a",
    states: { a: { on: { x: on("b"), y: on("c") } }, b: { type: "final" }, c: { type: "final" } },
  };
  const { definition } = importXState(
    {
      id: "m",
      initial: "s",
      states: { s: { type: "parallel", states: { p: region, q: region }, onDone: "t" }, t: {} },
    },
    remember,
  );
  const ends = ["b", "c"].flatMap((p) => ["b", "c"].map((q) => ({ when: { p, q }, target: "t" })));
  assert.deepEqual(definition.sub_machines?.["s"]?.complete_when, ends);
});

test("`always` is followed to where it comes to rest, by the guards on the way", () => {
  const { definition } = carried(
    {
      initial: "a",
      states: {
        a: { on: { go: on("gate") }, after: { 5: "way" } },
        gate: { always: [{ target: "b", guard: "isBig" }, { target: "way" }] },
        way: { always: "c" },
        b: {},
        c: { always: { target: "b", guard: "isBig" } },
      },
    },
    { ...remember, guards: { isBig: big } },
  );
  assert.deepEqual(definition.states, ["a", "b", "c"]);
  assert.deepEqual(definition.transitions, [
    { from: "a", to: "b", on: "go", guard: big },
    { from: "a", to: "b", on: "go", guard: big },
    { from: "a", to: "c", on: "go" },
    { from: "a", to: "b", on: "$timeout", guard: { after_ms: 5, ...big } },
    { from: "a", to: "c", on: "$timeout", guard: { after_ms: 5 } },
  ]);
});

test("XState's `and` and `or` of named guards are `all` and `any`; one may have params", () => {
  const atLeast = (params: unknown) =>
    ({ field: "amount", op: "gte", value: (params as { least: number }).least }) as const;
  const { definition } = carried(
    {
      initial: "a",
      states: {
        a: {
          on: {
            go: on("b", { guard: and(["isBig", or(["isBig", { type: "atLeast", params: { least: 3 } }])]) }),
          },
        },
        b: {},
      },
    },
    { ...remember, guards: { isBig: big, atLeast } },
  );
  assert.deepEqual(definition.transitions[0]?.guard, {
    all: [big, { any: [big, { field: "amount", op: "gte", value: 3 }] }],
  });
});

test("actions on entry become what the table says; what is not in it is listed", () => {
  const mail = { type: "event", event_type: "mail" } as const;
  const imported = importXState(
    {
      id: "m",
      initial: "a",
      states: {
        a: { on: { go: on("b") }, exit: "tidy" },
        b: {
          entry: ["mail", { type: "log", params: {} }, () => undefined],
          invoke: { src: "work", onDone: "a" },
        },
      },
    },
    { actions: { remember: "merge", mail } },
  );
  assert.deepEqual(imported.definition.actions, [{ on_enter: "b", action: mail }]);
  assert.deepEqual(listed(imported), [
    "$.states.a.exit: action `tidy` on exit",
    "$.states.b.invoke: actor `work` and its transitions",
    "$.states.b.entry: action `log` on entry",
    "$.states.b.entry: action a function on entry",
  ]);
});

test("an event that stays is dropped where it does nothing, and enters anew where that is the same", () => {
  const { definition } = carried(
    {
      initial: "a",
      states: {
        a: {
          on: { note: { actions: "remember" }, idle: {}, same: on("a"), again: on("a", { reenter: true }) },
        },
        b: {},
      },
    },
    remember,
  );
  assert.deepEqual(definition.transitions, [
    { from: "a", to: "a", on: "note" },
    { from: "a", to: "a", on: "same" },
    { from: "a", to: "a", on: "again" },
  ]);
});

/** A config, and what is listed of it. */
const NOT_CARRIED: Record<string, [config: object, ...listed: string[]]> = {
  "a guard that the table does not know": [
    { states: { a: { on: { e: on("b", { guard: "who" }) } }, b: {} } },
    "$.states.a.on.e: guard `who`",
  ],
  "a guard that is a function": [
    { states: { a: { on: { e: on("b", { guard: () => true }) } }, b: {} } },
    "$.states.a.on.e: guard a function (`guard`)",
  ],
  "a guard that is negated, or asks for a state": [
    {
      states: {
        a: { on: { e: on("b", { guard: not("isBig") }), f: on("b", { guard: stateIn("#m.b") }) } },
        b: {},
      },
    },
    "$.states.a.on.e: guard `not(…)`",
    "$.states.a.on.f: guard `stateIn(…)`",
  ],
  "wildcards, and XState's own events": [
    {
      states: {
        a: { on: { "*": on("b"), "x.*": on("b"), $y: on("b"), "xstate.done.actor.z": on("b") } },
        b: {},
      },
    },
    '$.states.a.on["*"]: event `*`',
    '$.states.a.on["x.*"]: event `x.*`',
    '$.states.a.on["$y"]: event `$y`',
    '$.states.a.on["xstate.done.actor.z"]: event `xstate.done.actor.z`',
  ],
  "history states": [
    {
      states: {
        a: { on: { e: on("b.h") } },
        b: { initial: "c", states: { c: {}, h: { type: "history" } } },
      },
    },
    "$.states.a.on.e: transition to `b.h`",
    "$.states.b.states.h: history state",
    "$: events of nested states",
  ],
  "a target within another state": [
    { states: { a: { on: { e: on("b.d") } }, b: { initial: "c", states: { c: {}, d: {} } } } },
    "$.states.a.on.e: transition to `b.d`",
    "$: events of nested states",
  ],
  "a target that is none, and several": [
    { states: { a: { on: { e: on("nowhere"), f: { target: ["a", "b"], actions: "remember" } } }, b: {} } },
    "$.states.a.on.e: transition to `nowhere`",
    "$.states.a.on.f: transition to `a`, `b`",
  ],
  "delays that are none": [
    { states: { a: { after: { soon: "b", 0: "b", 1.5: "b" } }, b: {} } },
    '$.states.a.after["0"]: delay `0`',
    "$.states.a.after.soon: delay `soon`",
    '$.states.a.after["1.5"]: delay `1.5`',
  ],
  "what stays beside timers": [
    { states: { a: { on: { e: { actions: "remember" } }, after: { 5: "b" } }, b: {} } },
    "$.states.a.on.e: `e` without leaving the state",
  ],
  "what the root has and only states can": [
    { states: { a: {} }, entry: "x", after: { 5: ".a" }, invoke: { src: "y" }, output: {} },
    "$.after: `after` of the machine as a whole",
    "$.entry: `entry` of the machine as a whole",
    "$.output: `output` of the machine as a whole",
    "$.invoke: actor `y` and its transitions",
  ],
  "what leaves a region": [
    {
      type: "parallel",
      states: {
        r: {
          initial: "a",
          states: { a: { on: { e: on("#m.s.c") } }, b: {} },
          on: { f: on(".a", { reenter: true }) },
        },
        s: { initial: "c", states: { c: {} } },
      },
      on: { g: on(".r.b") },
    },
    "$.states.r.states.a.on.e: transition to `#m.s.c`",
    "$.states.r.on.f: transition to `.a`",
    "$.on.g: transition to `.r.b`",
  ],
  "`always` that depends on what others do": [
    {
      type: "parallel",
      states: {
        r: { initial: "a", states: { a: { always: { target: "b", guard: "isBig" } }, b: {} } },
        s: {},
      },
    },
    "$.states.r.states.a.always: `always` with a guard",
  ],
  "`always` with a guard at the start, and one that goes round": [
    {
      states: {
        a: { always: { target: "b", guard: "isBig" }, on: { e: on("c") } },
        b: {},
        c: { always: "d" },
        d: { always: "c" },
      },
    },
    "$.states.d.always: `always`",
    "$.states.a.always: `always` with a guard, at the start",
  ],
  "the end of a child that depends on a guard": [
    {
      states: {
        a: {
          initial: "b",
          states: { b: { on: { e: on("c") } }, c: { type: "final", output: 1 } },
          onDone: { target: "d", guard: "isBig" },
        },
        d: {},
      },
    },
    "$.states.a.onDone: `onDone` with a guard",
    "$.states.a.states.c.output: `output`",
    "$: events of nested states",
  ],
  "events that change nothing of the context": [
    { states: { a: { on: { e: "b" } }, b: {} } },
    "$.context: events that do not change the context",
  ],
  "an action of a transition": [
    { states: { a: { on: { e: { target: "b", actions: ["remember", "mail", assign({ n: 1 })] } } }, b: {} } },
    "$.states.a.on.e: action `mail`",
    "$.states.a.on.e: action a function (`xstate.assign`)",
  ],
  "a context that is code": [{ context: () => ({ n: 1 }), states: { a: {} } }, "$.context: `context`"],
  "keys that are not known": [
    { states: { a: { on: { e: on("b", { cond: "isBig" }) }, onEntry: "x" }, b: {} }, strict: true },
    "$.strict: `strict`",
    "$.states.a.onEntry: `onEntry`",
    "$.states.a.on.e.cond: `cond`",
  ],
  "what is no transition": [
    { states: { a: { on: { e: 5, f: { target: { to: "b" } }, g: [null, "b"] }, after: 5 }, b: { on: [] } } },
    "$.context: events that do not change the context",
    "$.states.a.after: `5`",
    "$.states.a.on.e: `5`",
    '$.states.a.on.f: transition to `{"to":"b"}`',
    "$.states.a.on.g[0]: `null`",
    "$.states.b.on: `[]`",
  ],
  "names that are too long": [
    { states: { a: { on: { ["e".repeat(129)]: on("b") } }, b: {}, ["c".repeat(129)]: {} } },
    `$.states.a.on.${"e".repeat(129)}: event \`${"e".repeat(129)}\``,
    `$.states.${"c".repeat(129)}: the name \`${"c".repeat(129)}\``,
  ],
};

for (const [name, [config, ...expected]] of Object.entries(NOT_CARRIED)) {
  test(`lists ${name}`, () => {
    const whole = { id: "m", ...("type" in config ? {} : { initial: "a" }), ...config };
    const imported = importXState(whole, { ...remember, guards: { isBig: big } });
    assert.deepEqual(listed(imported).sort(), [...expected].sort());
    for (const { why } of imported.notCarried) assert.ok(why.length > 10, why);
  });
}

test("takes what `createMachine` made, with its delays", () => {
  const machine = createMachine(
    { id: "m", initial: "a", states: { a: { after: { soon: "b" } }, b: {} } },
    { delays: { soon: 70 } },
  );
  const { definition } = importXState(machine);
  assert.deepEqual(definition.transitions, [{ from: "a", to: "b", on: "$timeout", guard: { after_ms: 70 } }]);
});

test("names the machine and its children by the id that is given", () => {
  const config = { initial: "a", states: { a: { initial: "b", states: { b: {} } } } };
  const { definition, machines } = importXState(config, { machineId: "shop" });
  assert.deepEqual(
    [definition, ...machines].map(({ machine_id }) => machine_id),
    ["shop", "shop.a"],
  );
});

test("leaves a transition out whose condition XState v5 does not know", () => {
  const states = {
    a: { on: { e: [on("b", { cond: "isBig" }), on("b", { in: "#m.b" }), on("c")] } },
    b: {},
    c: {},
  };
  const { definition } = importXState({ id: "m", initial: "a", states }, remember);
  assert.deepEqual(definition.transitions, [{ from: "a", to: "c", on: "e" }]);
});

test("refuses options that are wrong", () => {
  const config = { initial: "a", states: { a: { on: { e: { target: "a", guard: "g" } } } } };
  const looped: Record<string, unknown> = {};
  looped["all"] = [looped];
  const wrong: [options: unknown, said: RegExp][] = [
    [null, /^options: it is `null`; expected an object$/],
    [{ guard: {} }, /^options: it is `guard`; expected `machineId`, `guards`, `actions`, `delays`$/],
    [{ machineId: 5 }, /^machineId: it is `5`/],
    [{ guards: [] }, /^guards: it is `\[\]`/],
    [{ guards: { g: "x" } }, /^guards\.g: it is `x`; expected a comparison/],
    [{ guards: { g: { field: "a", op: "eq" } } }, /^guards\.g: /],
    [{ guards: { g: { all: [5] } } }, /^guards\.g: /],
    [{ guards: { g: looped } }, /^guards\.g: it is an object/],
    [{ guards: { g: () => true } }, /^guards\.g: it is `true`/],
    [{ actions: { a: "merged" } }, /^actions\.a: it is `merged`; expected "merge"/],
  ];
  for (const [options, said] of wrong) {
    assert.throws(
      () => importXState(config, options as ImportOptions),
      (error) =>
        error instanceof StatewrightError && error.code === "BAD_REQUEST" && said.test(error.message),
      String(said),
    );
  }
});

test("lists a `meta` that holds itself", () => {
  const meta: Record<string, unknown> = {};
  meta["self"] = meta;
  const imported = importXState({ initial: "a", meta, states: { a: { meta: { when: () => 5 } } } });
  assert.deepEqual(listed(imported), ["$.meta: `meta`", "$.states.a.meta: `meta`"]);
});

test("takes any JSON, or says that it is no machine", () => {
  const name = fc.constantFrom("a", "b", "#m.a", ".a", "a.b", "", "r");
  const transition = fc.oneof(
    name,
    fc.record({
      target: fc.oneof(name, fc.array(name), fc.jsonValue()),
      guard: fc.oneof(name, fc.jsonValue()),
    }),
    fc.jsonValue(),
  );
  const { state } = fc.letrec<{ state: object }>((tie) => ({
    state: fc.record(
      {
        type: fc.constantFrom("parallel", "final", "history", "odd", 5),
        initial: fc.oneof(name, fc.jsonValue()),
        states: fc.oneof(
          { depthSize: "small" },
          fc.dictionary(name, tie("state"), { maxKeys: 3 }),
          fc.jsonValue(),
        ),
        on: fc.oneof(fc.dictionary(name, transition, { maxKeys: 3 }), fc.jsonValue()),
        after: fc.oneof(fc.dictionary(fc.constantFrom("5", "-1", "x"), transition), fc.jsonValue()),
        always: fc.oneof(transition, fc.array(transition, { maxLength: 3 })),
        onDone: transition,
        entry: fc.jsonValue(),
        invoke: fc.jsonValue(),
        id: fc.oneof(name, fc.jsonValue()),
        meta: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  }));
  fc.assert(
    fc.property(state, (config) => {
      try {
        const { definition } = importXState(config, { guards: { a: big } });
        assert.equal(typeof definition.machine_id, "string");
      } catch (error) {
        assert.ok(error instanceof StatewrightError, String((error as Error).stack));
      }
    }),
    { seed: 5, numRuns: 2000 },
  );
});

test("does not go on for ever", () => {
  const looped: Record<string, unknown> = { initial: "a" };
  looped["states"] = { a: looped };
  assert.throws(() => importXState(looped), /more than 64 levels deep/);
  const gates = Object.fromEntries(
    Array.from({ length: 24 }, (_, index) => [
      `s${index}`,
      { always: [{ target: `s${index + 1}`, guard: "isBig" }, `s${index + 2}`] },
    ]),
  );
  const states = { a: { on: { go: "s0" } }, ...gates, s24: {}, s25: {} };
  const imported = importXState({ id: "m", initial: "a", states }, { guards: { isBig: big } });
  assert.ok(listed(imported).some((line) => /always\[\d\]: `always`$/.test(line)));
});

test("refuses what is no machine", () => {
  for (const value of [undefined, 5, [], {}, { states: 1 }, { config: {} }]) {
    assert.throws(
      () => importXState(value),
      (error) => error instanceof StatewrightError && error.code === "BAD_REQUEST",
    );
  }
});
