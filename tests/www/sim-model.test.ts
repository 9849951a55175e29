// What the simulator works on, without a page: documents and their faults, what edits do to what was done, steps and their rows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { effect } from "@preact/signals";
import type { JsonDefinition, ScenarioStep } from "statewright";

import { momentOf, spanOf } from "../../www/src/simulator/clock-time.ts";
import { Runner, type Ticks } from "../../www/src/simulator/clock-run.ts";
import { Model } from "../../www/src/simulator/model.ts";
import { Documents, rootsOf } from "../../www/src/simulator/model-documents.ts";
import { closedOf, groupsOf } from "../../www/src/simulator/events-offers.ts";
import { BLANK, fieldsOf, paramsOf } from "../../www/src/simulator/params-fields.ts";
import { whyNot } from "../../www/src/simulator/why-text.ts";

const LAMP: JsonDefinition = {
  machine_id: "lamp",
  states: ["off", "on"],
  initial_state: "off",
  transitions: [
    { from: "off", to: "on", on: "press", guard: { field: "force", op: "gte", value: 3 } },
    { from: "on", to: "off", on: "$timeout", guard: { timeout_seconds: 60 } },
    { from: "on", to: "on", on: "press" },
  ],
};

const PERMIT: JsonDefinition = {
  machine_id: "permit",
  states: ["asked", "granted"],
  initial_state: "asked",
  transitions: [{ from: "asked", to: "granted", on: "grant" }],
};

const PROJECT: JsonDefinition = {
  machine_id: "project",
  states: ["planned", "asking", "allowed"],
  initial_state: "planned",
  transitions: [{ from: "planned", to: "asking", on: "ask" }],
  sub_machines: { asking: { machine_id: "permit", lifecycle: "managed", on_final: { granted: "allowed" } } },
};

/** A model of these machines, with one entity to begin with. */
function modelOf(...definitions: readonly JsonDefinition[]): Model {
  const model = new Model();
  assert.equal(model.load({ definitions }), true);
  return model;
}

function textOf(definition: unknown): string {
  return JSON.stringify(definition);
}

/** Writes the first document anew. */
function write(model: Model, definition: unknown, at = 0): void {
  const doc = model.docs.value[at];
  assert.ok(doc);
  model.setText(doc.key, typeof definition === "string" ? definition : textOf(definition));
  model.settle();
}

function stateOf(model: Model, at = 0): unknown {
  return model.view.value?.entities[at]?.current_state;
}

const chosen = (model: Model): string | undefined => model.subject.value?.entity_id;

const press = (model: Model, force = 5): boolean =>
  model.act((session) => session.send("lamp", "lamp-1", { type: "press", params: { force } }));

test("an empty simulator begins with an example", () => {
  const model = new Model();
  assert.equal(model.docs.value[0]?.name, "order");
  assert.equal(model.subject.value?.machine_id, "order");
  assert.equal(model.failure.value, undefined);
  assert.ok((model.view.value?.done ?? 0) > 0);
});

test("a document's faults and warnings stand at their paths", () => {
  const { docs, machines } = new Documents().check([
    { key: 1, text: textOf({ ...LAMP, initial_state: "of" }) },
    { key: 2, text: textOf({ ...PERMIT, states: ["asked", "granted", "lost"] }) },
  ]);
  assert.equal(machines, undefined);
  assert.deepEqual(
    docs[0]?.problems.map(({ path, severity }) => [path, severity]),
    [["$.initial_state", "error"]],
  );
  assert.deepEqual(
    docs[1]?.problems.map(({ path, severity }) => [path, severity]),
    [["$.states[2]", "warning"]],
  );
});

