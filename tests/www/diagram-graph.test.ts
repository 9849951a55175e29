// What a diagram shows, without a page: machines as graphs, what is marked in them, and the same in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { defineMachine, type JsonDefinition, simulate } from "statewright";

import { type Graph, graphOf, type StateNode } from "../../www/src/diagram/graph.ts";
import { durationText, guardText } from "../../www/src/diagram/guard.ts";
import { asideOf } from "../../www/src/diagram/main-ways.ts";
import { type Marks, marksOf } from "../../www/src/diagram/marks.ts";
import { cut, lineText, shownLines } from "../../www/src/diagram/sizes.ts";
import { descriptionOf, summaryOf } from "../../www/src/diagram/text.ts";
import type { Taken, Tree } from "../../www/src/diagram/tree.ts";
import { fitted, opening, zoomed } from "../../www/src/diagram/viewport.ts";
import { BUNDLE, FULFILMENT, HOSTILE, largeOf, PURCHASE } from "./diagram-machines.ts";

const NONE = { tree: undefined, taken: undefined, counts: undefined };

function shown(
  definition: JsonDefinition,
  machines: readonly JsonDefinition[] = [],
  opened = new Map<string, boolean>(),
): Graph {
  return graphOf({ definition, machines, opened });
}

/** The names of the states that are lit, each with its machine. */
function lit(graph: Graph, marks: Marks, light: string): string[] {
  const states = [...graph.states.values()].filter(({ key }) => marks.lights.get(key) === light);
  return states.map(({ machine_id, name }) => `${machine_id}.${name}`);
}

function state(graph: Graph, name: string): StateNode {
  const found = [...graph.states.values()].find((one) => one.name === name);
  assert.ok(found, name);
  return found;
}

/** An entity of a machine, with its children, and what was done last. */
function played(
  machines: readonly [JsonDefinition, ...JsonDefinition[]],
  act: (session: ReturnType<typeof simulate>) => void,
): { tree: Tree; rows: readonly Taken[] } {
  const { machine_id } = machines[0];
  const session = simulate(
    machines.map((machine) => defineMachine(machine)),
    { now: 0 },
  );
  session.create(machine_id, "e-1");
  act(session);
  return { tree: session.tree(machine_id, "e-1"), rows: session.history(machine_id, "e-1") };
}

test("all that leads from one state to another is one edge, a line each", () => {
  const { root, transitions } = shown(PURCHASE);
  assert.equal(transitions, 7);
  const [region] = root.regions;
  const written = region?.edges.map((edge) => [edge.from.name, edge.to.name, ...edge.lines.map(lineText)]);
  assert.deepEqual(written, [
    ["placed", "paid", "pay [amount ≥ 10]"],
    ["placed", "cancelled", "cancel", "1 h"],
    ["paid", "packed", "pack"],
    ["packed", "packed", "relabel"],
    ["packed", "paid", "unpack"],
    ["packed", "shipped", "ship"],
  ]);
  const marked = region?.states.map(({ name, initial, final }) => [name, initial, final]);
  assert.deepEqual(marked, [
    ["placed", true, false],
    ["paid", false, false],
    ["packed", false, false],
    ["shipped", false, true],
    ["cancelled", false, true],
  ]);
  assert.deepEqual(state(shown(PURCHASE), "paid").actions, ["event: order.paid"]);
});

test("of many lines at an edge the rest is counted", () => {
  const transitions = Array.from({ length: 50 }, (_, index) => ({ from: "a", to: "b", on: `e${index}` }));
  const [edge] =
    shown({ machine_id: "m", states: ["a", "b"], initial_state: "a", transitions }).root.regions[0]?.edges ??
    [];
  assert.ok(edge);
  const written = shownLines(edge).map(({ text }) => text);
  assert.deepEqual(written, ["e0", "e1", "e2", "e3", "e4", "and 45 more"]);
});

test("guards and delays read as the core writes them", () => {
  const guard = {
    all: [
      { field: "days", op: "lte", value: 30 },
      {
        any: [
          { field: "a b", op: "neq", value: "x" },
          { field: "n", op: "contains", value: "y" },
        ],
      },
    ],
  };
  assert.equal(guardText(guard), 'days ≤ 30 and ("a b" ≠ "x" or n contains "y")');
  assert.equal(guardText({ all: [] }), "always");
  assert.equal(guardText({ timeout_seconds: 5 }), undefined);
  assert.equal(guardText({ timeout_seconds: 5, field: "p", op: "eq", value: "high" }), 'p = "high"');
  assert.deepEqual([1000, 90_000, 3_600_000, 1_209_600_000, 1500].map(durationText), [
    "1 s",
    "90 s",
    "1 h",
    "14 d",
    "1500 ms",
  ]);
  assert.match(defineMachine(PURCHASE).diagram("mermaid"), /amount ≥ 10/);
});

