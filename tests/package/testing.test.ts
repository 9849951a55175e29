// statewright/testing: ways that are found are shortest, lead where they say, and leave out only what cannot be reached;
// what is reported as missed was missed; generated sequences reach deep states and shrink to what matters.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import fc from "fast-check";
import {
  type AnyMachine,
  defineMachine,
  type JsonDefinition,
  type Scenario,
  simulate,
  StatewrightError,
} from "statewright";
import {
  arbitraryEvents,
  asScenario,
  coverage,
  paths,
  play,
  scenario,
  ScenarioFailure,
  type Step,
} from "statewright/testing";

import { ROOT } from "../../scripts/paths.ts";
import { blocks } from "../docs/markdown.ts";

const order = defineMachine({
  machine_id: "order",
  states: ["placed", "review", "paid", "void"],
  initial_state: "placed",
  transitions: [
    { from: "placed", to: "review", on: "pay", guard: { field: "amount", op: "gt", value: 100 } },
    { from: "placed", to: "paid", on: "pay" },
    { from: "review", to: "paid", on: "approve" },
    { from: "placed", to: "void", on: "$timeout", guard: { timeout_seconds: 60 } },
  ],
});

const fulfilment = defineMachine({
  machine_id: "fulfilment",
  regions: [
    { id: "payment", states: ["pending", "captured", "refunded"], initial_state: "pending" },
    { id: "goods", states: ["picking", "packed", "sent", "back"], initial_state: "picking" },
  ],
  transitions: [
    { region: "payment", from: "pending", to: "captured", on: "pay" },
    { region: "goods", from: "picking", to: "packed", on: "pack" },
    { region: "goods", from: "sent", to: "back", on: "return" },
  ],
  joins: [
    { when: { payment: "captured", goods: "packed" }, target_region: "goods", target_state: "sent" },
    { when: { goods: "back" }, target_region: "payment", target_state: "refunded" },
  ],
});

const labels = (items: Iterable<{ readonly label: string }>) => [...items].map(({ label }) => label);

/** What the steps of a path visit, as coverage sees it. */
const visited = (machine: AnyMachine, path: { steps: readonly Step[]; context: object }) =>
  [...play(machine, path.steps, { context: path.context })].flatMap(({ commits }) => commits);

/** A machine with one guarded transition on `go`. */
function guarded(guard: unknown): AnyMachine {
  const definition: JsonDefinition = {
    machine_id: "guarded",
    states: ["off", "on"],
    initial_state: "off",
    transitions: [{ from: "off", to: "on", on: "go", guard }],
  };
  return defineMachine(definition);
}

test("paths are the shortest to each thing, and none is on the way to another", () => {
  const found = paths(order);
  assert.deepEqual(
    [...found].map(({ title, covers }) => [title, labels(covers)]),
    [
      ["pay", ["state placed", "state paid", "transition 1: placed → paid on pay"]],
      ["wait 60000 ms", ["state void", "timeout 3: placed → void"]],
      [
        'pay {"amount":101}, approve',
        ["state review", "transition 0: placed → review on pay", "transition 2: review → paid on approve"],
      ],
    ],
  );
  assert.deepEqual(found.missed, []);
});

test("joins are reached by what makes them true", () => {
  const found = paths(fulfilment);
  assert.deepEqual(found.missed, []);
  const titles = [...found].map(({ title }) => title);
  assert.equal(titles.length, 2);
  assert.ok(titles.includes("pay, pack, return") || titles.includes("pack, pay, return"), titles.join(" | "));
});