test("what does not fit together stands at the document that says it", () => {
  const documents = new Documents();
  const wrong = {
    ...PROJECT,
    sub_machines: { asking: { ...childOf(PROJECT), on_final: { lost: "allowed" } } },
  };
  const family = documents.check([
    { key: 1, text: textOf(PERMIT) },
    { key: 2, text: textOf(wrong) },
  ]);
  assert.deepEqual(family.docs[0]?.problems, []);
  assert.equal(family.docs[1]?.problems[0]?.path, "$.sub_machines.asking.on_final.lost");
  assert.equal(family.machines, undefined);

  const alone = documents.check([{ key: 2, text: textOf(PROJECT) }]);
  assert.deepEqual(alone.docs[0]?.problems, [
    {
      path: "$.sub_machines.asking.machine_id",
      severity: "warning",
      message: "no tab defines the child's machine `permit`",
    },
  ]);
  assert.equal(alone.machines?.length, 1);

  const twice = documents.check([
    { key: 1, text: textOf(PERMIT) },
    { key: 3, text: textOf(PERMIT) },
  ]);
  assert.equal(twice.docs[1]?.problems[0]?.path, "$.machine_id");
});

function childOf(definition: JsonDefinition): object {
  return (definition.sub_machines as { readonly asking: object }).asking;
}

test("anything may be written", () => {
  const documents = new Documents();
  const texts = [
    "",
    "{",
    "null",
    "[]",
    '"a"',
    "7",
    "{}",
    '{"machine_id": 5}',
    '{"__proto__": {"machine_id": "x"}}',
  ];
  texts.push('{"machine_id":"a","states":["a"],"initial_state":"a","transitions":[],"sub_machines":{"a":5}}');
  texts.push("[".repeat(5000) + "]".repeat(5000));
  for (const text of texts) {
    const { docs, machines } = documents.check([{ key: 1, text }]);
    assert.equal(machines, undefined, text.slice(0, 40));
    assert.ok(docs[0]?.broken === true || (docs[0]?.problems.length ?? 0) > 0, text.slice(0, 40));
  }
});

test("machines that name each other are taken", () => {
  const back = { ...PERMIT, sub_machines: { granted: { machine_id: "project" } } };
  const legacy = { ...PROJECT, sub_machines: { asking: { machine_id: "permit" } } };
  const { machines, docs } = new Documents().check([
    { key: 1, text: textOf(back) },
    { key: 2, text: textOf(legacy) },
  ]);
  assert.deepEqual(
    docs.flatMap(({ problems }) => problems.filter(({ severity }) => severity === "error")),
    [],
  );
  assert.equal(machines?.length, 2);
  assert.deepEqual(rootsOf([PERMIT, PROJECT]), ["project"]);
  assert.deepEqual(rootsOf([back, legacy]), ["permit"]);
});

test("an edit keeps the steps that still work", () => {
  const model = modelOf(LAMP);
  press(model);
  assert.equal(stateOf(model), "on");
  write(model, {
    ...LAMP,
    states: ["off", "on", "broken"],
    transitions: [...LAMP.transitions, { from: "on", to: "broken", on: "drop" }],
  });
  assert.equal(stateOf(model), "on");
  assert.equal(model.note.value, undefined);
  assert.ok(model.view.value?.events.some(({ event_type }) => event_type === "drop"));
});

test("an edit keeps what is undone, to be redone", () => {
  const model = modelOf(LAMP);
  press(model);
  press(model);
  model.act((session) => session.create("lamp", "second"));
  model.undo(1);
  write(model, { ...LAMP, description: "a lamp" });
  assert.equal(model.view.value?.done, 1);
  assert.equal(model.view.value.steps.length, 4);
  assert.equal(stateOf(model), "off");
  model.redo(3);
  assert.equal(stateOf(model), "on");
  assert.equal(model.view.value.done, 3);
});

test("an edit with faults leaves the session as it is, until there are none", () => {
  const model = modelOf(LAMP);
  press(model);
  write(model, "{ nothing");
  assert.equal(model.stale.value, true);
  assert.equal(stateOf(model), "on");
  assert.equal(model.definitions.value[0]?.machine_id, "lamp");
  write(model, LAMP);
  assert.equal(model.stale.value, false);
  assert.equal(stateOf(model), "on");
});

test("a machine may be given another name while it runs", () => {
  const model = modelOf(LAMP);
  press(model);
  write(model, { ...LAMP, machine_id: "bulb" });
  assert.deepEqual(model.subject.value, { machine_id: "bulb", entity_id: "lamp-1" });
  assert.equal(stateOf(model), "on");
});