test("children stand inside of their states as far as they are known, and close and open", () => {
  const [bundle, ...others] = BUNDLE;
  const open = shown(bundle, others);
  assert.equal(open.children, 2);
  assert.deepEqual([...open.states.values()].map(({ name }) => name).sort(), [
    "closed",
    "done",
    "kept",
    "observing",
    "open",
    "opened",
    "returned",
    "returning",
    "sent",
    "settled",
    "settling",
  ]);
  const returning = state(open, "returning");
  assert.equal(returning.child?.inside?.machine_id, "return_case");
  assert.equal(returning.final, false);
  const closed = shown(bundle, others, new Map([[returning.key, false]]));
  assert.deepEqual(
    [...closed.states.values()].map(({ name }) => name),
    ["sent", "returning", "done"],
  );
  assert.equal(state(closed, "returning").child?.known, true);
  const alone = shown(bundle);
  assert.equal(state(alone, "returning").child?.known, false);
  const [end] = open.root.regions[0]?.edges.filter(({ to }) => to.name === "done") ?? [];
  assert.deepEqual(
    end?.lines.map(({ kind, text }) => [kind, text]),
    [["completion", "case = returned and deadline = closed"]],
  );
});

test("a machine that is its own child ends somewhere", () => {
  const loop: JsonDefinition = {
    machine_id: "loop",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "go" }],
    sub_machines: { b: { machine_id: "loop" } },
  };
  assert.equal(shown(loop, [loop]).states.size, 2);
  const all = new Map(Array.from({ length: 40 }, (_, depth) => [`m.0.1${"m.0.1".repeat(depth)}`, true]));
  assert.ok(shown(loop, [loop], all).states.size < 40);
});

test("a large child is closed until it is opened", () => {
  const parent: JsonDefinition = {
    machine_id: "parent",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "go" }],
    sub_machines: { b: { machine_id: "large", lifecycle: "managed" } },
  };
  const machines = [largeOf(60, 80)];
  const closed = shown(parent, machines);
  assert.equal(closed.states.size, 2);
  assert.equal(shown(parent, machines, new Map([[state(closed, "b").key, true]])).states.size, 62);
});

test("names are names, whatever they are", () => {
  const graph = shown(HOSTILE);
  assert.equal(graph.states.size, 6);
  assert.equal(graph.transitions, 5);
  assert.deepEqual([...graph.states.keys()], ["m.0.0", "m.0.1", "m.0.2", "m.0.3", "m.0.4", "m.0.5"]);
  const counts = [
    { region: "_", state: "__proto__", entities: 3 },
    { region: "__proto__", state: "constructor", entities: 9 },
  ];
  const marks = marksOf(graph, { ...NONE, counts });
  assert.deepEqual([...marks.counts], [["m.0.0", 3]]);
  assert.ok(descriptionOf(graph, marks).length < 5000);
  const states = ["a".repeat(100_000), "b".repeat(100_000)] as const;
  const [from, to] = states;
  const huge = shown({ machine_id: from, states, initial_state: from, transitions: [{ from, to, on: to }] });
  assert.ok(descriptionOf(huge, marksOf(huge, NONE)).length < 5000);
  assert.equal(cut("x".repeat(10_000), 40).length, 40);
  assert.equal(cut("😀".repeat(50), 40), `${"😀".repeat(39)}…`);
});

test("definitions that name what is not there are drawn without it", () => {
  const { root, states } = shown({
    machine_id: "m",
    regions: [{ id: "r", states: ["a", "a"], initial_state: "z" }],
    transitions: [
      { region: "r", from: "a", to: "nowhere", on: "x" },
      { from: "a", to: "a", on: "y" },
    ],
    joins: [{ when: { q: "a" }, target_region: "r", target_state: "a" }],
  });
  assert.equal(states.size, 1);
  assert.deepEqual([root.joins, root.regions[0]?.edges], [[], []]);
});