const PASSING: readonly (readonly [string, object])[] = [
  ["eq of a text", { field: "f", op: "eq", value: "x" }],
  ["eq of null", { field: "f", op: "eq", value: null }],
  ["eq of a list", { field: "f", op: "eq", value: [1, { a: 2 }] }],
  ["eq of false", { field: "f", op: "eq", value: false }],
  ["neq", { field: "f", op: "neq", value: "x" }],
  ["ne of a number", { field: "f", op: "ne", value: 5 }],
  ["neq of a boolean", { field: "f", op: "neq", value: true }],
  ["gt", { field: "f", op: "gt", value: 5 }],
  ["gte", { field: "f", op: "gte", value: 5 }],
  ["lt", { field: "f", op: "lt", value: -5.5 }],
  ["lte of a numeric text", { field: "f", op: "lte", value: "7" }],
  ["contains", { field: "f", op: "contains", value: "@" }],
  [
    "a range",
    {
      all: [
        { field: "f", op: "gte", value: 5 },
        { field: "f", op: "lt", value: 6 },
      ],
    },
  ],
  [
    "a range without whole numbers",
    {
      all: [
        { field: "f", op: "gt", value: 5 },
        { field: "f", op: "lt", value: 6 },
      ],
    },
  ],
  [
    "a single number",
    {
      all: [
        { field: "f", op: "gte", value: 5 },
        { field: "f", op: "lte", value: 5 },
      ],
    },
  ],
  [
    "a range with a hole",
    {
      all: [
        { field: "f", op: "gt", value: 5 },
        { field: "f", op: "neq", value: 6 },
      ],
    },
  ],
  [
    "two parts of a text",
    {
      all: [
        { field: "f", op: "contains", value: "a" },
        { field: "f", op: "contains", value: "b" },
      ],
    },
  ],
  [
    "not two texts",
    {
      all: [
        { field: "f", op: "neq", value: "a" },
        { field: "f", op: "neq", value: "b" },
      ],
    },
  ],
  ["many fields", { all: "abcdefgh".split("").map((field) => ({ field, op: "eq", value: field })) }],
  ["one of many", { any: "abcdefgh".split("").map((field) => ({ field, op: "eq", value: field })) }],
  [
    "deep",
    {
      all: [
        {
          any: [
            {
              all: [
                { field: "a", op: "eq", value: 1 },
                { field: "b", op: "gt", value: 2 },
              ],
            },
          ],
        },
        {
          any: [
            { field: "c", op: "eq", value: "x" },
            { field: "d", op: "eq", value: "y" },
          ],
        },
      ],
    },
  ],
  ["all of nothing", { all: [] }],
];

for (const [name, guard] of PASSING) {
  test(`params are found that pass: ${name}`, () => {
    assert.deepEqual(labels(paths(guarded(guard)).missed), []);
  });
}

test("what no params pass is missed, and said", () => {
  const never = {
    all: [
      { field: "f", op: "gt", value: 5 },
      { field: "f", op: "lt", value: 5 },
    ],
  };
  for (const guard of [{ any: [] }, never]) {
    assert.deepEqual(labels(paths(guarded(guard)).missed), ["state on", "transition 0: off → on on go"]);
  }
});

test("a later transition is reached by failing the guards before it", () => {
  const machine = defineMachine({
    machine_id: "m",
    states: ["a", "b", "c", "d"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "b", on: "go", guard: { field: "n", op: "lt", value: 10 } },
      { from: "a", to: "c", on: "go", guard: { field: "n", op: "lt", value: 20 } },
      { from: "a", to: "d", on: "go", guard: { field: "n", op: "gte", value: 20 } },
    ],
  });
  assert.deepEqual(paths(machine).missed, []);
});

test("the conditions of timeouts are met by the context", () => {
  const machine = defineMachine({
    machine_id: "m",
    states: ["open", "reminded", "escalated"],
    initial_state: "open",
    transitions: [
      {
        from: "open",
        to: "escalated",
        on: "$timeout",
        guard: { timeout_seconds: 60, field: "priority", op: "eq", value: "high" },
      },
      { from: "open", to: "reminded", on: "$timeout", guard: { timeout_seconds: 3600 } },
    ],
  });
  const found = paths(machine);
  assert.deepEqual(found.missed, []);
  assert.deepEqual(
    [...found].map(({ title, context }) => [title, context]),
    [
      ["wait 3600000 ms", {}],
      ["wait 60000 ms", { priority: "high" }],
    ],
  );
  const alone = paths(machine, { contexts: [{ priority: "low" }] });
  assert.deepEqual(labels(alone.missed), ["state escalated", "timeout 0: open → escalated"]);
});

test("a context set by an event before is enough for a timeout", () => {
  const machine = defineMachine({
    machine_id: "m",
    states: ["a", "b", "c"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "b", on: "go", guard: { field: "fast", op: "eq", value: true } },
      { from: "b", to: "c", on: "$timeout", guard: { after_ms: 5, field: "fast", op: "eq", value: true } },
    ],
  });
  assert.deepEqual(
    [...paths(machine, { contexts: [{}] })].map(({ title }) => title),
    ['go {"fast":true}, wait 5 ms'],
  );
});

const permit = defineMachine({
  machine_id: "permit",
  states: ["asked", "granted", "denied"],
  initial_state: "asked",
  transitions: [
    { from: "asked", to: "granted", on: "grant", guard: { field: "by", op: "eq", value: "city" } },
    { from: "asked", to: "denied", on: "deny" },
  ],
});