test("steps that no longer work are left out, and that is said", () => {
  const model = modelOf(PROJECT, PERMIT);
  const ask = (session: { send(machine: string, entity: string, event: string): unknown }) =>
    session.send("project", "project-1", "ask");
  assert.equal(model.act(ask), true);
  assert.equal(model.view.value?.entities.length, 2);
  // Without a tab for the child, the compound state cannot be entered.
  model.removeDoc(model.docs.value[1]?.key ?? 0);
  assert.match(model.note.value ?? "", /^1 step does not work/);
  assert.equal(stateOf(model), "planned");
});

test("without any step that works it begins anew with an entity", () => {
  const model = modelOf(LAMP);
  press(model);
  model.addDoc(textOf(PERMIT));
  model.removeDoc(model.docs.value[0]?.key ?? 0);
  assert.deepEqual(model.subject.value, { machine_id: "permit", entity_id: "permit-1" });
  assert.match(model.note.value ?? "", /2 steps do not work/);
});

test("each step knows the rows that it wrote over all entities, also those that were loaded", () => {
  const model = modelOf(PROJECT, PERMIT);
  model.act((session) => session.send("project", "project-1", "ask"));
  model.act((session) =>
    session.send("project", "project-1", { type: "grant", target: [{ state: "asking" }] } as never),
  );
  const rows = () =>
    model.view.value?.steps.map(({ rows: own }) => own.map((row) => `${row.entity_id} ${row.to_state}`));
  const expected = [[], ["project-1 asking"], ["project-1::sub::asking granted", "project-1 allowed"]];
  assert.deepEqual(rows(), expected);
  assert.equal(model.view.value?.taken.length, 2);

  const other = new Model();
  other.load({ definitions: [PROJECT, PERMIT], scenario: model.scenario() });
  assert.deepEqual(
    other.view.value?.steps.map(({ rows: own }) => own.length),
    [0, 1, 2],
  );
  other.undo(1);
  other.redo();
  assert.equal(other.view.value?.taken[0]?.to_state, "asking");
  other.undo();
  other.act((session) => session.create("permit", "p-9"));
  assert.deepEqual(
    other.view.value?.steps.map(({ rows: own }) => own.length),
    [0, 0],
  );
});

test("of many steps that are loaded the rows are found beside, whatever is done meanwhile", async () => {
  const model = modelOf(PERMIT);
  for (let at = 0; at < 150; at += 1) {
    model.act((session) => session.create("permit", `p-${at}`));
    model.act((session) => session.send("permit", `p-${at}`, "grant"));
  }
  const other = new Model();
  other.load({ definitions: [PERMIT], scenario: model.scenario() });
  other.undo(200);
  other.act((session) => session.send("permit", "permit-1", "grant"));
  const rows = () => other.view.value?.steps.map(({ rows: own }) => own.length) ?? [];
  await new Promise<void>((done) => {
    effect(() => {
      if (rows().filter((count) => count === 1).length === 100) done();
    });
  });
  assert.deepEqual(rows().slice(0, 3), [0, 0, 1]);
  assert.equal(rows().length, 201);
  assert.equal(other.view.value?.taken[0]?.entity_id, "permit-1");
});

test("the entity that was chosen comes back with a redo", () => {
  const model = modelOf(LAMP);
  model.act((session) => session.create("lamp", "second"));
  model.subject.value = { machine_id: "lamp", entity_id: "second" };
  model.undo();
  assert.equal(chosen(model), "lamp-1");
  model.redo();
  assert.equal(chosen(model), "second");
  model.undo(0);
  assert.equal(chosen(model), undefined);
  assert.equal(model.view.value?.tree, undefined);
  model.redo(2);
  assert.equal(chosen(model), "second");
});

test("what is refused is a failure, and nothing else changes", () => {
  const model = modelOf(LAMP);
  assert.equal(
    model.act((session) => session.send("lamp", "nobody", "press")),
    false,
  );
  assert.ok(model.failure.value instanceof Error);
  assert.equal(stateOf(model), "off");
  assert.equal(press(model), true);
  assert.equal(model.failure.value, undefined);
});