test("current states are lit in children too, and what was taken is marked", () => {
  const step = { region: "_", state: "returning" };
  const { tree } = played(BUNDLE, (session) => {
    session.send("bundle", "e-1", "return");
    session.send("bundle", "e-1", { type: "approve", target: [step] });
  });
  const graph = shown(BUNDLE[0], BUNDLE);
  const taken = [
    {
      machine_id: "return_case",
      entity_id: "e-1::sub::returning",
      region: "case",
      from_state: "opened",
      to_state: "settling",
      event_type: "approve",
    },
  ];
  const marks = marksOf(graph, { ...NONE, tree, taken });
  assert.deepEqual(lit(graph, marks, "current"), [
    "bundle.returning",
    "return_case.settling",
    "settle.observing",
    "return_case.open",
  ]);
  assert.deepEqual(lit(graph, marks, "ended"), []);
  assert.equal(marks.takenEdges.size, 1);
  assert.deepEqual(marks.taken, ["approve in return_case case: opened to settling"]);
  assert.match(
    summaryOf(graph, marks),
    /^bundle: 11 states, .*Current: .*returning.*Taken: approve in return_case case: opened to settling\.$/,
  );
});

test("a child that has ended is shown as ended, until its state has another", () => {
  const { tree } = played(BUNDLE, (session) => {
    session.send("bundle", "e-1", "return");
    session.send("bundle", "e-1", "withdraw");
  });
  const graph = shown(BUNDLE[0], BUNDLE);
  const marks = marksOf(graph, { ...NONE, tree });
  assert.deepEqual(lit(graph, marks, "current"), ["bundle.sent"]);
  assert.deepEqual(lit(graph, marks, "ended"), ["return_case.opened", "return_case.open"]);
  assert.deepEqual([...marks.ended.values()], ["cancelled"]);
  const again = played(BUNDLE, (session) => {
    for (const event of ["return", "withdraw", "return"]) session.send("bundle", "e-1", event);
  });
  const anew = marksOf(graph, { ...NONE, tree: again.tree });
  assert.deepEqual(lit(graph, anew, "ended"), []);
  assert.deepEqual(lit(graph, anew, "current").sort(), [
    "bundle.returning",
    "return_case.open",
    "return_case.opened",
  ]);
});

test("of joins the one that fired is marked", () => {
  const { tree, rows } = played([FULFILMENT], (session) => {
    session.send("fulfilment", "e-1", "pay");
    session.send("fulfilment", "e-1", "pack");
  });
  const graph = shown(FULFILMENT);
  const marks = marksOf(graph, { ...NONE, tree, taken: rows.slice(-2) });
  assert.deepEqual([...marks.takenJoins], [graph.root.joins[0]?.key]);
  assert.deepEqual(marks.taken, ["pack in goods: picking to packed", "A join in goods: packed to sent"]);
  assert.deepEqual(lit(graph, marks, "current"), ["fulfilment.captured", "fulfilment.sent"]);
});

test("of the largest machines the shape is laid out, and every state has a way to it", () => {
  assert.equal(asideOf(shown(PURCHASE)).size, 0);
  const graph = shown(largeOf(200, 600));
  const [region] = graph.root.regions;
  assert.ok(region);
  const aside = asideOf(graph);
  const laid = region.edges.filter((edge) => !aside.has(edge));
  assert.ok(laid.length < 300, String(laid.length));
  const reached = new Set(laid.map(({ to }) => to.name));
  assert.deepEqual(
    region.states.filter(({ name, initial }) => !initial && !reached.has(name)).map(({ name }) => name),
    [],
  );
});

test("what is seen at first can be read", () => {
  const box = { width: 600, height: 400 };
  assert.equal(fitted({ width: 300, height: 200 }, box).scale, 1);
  assert.ok(fitted({ width: 6000, height: 200 }, box).scale < 0.2);
  const view = opening({ width: 6000, height: 4000 }, box, { x: 5000, y: 3000, width: 100, height: 40 });
  assert.ok(view.scale > 0.6);
  const middle = { x: view.x + 5050 * view.scale, y: view.y + 3020 * view.scale };
  assert.deepEqual([Math.round(middle.x), Math.round(middle.y)], [300, 200]);
  const closer = zoomed(view, 2, { x: 300, y: 200 });
  assert.equal(Math.round(closer.x + 5050 * closer.scale), 300);
});