/** A machine with a child, managed or legacy. */
function project(how: { readonly lifecycle?: "managed" }): AnyMachine {
  const ends = { granted: "permitted", denied: "dropped" };
  const definition: JsonDefinition = {
    machine_id: "project",
    states: ["none", "asking", "permitted", "dropped"],
    initial_state: "none",
    transitions: [{ from: "none", to: "asking", on: "ask" }],
    sub_machines: { asking: { machine_id: "permit", ...how, on_final: ends } },
  };
  return defineMachine(definition, { machines: [permit] });
}

test("managed children are sent what their guards ask for", () => {
  const found = paths(project({ lifecycle: "managed" }));
  assert.deepEqual(found.missed, []);
  assert.deepEqual(
    [...found].map(({ title }) => title),
    ['ask, asking/grant {"by":"city"}', "ask, asking/deny"],
  );
});

test("legacy children get their events from their parent", () => {
  const found = paths(project({}));
  assert.deepEqual(found.missed, []);
  assert.deepEqual(
    [...found].map(({ title }) => title),
    ['ask, grant {"by":"city"}', "ask, deny"],
  );
});

test("a search has a bound, and what was not reached within it is missed", () => {
  const states = Array.from({ length: 50 }, (_, index) => `s${index}`);
  const machine = defineMachine({
    machine_id: "line",
    states,
    initial_state: "s0",
    transitions: states.slice(1).map((to, index) => ({ from: `s${index}`, to, on: "go" })),
  });
  assert.deepEqual(paths(machine).missed, []);
  assert.ok(paths(machine, { limit: 10 }).missed.length >= 70);
});

test("machines with far more situations than are looked at have ways to all of them, also to what needs many regions", () => {
  const regions = ["a", "b", "c", "d", "e", "f", "g"];
  const states = ["s0", "s1", "s2", "s3", "s4"];
  const chain = regions.flatMap((region) =>
    states.slice(1).map((to, index) => ({ region, from: `s${index}`, to, on: `${region}${index}` })),
  );
  // Each takes an event that another region takes before it, unless that one has moved on.
  const blocked = regions.slice(1).map((region) => ({ region, from: "s3", to: "s0", on: "a0" }));
  const definition: JsonDefinition = {
    machine_id: "wide",
    regions: regions.map((id) => ({
      id,
      states: id === "g" ? [...states, "end"] : states,
      initial_state: "s0",
    })),
    transitions: [...chain, ...blocked],
    joins: [{ when: { a: "s4", c: "s4", e: "s2" }, target_region: "g", target_state: "end" }],
  };
  const found = paths(defineMachine(definition));
  assert.deepEqual(labels(found.missed), []);
  const join = [...found].find(({ covers }) => covers.some(({ kind }) => kind === "join"));
  assert.equal(join?.steps.length, 4 + 4 + 2);
});

test("every definition of docs/definitions.md has ways to all that it says, and they lead there", () => {
  const all = blocks(readFileSync(join(ROOT, "docs/definitions.md"), "utf8"));
  const definitions = all.filter(({ marks }) => marks.includes("definition"));
  assert.ok(definitions.length > 5);
  const children: AnyMachine[] = [
    permit,
    defineMachine({
      machine_id: "build",
      regions: [
        { id: "design", states: ["open", "agreed"], initial_state: "open" },
        { id: "code", states: ["none", "tested"], initial_state: "none" },
      ],
      transitions: [
        { region: "design", from: "open", to: "agreed", on: "agree" },
        { region: "code", from: "none", to: "tested", on: "test" },
      ],
    }),
  ];
  for (const { text, line } of definitions) {
    const machine = defineMachine(JSON.parse(text) as JsonDefinition, { machines: children });
    const found = paths(machine);
    assert.deepEqual(labels(found.missed), [], `line ${line}`);
    const commits = [...found].flatMap((path) => visited(machine, path));
    const seen = coverage(machine, commits);
    assert.ok(seen.complete, `line ${line}:\n${seen}`);
  }
});

/** Flat machines without guards: what they can reach is a matter of their graph. */
const graphs = fc
  .record({
    size: fc.integer({ min: 1, max: 8 }),
    edges: fc.array(fc.tuple(fc.nat(7), fc.nat(7), fc.constantFrom("a", "b", "c")), { maxLength: 20 }),
  })
  .map(({ size, edges }) => {
    const states = Array.from({ length: size }, (_, index) => `s${index}`);
    const transitions = edges
      .filter(([from, to]) => from < size && to < size)
      .map(([from, to, on]) => ({ from: `s${from}`, to: `s${to}`, on }));
    return { states, transitions };
  });