test("content with faults is not loaded", () => {
  const model = modelOf(LAMP);
  press(model);
  assert.equal(model.load({ definitions: [{ ...LAMP, initial_state: "x" }] }), false);
  assert.match(String(model.failure.value), /initial_state/);
  assert.equal(stateOf(model), "on");
  assert.equal(model.load({ definitions: [] }), false);
});

test("fields are asked for as guards read them", () => {
  const fields = fieldsOf([
    {
      all: [
        { field: "amount", op: "gt", value: 10 },
        { field: "vip", op: "eq", value: true },
      ],
    },
    {
      any: [
        { field: "country", op: "eq", value: "PT" },
        { field: "country", op: "neq", value: "ES" },
      ],
    },
    { field: "amount", op: "lte", value: "20" },
    { field: "code", op: "eq", value: null },
    { field: "__proto__", op: "eq", value: 1 },
    "odd",
    undefined,
  ]);
  assert.deepEqual(
    fields.map(({ name, kind, hint }) => [name, kind, hint]),
    [
      ["amount", "number", '> 10, ≤ "20"'],
      ["vip", "choice", "= true"],
      ["country", "text", '= "PT", ≠ "ES"'],
      ["code", "json", "= null"],
      ["__proto__", "number", "= 1"],
    ],
  );
  const typed = new Map([
    ["amount", "15"],
    ["vip", "false"],
    ["country", ""],
    ["code", "null"],
    ["__proto__", "1"],
  ]);
  const { params, problems } = paramsOf(fields, { fields: typed, other: '{"note": "x", "amount": 1}' });
  assert.equal(problems.size, 0);
  assert.equal(JSON.stringify(params), '{"note":"x","amount":15,"vip":false,"code":null,"__proto__":1}');
  assert.deepEqual(
    [...paramsOf(fields, { fields: new Map([["amount", "much"]]), other: "[]" }).problems.keys()],
    [undefined, "amount"],
  );
  assert.deepEqual(paramsOf(fields, BLANK).params, {});
});

test("why not says what was seen", () => {
  const model = modelOf(LAMP);
  const why = (params: object) => whyNot(model.why("press", params));
  assert.equal(why({ force: 3 }), undefined);
  assert.equal(why({ force: 2 }), "force ≥ 3 fails: it is 2 in the params");
  assert.equal(why({}), "force ≥ 3 fails: force is missing");
  press(model);
  assert.equal(whyNot(model.why("switch", {})), "No transition of lamp is on switch");
});

test("events are grouped by who takes them, and the others are listed", () => {
  const model = modelOf(PROJECT, PERMIT);
  model.act((session) => session.send("project", "project-1", "ask"));
  const view = model.view.value;
  const subject = model.subject.value;
  assert.ok(view?.tree && subject);
  const [group, ...others] = groupsOf(view.events, subject, view.entities);
  assert.equal(others.length, 0);
  assert.equal(group?.of.machine_id, "permit");
  assert.deepEqual(group.offers[0]?.address, {
    to: subject,
    target: [{ region: "_", seq: 2, state: "asking" }],
  });
  assert.deepEqual(
    closedOf(view.tree, model.definitions.value, view.events).map(({ event_type }) => event_type),
    ["ask"],
  );
});

test("an event for a legacy child is sent to its parent, before the child is there and after", () => {
  const model = modelOf({ ...PROJECT, sub_machines: { asking: { machine_id: "permit" } } }, PERMIT);
  model.act((session) => session.send("project", "project-1", "ask"));
  const offers = () => {
    const { view, subject } = { view: model.view.value, subject: model.subject.value };
    assert.ok(view && subject);
    return groupsOf(view.events, subject, view.entities).flatMap(({ offers: own }) => own);
  };
  const to = { machine_id: "project", entity_id: "project-1" };
  assert.deepEqual(
    offers().map(({ event_type, address, unmade }) => ({ event_type, address, unmade })),
    [{ event_type: "grant", address: { to }, unmade: true }],
  );
  model.act((session) => session.send("project", "project-1", "grant"));
  assert.equal(model.view.value?.entities.length, 2);
  // The child stands first by its name; the parent is looked at all the same.
  assert.deepEqual(model.subject.value, to);
  assert.deepEqual(
    model.view.value?.forest.map(({ entity_id, children }) => [entity_id, children?.length]),
    [["project-1", 1]],
  );
});