test("of random machines, every state is visited as early as their graph allows, and only the unreachable are missed", () => {
  fc.assert(
    fc.property(graphs, ({ states, transitions }) => {
      const definition: JsonDefinition = { machine_id: "random", states, initial_state: "s0", transitions };
      const machine = defineMachine(definition);
      // The first transition in definition order takes the event.
      const taken = transitions.filter(
        ({ from, on }, index) =>
          transitions.findIndex((other) => other.from === from && other.on === on) === index,
      );
      const distances = new Map([["s0", 0]]);
      for (const [state, distance] of distances) {
        for (const { from, to } of taken)
          if (from === state && !distances.has(to)) distances.set(to, distance + 1);
      }
      const found = paths(machine);
      const visits = new Map([["s0", 0]]);
      const moves = new Set<string>();
      for (const { steps, context } of found) {
        [...play(machine, steps, { context })].forEach(({ after, commits }, index) => {
          const state = String(after.current_state);
          visits.set(state, Math.min(visits.get(state) ?? Infinity, index + 1));
          for (const { rows } of commits) {
            for (const { from_state, to_state, event_type } of rows)
              moves.add(`${from_state} ${to_state} ${event_type}`);
          }
        });
      }
      assert.deepEqual([...visits].sort(), [...distances].sort());
      const reachable = taken.filter(({ from }) => distances.has(from));
      assert.deepEqual(
        [...moves].sort(),
        [...new Set(reachable.map(({ from, to, on }) => `${from} ${to} ${on}`))].sort(),
      );
      const missed = found.missed.filter(({ kind }) => kind === "state").map(({ state }) => state);
      assert.deepEqual(
        missed,
        states.filter((state) => !distances.has(state)),
      );
      // Each thing is covered once, or missed.
      const covered = [...found].flatMap(({ covers }) => labels(covers));
      assert.equal(new Set(covered).size, covered.length);
      assert.equal(covered.length + found.missed.length, states.length + transitions.length);
    }),
    { numRuns: 200, seed: 2 },
  );
});

test("coverage tells what histories missed", () => {
  const rows = [...play(order, [{ event: { type: "pay", params: { amount: 5 } } }])].flatMap(
    ({ commits }) => commits,
  );
  const seen = coverage(order, rows);
  assert.deepEqual(String(seen).split("\n"), [
    "order: states 2/4, transitions 1/3, timeouts 0/1",
    "  missed state review",
    "  missed state void",
    "  missed transition 0: placed → review on pay",
    "  missed transition 2: review → paid on approve",
    "  missed timeout 3: placed → void",
  ]);
  assert.equal(seen.complete, false);
  assert.equal(seen.transitions.visited, 1);
});

test("coverage of nothing is what entities start in", () => {
  assert.deepEqual(coverage(fulfilment, []).states.visited, 2);
  assert.equal(coverage(fulfilment, []).joins.total, 2);
});

test("coverage takes rows, commits, and lists of them, and looks at its own machine's alone", () => {
  const commits = [...play(order, [{ event: { type: "pay" } }])].flatMap((played) => played.commits);
  const rows = commits.flatMap((commit) => commit.rows);
  const expected = String(coverage(order, commits));
  assert.equal(String(coverage(order, rows)), expected);
  assert.equal(String(coverage(order, [rows])), expected);
  assert.equal(String(coverage(order, [commits, rows])), expected);
  const foreign = rows.map((row) => ({ ...row, machine_id: "other" }));
  assert.equal(String(coverage(order, foreign)), String(coverage(order, [])));
});

test("coverage tells transitions between the same states apart by their guards", () => {
  const machine = defineMachine({
    machine_id: "m",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "b", on: "go", guard: { field: "n", op: "eq", value: 1 } },
      { from: "a", to: "b", on: "go", guard: { field: "n", op: "eq", value: 2 } },
    ],
  });
  const rows = [...play(machine, [{ event: { type: "go", params: { n: 2 } } }])].flatMap(
    ({ commits }) => commits,
  );
  assert.deepEqual(labels(coverage(machine, rows).missed), ["transition 0: a → b on go"]);
});