test("spans and moments are read as people write them", () => {
  const spans = ["90 s", "2 h 30 min", "1.5d", "500ms", "1w", "", "5", "-1 s", "2 moons", "h", "0 s"];
  assert.deepEqual(spans.map(spanOf), [
    90_000,
    9_000_000,
    129_600_000,
    500,
    604_800_000,
    ...new Array<undefined>(6).fill(undefined),
  ]);
  assert.equal(momentOf("1970-01-02"), 86_400_000);
  assert.equal(momentOf("1970-01-01 00:01"), 60_000);
  assert.equal(momentOf("1970-01-01T00:00:01.5Z"), 1500);
  for (const odd of ["2026-02-31", "soon", "2026-1-1", ""]) assert.equal(momentOf(odd), undefined);
});

/** Ticks that only the test makes. */
class HandTicks implements Ticks {
  at = 0;
  isHidden = false;
  #tick: (() => void) | undefined;
  now(): number {
    return this.at;
  }
  every(_milliseconds: number, what: () => void): () => void {
    this.#tick = what;
    return () => (this.#tick = undefined);
  }
  hidden(): boolean {
    return this.isHidden;
  }
  pass(milliseconds: number): void {
    this.at += milliseconds;
    this.#tick?.();
  }
}

test("a clock that runs makes one step of quiet time, and one of each firing", () => {
  const model = modelOf(LAMP);
  const ticks = new HandTicks();
  const runner = new Runner(model, ticks);
  runner.start();
  assert.equal(runner.running.value, false);
  assert.match(runner.stopped.value ?? "", /No timer/);

  press(model);
  const begin = model.view.value?.now ?? 0;
  const passed = () => (model.view.value?.now ?? 0) - begin;
  runner.speed.value = 10;
  runner.start();
  for (let tick = 0; tick < 20; tick += 1) ticks.pass(250);
  assert.equal(passed(), 50_000);
  assert.equal(model.view.value?.steps.length, 3);
  press(model);
  ticks.pass(250);
  assert.equal(model.view.value?.steps.length, 5);
  ticks.isHidden = true;
  ticks.pass(60_000);
  assert.equal(passed(), 52_500);
  ticks.isHidden = false;
  for (let tick = 0; tick < 40; tick += 1) ticks.pass(250);
  // The second press began the minute anew: it fired at its own time, and nothing is left.
  assert.equal(stateOf(model), "off");
  assert.equal(passed(), 110_000);
  assert.equal(runner.running.value, false);
  assert.match(runner.stopped.value ?? "", /Nothing is left/);
  assert.deepEqual(
    model.view.value?.steps.map(({ op, rows }) => `${op} ${rows.length}`),
    ["create 0", "transition 1", "advance 0", "transition 1", "advance 1"],
  );
  model.undo();
  assert.equal(stateOf(model), "on");
});

/** Two states that go back and forth, each after a millisecond. */
const RESTLESS: JsonDefinition = {
  machine_id: "restless",
  states: ["a", "b"],
  initial_state: "a",
  transitions: [
    { from: "a", to: "b", on: "$timeout", guard: { after_ms: 1 } },
    { from: "b", to: "a", on: "$timeout", guard: { after_ms: 1 } },
  ],
};

test("timers without end stop the clock, not the page", () => {
  const model = modelOf(RESTLESS);
  const ticks = new HandTicks();
  const runner = new Runner(model, ticks);
  const begin = model.view.value?.now ?? 0;
  runner.turnTo(begin + 86_400_000);
  assert.equal(runner.stopped.value, "Stopped after many timers. Step again to go on.");
  assert.equal(model.view.value?.now, begin + 1000);
  assert.equal(model.view.value.steps.length, 2);
  assert.equal(model.view.value.steps[1]?.rows.length, 1000);
  runner.turnTo(begin + 1500);
  assert.equal(runner.stopped.value, undefined);
  assert.equal(model.view.value.now, begin + 1500);
  runner.jump();
  assert.equal(model.view.value.now, begin + 1501);

  runner.speed.value = 86_400;
  runner.start();
  for (let tick = 0; tick < 100; tick += 1) ticks.pass(250);
  assert.equal(runner.stopped.value, "Stopped after 1,000 timers.");
});

test("a scenario that turns the clock past timers is shown, and they fire a pass at a time", () => {
  const model = modelOf(LAMP);
  const create = { op: "create", args: { machine_id: "restless", body: { entity_id: "r" } } };
  const steps = [create, { op: "advance", at: 3_600_000 }];
  const scenario = { statewright: "scenario/1", machines: [], steps } as const;
  assert.equal(model.load({ definitions: [RESTLESS], scenario }), true);
  assert.deepEqual(model.view.value?.events, []);
  const runner = new Runner(model, new HandTicks());
  runner.turnTo(3_600_001);
  assert.equal(runner.stopped.value, "Stopped after many timers. Step again to go on.");
  assert.equal(model.view.value.steps[2]?.rows.length, 64);
});

test("a scenario that fires timers without end is not loaded, nor one with a step that is none", () => {
  const model = modelOf(LAMP);
  const create = { op: "create", args: { machine_id: "restless", body: { entity_id: "r" } } };
  const scenario = (...steps: readonly ScenarioStep[]) => ({
    definitions: [RESTLESS],
    scenario: { statewright: "scenario/1", machines: [], steps } as const,
  });
  const day = { op: "advance", args: { to: 86_400_000 } };
  assert.equal(model.load(scenario(create, day)), false);
  assert.match(String(model.failure.value), /step 2 fires more timers than are played/);
  assert.equal(model.load(scenario(create, { op: "explode" })), false);
  assert.match(String(model.failure.value), /step 2 is none: .*no operation `explode`/);
  assert.deepEqual(model.subject.value, { machine_id: "lamp", entity_id: "lamp-1" });
});

test("a repetition says that it is one", () => {
  const model = modelOf(LAMP);
  const again = () =>
    model.act((session) =>
      session.send("lamp", "lamp-1", { type: "press", params: { force: 5 }, timestamp: 7 }),
    );
  again();
  again();
  assert.match(model.view.value?.steps[2]?.reason ?? "", /duplicate/);
  const other = new Model({ definitions: [LAMP], scenario: model.scenario() });
  assert.match(other.view.value?.steps[2]?.reason ?? "", /duplicate/);
});

test("a step that was refused says why", () => {
  const model = modelOf(LAMP);
  model.act((session) =>
    session.send("lamp", "lamp-1", { type: "press", params: { force: 5 }, expectedVersion: 9 }),
  );
  const refused = model.view.value?.steps[1];
  assert.equal(refused?.status, 409);
  assert.match(refused?.reason ?? "", /version/);
});

test("an undo pauses a clock that runs", () => {
  const model = modelOf(LAMP);
  const ticks = new HandTicks();
  const runner = new Runner(model, ticks);
  press(model);
  runner.start();
  ticks.pass(250);
  model.undo(1);
  ticks.pass(250);
  assert.equal(runner.running.value, false);
  assert.equal(stateOf(model), "off");
});

test("200 states with 600 transitions keep the page free", () => {
  const states = Array.from({ length: 200 }, (_, at) => `s${at}`);
  const transitions = Array.from({ length: 600 }, (_, at) => ({
    from: `s${at % 200}`,
    to: `s${(at * 7 + 1) % 200}`,
    on: `e${at % 50}`,
    guard: { field: `f${at % 20}`, op: "gte", value: at },
  }));
  const model = modelOf({ machine_id: "big", states, initial_state: "s0", transitions });
  for (let at = 0; at < 500; at += 1) {
    model.act((session) => session.send("big", "big-1", { type: `e${at % 50}`, params: { f0: 1000 } }));
  }
  assert.equal(model.view.value?.steps.length, 501);
  assert.equal(model.failure.value, undefined);
});