test("play tells each step, with events a millisecond apart", () => {
  const played = [
    ...play(
      order,
      [{ wait: 1000 }, { event: { type: "pay", params: { amount: 500 } } }, { event: { type: "pay" } }],
      {
        now: 5000,
      },
    ),
  ];
  assert.deepEqual(
    played.map(({ now, after, sent }) => [now, after.current_state, sent?.outcome]),
    [
      [6000, "placed", undefined],
      [6001, "review", "applied"],
      [6002, "review", "no_transition"],
    ],
  );
});

test("generated sequences reach what takes a join of three events", () => {
  const refunds = fc
    .sample(arbitraryEvents(fc, fulfilment), { numRuns: 200, seed: 7 })
    .map((steps) => [...play(fulfilment, steps)].at(-1)?.after.current_state.payment)
    .filter((payment) => payment === "refunded");
  assert.ok(refunds.length > 60, `${refunds.length} of 200`);
});

test("a failing sequence shrinks to the steps that matter", () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const result = fc.check(
      fc.property(arbitraryEvents(fc, fulfilment), (steps) => {
        const end = [...play(fulfilment, steps)].at(-1);
        return end?.after.current_state.payment !== "refunded";
      }),
      { seed, numRuns: 500 },
    );
    assert.ok(result.failed, `seed ${seed}`);
    const types = result.counterexample?.[0].map((step) => step.event?.type);
    assert.deepEqual(types?.toSorted(), ["pack", "pay", "return"], `seed ${seed}`);
  }
});

test("params of generated events shrink to the simplest that fail", () => {
  const result = fc.check(
    fc.property(arbitraryEvents(fc, order), (steps) => {
      const end = [...play(order, steps)].at(-1);
      return end?.after.current_state !== "review";
    }),
    { seed: 3, numRuns: 500 },
  );
  assert.deepEqual(result.counterexample, [[{ event: { type: "pay", params: { amount: 101 } } }]]);
});

test("the same seed makes the same sequences", () => {
  const sample = () => fc.sample(arbitraryEvents(fc, order), { numRuns: 20, seed: 11 });
  assert.deepEqual(sample(), sample());
});

test("sequences have at most as many steps as asked for, and some have events that nothing takes", () => {
  const samples = fc.sample(arbitraryEvents(fc, order, { maxLength: 5 }), { numRuns: 200, seed: 5 });
  assert.ok(samples.every((steps) => steps.length <= 5));
  assert.ok(samples.some((steps) => steps.length === 5));
  const outcomes = samples.flatMap((steps) => [...play(order, steps)].map(({ sent }) => sent?.outcome));
  assert.ok(outcomes.includes("no_transition"));
  const tame = fc.sample(arbitraryEvents(fc, order, { wild: 0 }), { numRuns: 100, seed: 5 });
  const first = tame.flatMap((steps) => [...play(order, steps)].slice(0, 1));
  assert.ok(first.every(({ sent }) => sent === undefined || sent.outcome === "applied"));
});

test("children's events are generated with their targets", () => {
  const machine = project({ lifecycle: "managed" });
  const ends = fc
    .sample(arbitraryEvents(fc, machine), { numRuns: 200, seed: 9 })
    .map((steps) => [...play(machine, steps)].at(-1)?.after.current_state);
  assert.ok(ends.includes("permitted"));
  assert.ok(ends.includes("dropped"));
});

test("a machine without events waits", () => {
  const machine = defineMachine({ machine_id: "m", states: ["a"], initial_state: "a", transitions: [] });
  const samples = fc.sample(arbitraryEvents(fc, machine), { numRuns: 20, seed: 1 });
  assert.ok(samples.flat().every(({ wait }) => wait === 1));
  assert.deepEqual(
    [...paths(machine)].map(({ title, covers }) => [title, labels(covers)]),
    [["start", ["state a"]]],
  );
});

/** An order that is paid, and then expected to be in some state. */
const paying = (state: string): Scenario => ({
  statewright: "scenario/1",
  machines: [order.definition],
  start: 1000,
  steps: [
    { op: "create", args: { machine_id: "order", body: { entity_id: "o" } } },
    {
      op: "transition",
      args: { machine_id: "order", entity_id: "o", body: { event_type: "pay" } },
      expect: { state },
    },
  ],
});

test("a scenario is the body of a test", async () => {
  await scenario(paying("paid"))();
});

test("a scenario that fails says which step, and what was otherwise", async () => {
  await assert.rejects(scenario(paying("void")), (error: unknown) => {
    assert.ok(error instanceof ScenarioFailure);
    assert.match(error.message, /^step 1 \(transition pay\): .*"void".*"paid"/);
    assert.deepEqual(
      error.failures.map(({ step }) => step),
      [1],
    );
    return true;
  });
});

test("a scenario is read from a file when the test runs", async () => {
  const folder = mkdtempSync(join(tmpdir(), "statewright-scenario-"));
  try {
    const file = join(folder, "paying.json");
    const run = scenario(file);
    writeFileSync(file, JSON.stringify(paying("paid")));
    await run();
    await scenario(pathToFileURL(file))();
    writeFileSync(file, JSON.stringify(paying("void")));
    await assert.rejects(run, ScenarioFailure);
    await assert.rejects(scenario(join(folder, "none.json")), { code: "ENOENT" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what is no scenario is refused, with a path", async () => {
  const wrong = { ...paying("paid"), steps: [{ op: "fly" }] };
  await assert.rejects(scenario(wrong), (error: unknown) => {
    assert.ok(error instanceof StatewrightError);
    assert.equal(error.code, "BAD_REQUEST");
    assert.match(error.message, /steps\[0\]/);
    return true;
  });
});

test("paths are scenarios that pass, also of children, timeouts and joins", async () => {
  for (const machine of [order, fulfilment, project({ lifecycle: "managed" }), project({})] as AnyMachine[]) {
    for (const path of paths(machine)) await scenario(asScenario(machine, path))();
  }
});

test("a path that was kept fails when the machine does otherwise", async () => {
  const [, , review] = paths(order);
  assert.ok(review);
  const kept = asScenario(order, review);
  const [definition] = kept.machines as [JsonDefinition];
  const [first, ...rest] = definition.transitions;
  const changed = {
    ...definition,
    transitions: [{ ...first, guard: { field: "amount", op: "gt", value: 200 } }, ...rest],
  };
  await assert.rejects(scenario({ ...kept, machines: [changed] }), ScenarioFailure);
});

test("what is given by mistake is refused by its name", async () => {
  const refusal = async (call: () => unknown): Promise<string> => {
    try {
      await call();
    } catch (error) {
      assert.ok(error instanceof StatewrightError, String(error));
      return error.message;
    }
    return assert.fail("it is not refused");
  };
  const played = (steps: unknown) => refusal(() => [...play(order, steps as Step<typeof order>[])]);
  const waits = "expected whole milliseconds from 0, where there is no `event`";
  assert.deepEqual(
    [
      await played([{ wait: NaN }]),
      await played([{ event: { type: "approve" } }, { wait: -5 }]),
      await played([{}]),
      await played(["x"]),
      await played(5),
    ],
    [
      `steps[0].wait: it is NaN; ${waits}`,
      `steps[1].wait: it is -5; ${waits}`,
      `steps[0].wait: it is missing; ${waits}`,
      "steps[0]: it is a text; expected an object with `event` or `wait`",
      "steps: it is 5; expected a list of steps",
    ],
  );
  const covered = (histories: unknown) => refusal(() => coverage(order, histories as never));
  assert.deepEqual(
    [
      await covered([null]),
      await covered(undefined),
      await covered([[{ machine_id: "order", region: "_" }]]),
    ],
    [
      "histories[0]: it is null; expected rows, commits, or lists of them",
      "histories: it is missing; expected rows, commits, or lists of them",
      "histories[0][0].from_state: it is missing; expected a text",
    ],
  );
  const none = "machine: it is an object; expected a machine that `defineMachine` gave";
  assert.equal(await refusal(() => paths(order.definition as never)), none);
  assert.equal(await refusal(() => coverage(order.definition as never, [])), none);
  assert.equal(await refusal(() => arbitraryEvents(fc, order.definition as never)), none);
  assert.equal(
    await refusal(() => arbitraryEvents(fc, order, { maxLength: -1 })),
    "maxLength: it is -1; expected a whole number from 0 to 2147483647",
  );
  assert.equal(
    await refusal(() => paths(order, { limits: 5 } as never)),
    "options.limits: nothing reads it; expected one of `contexts`, `limit`",
  );
});

test("a scenario's file may begin with a byte order mark, and one that is no JSON is named", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "statewright-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [marked, bad] = [join(folder, "marked.json"), join(folder, "bad.json")];
  writeFileSync(marked, `\uFEFF${JSON.stringify(simulate([order]).export())}`);
  writeFileSync(bad, "{");
  await scenario(marked)();
  await assert.rejects(scenario(bad), (error: unknown) => {
    assert.ok(error instanceof StatewrightError);
    return error.message.startsWith(`${bad}: it is no JSON: `);
  });
  await assert.rejects(scenario(5 as never), { code: "BAD_REQUEST" });
});
