// Trees of entities on the real runtime: the reference example from beginning to end, across a restart, and many
// callers at once, of whom exactly one may have its way (I1 to I6, R9, R11, M9).

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { type Answer, open, refused, serve, type Service } from "./support.ts";

/** What the tests look at of an entity that was read with `tree=true`. */
interface Tree {
  machine_id: string;
  entity_id: string;
  current_state: string | Record<string, string>;
  state_version: number;
  region_entries: Record<string, { state: string; seq: number; due_at?: number }>;
  instance?: { status: string; depth: number; path: object[]; started: number; ended?: number };
  parent?: { region: string; state: string; seq: number };
  children: Tree[];
}

/** What the tests look at of a history row. */
interface Row {
  id: number;
  event_type: string;
  from_state: string;
  to_state: string;
  identity_key: string;
  timestamp: number;
  created_at: number;
  cause: { via?: string; child?: { machine_id: string; entity_id: string } };
}

interface Step {
  region?: string;
  state: string;
  seq?: number;
}

const service = await serve();
let clock = 1000;

/** A time that no event had before: each is an event of its own. */
const tick = (): number => (clock += 1);

function later(millis: number): Promise<void> {
  return new Promise((wait) => setTimeout(wait, Math.max(0, millis)));
}

function path(machine: string, entity: string): string {
  return `/api/machines/${machine}/entities/${encodeURIComponent(entity)}`;
}

/** Sends an event to an entity, or to a child of it. */
function send(
  at: Service,
  machine: string,
  id: string,
  event_type: string,
  target?: Step[],
  timestamp = tick(),
): Promise<Answer> {
  const body = { event_type, entity_key: "id", params: { id }, timestamp, dispatch: false };
  return at.call("POST", `/api/machines/${machine}/evaluate`, {
    body: target === undefined ? body : { ...body, target },
  });
}

/** Sends an event that must move something. */
async function moves(...[at, ...event]: Parameters<typeof send>): Promise<Answer["body"]> {
  const answer = await send(at, ...event);
  assert.equal(answer.status, 200, answer.text);
  assert.notEqual(answer.body.transition, null, answer.text);
  return answer.body;
}

function moved(answer: Answer): boolean {
  return answer.status === 200 && answer.body.transition !== null;
}

function treeOf(at: Service, machine: string, entity: string): Promise<Tree> {
  return at.expect(200, "GET", `${path(machine, entity)}?tree=true`) as Promise<Tree>;
}

function historyOf(at: Service, machine: string, entity: string): Promise<Row[]> {
  return at.expect(200, "GET", `${path(machine, entity)}/history?order=id`) as Promise<Row[]>;
}

/** Starts all at the same time, in an order that changes from round to round. */
function race(round: number, ...racers: (() => Promise<Answer>)[]): Promise<Answer[]> {
  const answers: Promise<Answer>[] = Array.from({ length: racers.length });
  for (let index = 0; index < racers.length; index += 1) {
    const at = (index + round) % racers.length;
    answers[at] = racers[at]!();
  }
  return Promise.all(answers);
}

/** That a tree agrees with itself and with its histories (I2, I3, I5, I8); gives all of it, the root first. */
async function sound(at: Service, tree: Tree, parent?: Tree): Promise<Tree[]> {
  const told = JSON.stringify(tree);
  const rows = await historyOf(at, tree.machine_id, tree.entity_id);
  const keys = rows.map((row) => row.identity_key);
  assert.equal(new Set(keys).size, keys.length, told);
  if (tree.instance !== undefined && parent !== undefined && tree.parent !== undefined) {
    const { status, ended } = tree.instance;
    const { region, state, seq } = tree.parent;
    const entry = parent.region_entries[region];
    const lives = parent.instance === undefined || parent.instance.status === "active";
    // A managed child lives exactly as long as the entry of its parent.
    assert.equal(status === "active", lives && entry?.state === state && entry.seq === seq, told);
    assert.equal(ended === undefined, status === "active", told);
    const cancels = rows.filter((row) => row.event_type === "$sub_cancel").length;
    const wakes = rows.filter((row) => row.event_type === "$sub_resume").length;
    const completions = (await historyOf(at, parent.machine_id, parent.entity_id)).filter(
      (row) => row.event_type === "$sub_complete" && row.cause.child?.entity_id === tree.entity_id,
    );
    assert.equal(completions.length, status === "completed" ? 1 : 0, told);
    assert.equal(cancels, wakes + (status === "cancelled" ? 1 : 0), told);
    if (status === "cancelled") assert.equal(rows.at(-1)?.event_type, "$sub_cancel", told);
  }
  const below: Tree[] = [];
  for (const child of tree.children) below.push(...(await sound(at, child, tree)));
  return [tree, ...below];
}

async function whole(machine: string, entity: string): Promise<Tree[]> {
  return sound(service, await treeOf(service, machine, entity));
}

const settle = {
  machine_id: "settle",
  states: ["observing", "settled"],
  initial_state: "observing",
  transitions: [{ from: "observing", to: "settled", on: "return.buyer.observed" }],
};

const DEADLINE = 3_600_000;

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
    { region: "case", from: "opened", to: "settling", on: "decision.approve" },
    { region: "case", from: "opened", to: "kept", on: "decision.keep" },
    { region: "deadline", from: "open", to: "closed", on: "$timeout", guard: { after_ms: DEADLINE } },
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

const work = {
  machine_id: "work",
  states: ["a", "b", "fin"],
  initial_state: "a",
  transitions: [
    { from: "a", to: "b", on: "step" },
    { from: "b", to: "a", on: "step" },
    { from: "a", to: "fin", on: "finish" },
    { from: "b", to: "fin", on: "finish" },
  ],
};

const job = {
  machine_id: "job",
  states: ["idle", "busy", "done", "stopped"],
  initial_state: "idle",
  transitions: [
    { from: "idle", to: "busy", on: "go" },
    { from: "busy", to: "stopped", on: "cancel" },
  ],
  sub_machines: { busy: { machine_id: "work", lifecycle: "managed", on_final: { fin: "done" } } },
};

for (const definition of [settle, returnCase, bundle, work, job]) await service.register(definition);

/** The Worker with a clock that a request can put forward. */
const AROUND = `
import Worker from "./statewright.js";
const real = Date.now;
let ahead = 0;
Date.now = () => real() + ahead;
export default {
  fetch(request, env, context) {
    const { pathname, search } = new URL(request.url);
    if (pathname !== "/test/ahead") return new Worker(context, env).fetch(request);
    ahead = Number(search.slice(1));
    return new Response("");
  },
  scheduled(event, env, context) {
    return new Worker(context, env).scheduled(event);
  },
};`;

test("S2.230: the reference example, with a restart in the middle of it and a timer to its end", async () => {
  const data = mkdtempSync(join(tmpdir(), "statewright-children-"));
  const returning = "run-7::sub::ret_b1";
  const settling = `${returning}::sub::settling`;
  try {
    let at = await open({ data, around: AROUND });
    for (const definition of [settle, returnCase, bundle]) await at.register(definition);
    const opened = await moves(at, "bundle", "run-7", "bundle.open");
    assert.equal(opened.transition, "b1: idle → ret_b1");
    assert.equal(opened.instances.length, 1);
    assert.equal(opened.instances[0].entity_id, returning);
    assert.deepEqual(opened.instances[0].parent, {
      machine_id: "bundle",
      entity_id: "run-7",
      region: "b1",
      state: "ret_b1",
      seq: 2,
    });
    const approved = await moves(at, "bundle", "run-7", "decision.approve", [
      { region: "b1", state: "ret_b1" },
    ]);
    assert.deepEqual(approved.target, { machine_id: "return_case", entity_id: returning, depth: 1 });
    assert.deepEqual(
      approved.instances.map((life: { kind: string; entity_id: string }) => [life.kind, life.entity_id]),
      [["started", settling]],
    );
    await at.runtime.stop();

    at = await open({ data, around: AROUND });
    // Each event that the tree can take says where it is to be sent.
    const events = await at.expect(200, "GET", `${path("bundle", "run-7")}/events`);
    const observed = events.find(
      (event: { event_type: string }) => event.event_type === "return.buyer.observed",
    );
    assert.deepEqual(observed.target, [
      { region: "b1", state: "ret_b1", seq: 2 },
      { region: "case", state: "settling", seq: 3 },
    ]);
    const asked = await at.expect(200, "POST", `${path("bundle", "run-7")}/explain`, {
      body: { event_type: "return.buyer.observed", params: {} },
    });
    assert.equal(asked.would, "no_transition");
    assert.deepEqual(asked.elsewhere, [
      {
        machine_id: "settle",
        entity_id: settling,
        target: observed.target,
        transition: "observing → settled",
      },
    ]);
    const there = await at.expect(200, "POST", `${path("bundle", "run-7")}/explain`, {
      body: { event_type: "return.buyer.observed", params: {}, target: observed.target },
    });
    assert.deepEqual([there.would, there.entity_id], ["transition", settling]);

    const stamp = tick();
    const settled = await moves(at, "bundle", "run-7", "return.buyer.observed", observed.target, stamp);
    assert.deepEqual(settled, {
      entity_id: settling,
      previous_state: "observing",
      current_state: "settled",
      transition: "observing → settled",
      triggered_by: "return.buyer.observed",
      timestamp: stamp,
      target: { machine_id: "settle", entity_id: settling, depth: 2 },
      instances: [
        {
          kind: "completed",
          machine_id: "settle",
          entity_id: settling,
          depth: 2,
          parent: {
            machine_id: "return_case",
            entity_id: returning,
            region: "case",
            state: "settling",
            seq: 3,
          },
          row: 3,
          key: `["evt","return.buyer.observed",${stamp}]`,
          parent_to: "returned",
          parent_row: 4,
          parent_key: '["sub","case","settling",3]',
        },
      ],
      state_version: 2,
    });
    const live = await treeOf(at, "bundle", "run-7");
    assert.equal(live.children[0]?.instance?.status, "active");
    refused(await at.call("DELETE", path("return_case", returning)), 409, "INSTANCE_ACTIVE");
    const due = live.children[0]?.region_entries["deadline"]?.due_at ?? 0;
    assert.equal(due, (live.children[0]?.instance?.started ?? 0) + DEADLINE);
    await at.call("GET", `/test/ahead?${DEADLINE}`);
    // Two scanners: the deadline ends the case, and with it the bundle's region, once.
    await Promise.all([at.runtime.scheduled(), at.runtime.scheduled()]);
    const tree = await treeOf(at, "bundle", "run-7");
    assert.deepEqual(tree.current_state, { b1: "returned" });
    assert.equal(tree.state_version, 3);
    const all = await sound(at, tree);
    assert.deepEqual(
      all.map((entity) => [entity.entity_id, entity.instance?.status, entity.instance?.depth]),
      [
        ["run-7", undefined, undefined],
        [returning, "completed", 1],
        [settling, "completed", 2],
      ],
    );
    const [, last] = await historyOf(at, "bundle", "run-7");
    assert.equal(last?.event_type, "$sub_complete");
    assert.equal(last?.timestamp, due, "the due time, not the scanner's (R5)");
    assert.deepEqual(last?.cause.child, { machine_id: "return_case", entity_id: returning });

    // What has ended takes no event, and knows what it took.
    const replay = await send(at, "bundle", "run-7", "return.buyer.observed", observed.target, stamp);
    assert.equal(replay.status, 200, replay.text);
    assert.match(replay.body.reason, /^duplicate/);
    refused(
      await send(at, "bundle", "run-7", "return.buyer.observed", observed.target),
      409,
      "TARGET_NOT_ACTIVE",
    );
    refused(await send(at, "settle", settling, "return.buyer.observed"), 409, "INSTANCE_NOT_ACTIVE");
    refused(await at.call("DELETE", "/api/machines/settle"), 409, "CONFLICT", true);
    await at.expect(204, "DELETE", path("bundle", "run-7"));
    for (const [machine, id] of [
      ["bundle", "run-7"],
      ["return_case", returning],
      ["settle", settling],
    ] as const) {
      refused(await at.call("GET", path(machine, id)), 404, "NOT_FOUND");
    }
    await at.runtime.stop();
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
});

test("tree is true or false; without it an entity has no children", async () => {
  await moves(service, "bundle", "b", "bundle.open");
  const route = path("bundle", "b");
  const tree = await treeOf(service, "bundle", "b");
  assert.equal(tree.children.length, 1);
  assert.deepEqual(tree.children[0]?.parent, { region: "b1", state: "ret_b1", seq: 2 });
  assert.deepEqual(tree.children[0]?.children, []);
  for (const query of ["", "?tree=false"]) {
    const entity = await service.expect(200, "GET", `${route}${query}`);
    assert.ok(!("children" in entity) && !("parent" in entity), JSON.stringify(entity));
  }
  const beside = await service.expect(200, "GET", `${path("return_case", "b::sub::ret_b1")}?tree=true`);
  assert.ok(!("parent" in beside), "of the one that is asked for, `instance` says it");
  assert.deepEqual(beside.instance.path, [
    { machine_id: "bundle", entity_id: "b", region: "b1", state: "ret_b1", seq: 2 },
  ]);
  for (const query of ["?tree=", "?tree=1", "?tree=TRUE", "?tree=true&tree=false"])
    refused(await service.call("GET", `${route}${query}`), 400, "BAD_REQUEST");
});

test("S2.49: validate looks at the machines of the tenant that is named", async () => {
  const parent = {
    machine_id: "looks",
    states: ["in"],
    initial_state: "in",
    sub_machines: {
      in: {
        machine_id: "return_case",
        lifecycle: "managed",
        complete_when: [{ when: { case: "kept" }, target: "in" }],
      },
    },
    transitions: [],
  };
  const validate = (tenant: string | null) =>
    service.expect(200, "POST", "/api/machines/validate", { body: parent, tenant });
  const found = await validate("t1");
  assert.equal(found.valid, false, "the rule does not name every region of the child");
  assert.equal((await validate("another")).valid, true, "it has no such machine yet");
  assert.equal((await validate(null)).valid, true, "nobody's machines are looked at");
});

test("ids of children are longer than those that a caller gives", async () => {
  const id = "x".repeat(256);
  await moves(service, "bundle", id, "bundle.open");
  const child = `${id}::sub::ret_b1`;
  assert.equal((await service.expect(200, "GET", path("return_case", child))).entity_id, child);
  refused(await service.call("GET", path("return_case", "x".repeat(257))), 400, "BAD_REQUEST");
  const made = `${"x".repeat(252)}::sub::a`;
  const body = { entity_id: made };
  refused(await service.call("POST", "/api/machines/settle/entities", { body }), 400, "BAD_REQUEST");
  refused(await send(service, "settle", made, "return.buyer.observed"), 400, "BAD_REQUEST");
});

const ROUNDS = 25;
const BUSY: Step[] = [{ state: "busy" }];

test("an event against the cancel of its child: one of them ends it", async () => {
  let finished = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = `cancel-${round}`;
    const child = `${id}::sub::busy`;
    await moves(service, "job", id, "go");
    const answers = await race(
      round,
      () => send(service, "job", id, "finish", BUSY),
      () => send(service, "job", id, "cancel"),
      () => send(service, "job", id, "step", BUSY),
      () => send(service, "work", child, "step"),
      () => send(service, "job", id, "cancel", []),
      () => send(service, "job", id, "finish", BUSY),
    );
    const told = JSON.stringify(answers.map((answer) => answer.body));
    const ends = [0, 1, 4, 5].filter((index) => moved(answers[index]!));
    assert.equal(ends.length, 1, told);
    const completed = ends[0] === 0 || ends[0] === 5;
    if (completed) finished += 1;
    for (const [index, answer] of answers.entries()) {
      if (moved(answer)) continue;
      if (index === 1 || index === 4) assert.equal(answer.status, 200, told);
      else refused(answer, 409, index === 3 ? "INSTANCE_NOT_ACTIVE" : "TARGET_NOT_ACTIVE");
    }
    const [root, only, ...others] = await whole("job", id);
    assert.equal(others.length, 0);
    assert.equal(root?.current_state, completed ? "done" : "stopped", told);
    assert.equal(only?.instance?.status, completed ? "completed" : "cancelled", told);
    assert.deepEqual(
      (await historyOf(service, "job", id)).map((row) => row.event_type),
      ["go", completed ? "$sub_complete" : "cancel"],
    );
    assert.equal(root?.state_version, 3);
    const steps = [2, 3].filter((index) => moved(answers[index]!)).map(() => "step");
    assert.deepEqual(
      (await historyOf(service, "work", child)).map((row) => row.event_type),
      [...steps, completed ? "finish" : "$sub_cancel"],
      told,
    );
    assert.equal(only?.state_version, 2 + steps.length, told);
  }
  console.log(`# the child finished in ${finished} of ${ROUNDS} races, and was cancelled in the others`);
});

test("I5: an event against the timer of its child: one of them ends it", async () => {
  const delay = 60;
  await service.register({
    machine_id: "fuse",
    states: ["lit", "out", "burnt"],
    initial_state: "lit",
    transitions: [
      { from: "lit", to: "out", on: "blow" },
      { from: "lit", to: "burnt", on: "$timeout", guard: { after_ms: delay } },
    ],
  });
  await service.register({
    machine_id: "cracker",
    states: ["idle", "lit", "safe", "gone"],
    initial_state: "idle",
    transitions: [{ from: "idle", to: "lit", on: "light" }],
    sub_machines: {
      lit: { machine_id: "fuse", lifecycle: "managed", on_final: { out: "safe", burnt: "gone" } },
    },
  });
  const lit: Step[] = [{ state: "lit", seq: 2 }];
  let blown = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = `fuse-${round}`;
    const child = `${id}::sub::lit`;
    await moves(service, "cracker", id, "light");
    const entity = await service.expect(200, "GET", path("fuse", child));
    const due = entity.region_entries._.due_at as number;
    assert.equal(due, entity.instance.started + delay);
    await later(due - Date.now() - 3 * (round % 6));
    const passes = [0, 2, 4].map(async (wait) => {
      await later(wait);
      await service.runtime.scheduled();
    });
    const answers = await race(
      round,
      () => send(service, "cracker", id, "blow", lit),
      () => send(service, "fuse", child, "blow"),
      () => send(service, "cracker", id, "blow", lit),
    );
    await Promise.all(passes);
    await later(due + 1 - Date.now());
    await service.runtime.scheduled();
    const told = JSON.stringify(answers.map((answer) => answer.body));
    const winners = answers.filter(moved).length;
    assert.ok(winners <= 1, told);
    blown += winners;
    for (const [index, answer] of answers.entries()) {
      if (!moved(answer)) refused(answer, 409, index === 1 ? "INSTANCE_NOT_ACTIVE" : "TARGET_NOT_ACTIVE");
    }
    const [root, fuse] = await whole("cracker", id);
    assert.equal(root?.current_state, winners === 1 ? "safe" : "gone", told);
    assert.deepEqual([root?.state_version, fuse?.state_version], [3, 2], told);
    assert.equal(fuse?.instance?.status, "completed");
    const rows = await historyOf(service, "fuse", child);
    assert.deepEqual(
      rows.map((row) => row.event_type),
      [winners === 1 ? "blow" : "$timeout"],
    );
    if (winners === 0) {
      const [, advance] = await historyOf(service, "cracker", id);
      assert.deepEqual([rows[0]?.timestamp, advance?.timestamp], [due, due], "the due time (R5)");
    }
  }
  console.log(`# the event won ${blown} of ${ROUNDS} races, the timer the others`);
});

test("two siblings that complete at the same time: their join fires once", async () => {
  const side = (id: string) => ({
    id,
    states: [`${id}_busy`, "done"],
    initial_state: `${id}_busy`,
    sub_machines: { [`${id}_busy`]: { machine_id: "work", lifecycle: "managed", on_final: { fin: "done" } } },
  });
  await service.register({
    machine_id: "pair",
    regions: [side("l"), side("r"), { id: "all", states: ["no", "yes"], initial_state: "no" }],
    transitions: [],
    joins: [{ when: { l: "done", r: "done" }, target_region: "all", target_state: "yes" }],
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = `pair-${round}`;
    await service.expect(201, "POST", "/api/machines/pair/entities", { body: { entity_id: id } });
    const finish = (region: string) => () =>
      send(service, "pair", id, "finish", [{ region, state: `${region}_busy` }]);
    const answers = await race(round, finish("l"), finish("r"), finish("l"), finish("r"));
    const told = JSON.stringify(answers.map((answer) => answer.body));
    for (const side of [[0, 2] as const, [1, 3] as const]) {
      assert.equal(side.filter((index) => moved(answers[index]!)).length, 1, told);
    }
    for (const answer of answers) if (!moved(answer)) refused(answer, 409, "TARGET_NOT_ACTIVE");
    assert.equal(answers.filter((answer) => answer.body.joins_fired !== undefined).length, 1, told);
    const [root, ...children] = await whole("pair", id);
    assert.deepEqual(root?.current_state, { l: "done", r: "done", all: "yes" });
    assert.equal(root?.state_version, 3, told);
    assert.deepEqual(
      children.map((child) => [child.instance?.status, child.state_version]),
      [
        ["completed", 2],
        ["completed", 2],
      ],
    );
    assert.deepEqual(
      (await historyOf(service, "pair", id)).map((row) => row.event_type),
      ["$sub_complete", "$sub_complete", "$join"],
    );
  }
});

/** What is left in the database of an entity and what hung below it, and of what is gone altogether. */
async function left(id: string): Promise<{ own: number; lost: number }> {
  const count = async (from: string, ...params: string[]) =>
    Number((await service.runtime.sql(`SELECT count(*) AS n FROM ${from}`, ...params))[0]?.["n"]);
  let own = 0;
  for (const table of ["entities", "entries", "instances"])
    own += await count(`${table} WHERE entity_id = ?1 OR entity_id GLOB ?2`, id, `${id}::sub::*`);
  let lost = 0;
  for (const [table, column] of [
    ["history", "uid"],
    ["forwards", "uid"],
    ["instances", "parent_uid"],
    ["instances", "root_uid"],
  ] as const)
    lost += await count(`${table} WHERE ${column} NOT IN (SELECT uid FROM entities)`);
  return { own, lost };
}

test("the start of a child against the deletion of its root: no child is left behind", async () => {
  let first = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = `gone-${round}`;
    await service.expect(201, "POST", "/api/machines/job/entities", { body: { entity_id: id } });
    // Only `evaluate` makes an entity that is missing.
    const remakes = round % 2 === 1;
    const go = () =>
      remakes
        ? send(service, "job", id, "go")
        : service.call("POST", `${path("job", id)}/transition`, {
            body: { event_type: "go", params: {}, timestamp: tick() },
          });
    // Now before the start, now in the middle of it.
    const remove = async () => {
      await later(round % 7);
      return service.call("DELETE", path("job", id));
    };
    const [one, two, deleted, again] = (await race(round, go, go, remove, remove)) as [
      Answer,
      Answer,
      Answer,
      Answer,
    ];
    const told = JSON.stringify([one, two, deleted, again].map((answer) => [answer.status, answer.text]));
    if (remakes) {
      for (const answer of [one, two]) assert.ok([200, 409].includes(answer.status), told);
    } else {
      // Both may have found it; it is deleted once all the same.
      const statuses = [deleted.status, again.status].sort();
      assert.ok(statuses[0] === 204 && [204, 404].includes(statuses[1] ?? 0), told);
      const going = [one, two].filter(moved);
      assert.ok(going.length <= 1, told);
      first += going.length;
      for (const answer of [one, two]) {
        if (answer.status === 200) continue;
        // Deleted before it was read, or between the reading and the writing.
        assert.ok(answer.status === 404 || answer.body.error.code === "CONFLICT", told);
      }
    }
    const found = await service.call("GET", `${path("job", id)}?tree=true`);
    const { own, lost } = await left(id);
    assert.equal(lost, 0, told);
    if (found.status === 200) {
      assert.ok(remakes, told);
      // Made after the deletion: with a history of its own alone.
      const [root, child, ...others] = await sound(service, found.body as Tree);
      assert.deepEqual(
        [root?.current_state, child?.instance?.status, others.length],
        ["busy", "active", 0],
        told,
      );
      assert.equal(root?.state_version, 2, told);
      assert.equal((await historyOf(service, "job", id)).length, 1, told);
    } else {
      refused(found, 404, "NOT_FOUND");
      refused(await service.call("GET", path("work", `${id}::sub::busy`)), 404, "NOT_FOUND");
      assert.equal(own, 0, told);
    }
  }
  console.log(`# the start came before the deletion in ${first} of ${Math.ceil(ROUNDS / 2)} races`);
});

/** A job that goes back and forth, so that its child's state is entered again. */
const turning = (machine_id: string, reentry?: string) => ({
  machine_id,
  states: ["idle", "busy"],
  initial_state: "idle",
  transitions: [
    { from: "idle", to: "busy", on: "go" },
    { from: "busy", to: "idle", on: "stop" },
    { from: "idle", to: "busy", on: "flip" },
    { from: "busy", to: "idle", on: "flip" },
  ],
  sub_machines: {
    busy: {
      machine_id: "work",
      lifecycle: "managed",
      on_final: { fin: "idle" },
      ...(reentry === undefined ? {} : { reentry }),
    },
  },
});

test("M9: two fresh re-entries at the same time: one child is made", async () => {
  await service.register(turning("fresh", "fresh"));
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = `fresh-${round}`;
    await moves(service, "fresh", id, "go");
    await moves(service, "fresh", id, "stop");
    const go = () => send(service, "fresh", id, "go");
    const answers = await race(round, go, go, go, go);
    const told = JSON.stringify(answers.map((answer) => answer.body));
    for (const answer of answers) assert.equal(answer.status, 200, told);
    const [winner, ...others] = answers.filter(moved);
    assert.equal(others.length, 0, told);
    assert.deepEqual(
      winner?.body.instances.map((life: { kind: string; entity_id: string }) => [life.kind, life.entity_id]),
      [["started", `${id}::sub::busy::4`]],
    );
    const [root, ...children] = await whole("fresh", id);
    assert.equal(root?.state_version, 4);
    assert.deepEqual(
      children.map((child) => [child.entity_id, child.instance?.status, child.state_version]),
      [
        [`${id}::sub::busy`, "cancelled", 2],
        [`${id}::sub::busy::4`, "active", 1],
      ],
    );
  }
});

test("M9: many that leave and enter a state at the same time: each visit has its child", async () => {
  await service.register(turning("wakes", "resume"));
  await service.register(turning("refuses"));
  const flips = 8;
  for (let round = 0; round < 8; round += 1) {
    for (const machine of ["fresh", "wakes", "refuses"]) {
      // The children are all of one machine, which has one entity of an id.
      const id = `${machine}-flips-${round}`;
      const flip = () => send(service, machine, id, "flip");
      const answers = await race(round, ...Array.from({ length: flips }, () => flip));
      const told = JSON.stringify(answers.map((answer) => answer.body));
      const [root, ...children] = await whole(machine, id);
      const child = `${id}::sub::busy`;
      if (machine === "refuses") {
        // In, out, and never in again.
        assert.equal(answers.filter(moved).length, 2, told);
        for (const answer of answers) if (!moved(answer)) refused(answer, 409, "INSTANCE_CONFLICT");
        assert.deepEqual([root?.current_state, root?.state_version], ["idle", 3]);
        assert.deepEqual([children.length, children[0]?.instance?.status], [1, "cancelled"]);
        continue;
      }
      for (const answer of answers) assert.ok(moved(answer), told);
      assert.deepEqual([root?.current_state, root?.state_version], ["idle", flips + 1]);
      for (const one of children) assert.equal(one.instance?.status, "cancelled", told);
      if (machine === "fresh") {
        assert.deepEqual(
          children.map((one) => one.entity_id),
          [child, ...[4, 6, 8].map((seq) => `${child}::${seq}`)],
        );
      } else {
        assert.deepEqual(
          children.map((one) => [one.entity_id, one.state_version]),
          [[child, flips]],
        );
        assert.deepEqual(
          (await historyOf(service, "work", child)).map((row) => row.event_type),
          Array.from({ length: flips - 1 }, (_, at) => (at % 2 === 0 ? "$sub_cancel" : "$sub_resume")),
        );
      }
    }
  }
});

test("batches and single events of one tree at the same time lose nothing", async () => {
  const id = "mixed";
  await moves(service, "job", id, "go");
  const steps = 12;
  const event = () => ({
    event_type: "step",
    entity_key: "id",
    params: { id },
    timestamp: tick(),
    target: BUSY,
  });
  const batch = () =>
    service.call("POST", "/api/machines/job/evaluate/batch", {
      body: { events: Array.from({ length: steps }, event) },
    });
  const single = () => service.call("POST", "/api/machines/job/evaluate", { body: event() });
  const answers = await race(0, batch, single, batch, single, single);
  for (const answer of answers) {
    assert.equal(answer.status, 200, answer.text);
    if (answer.body.results === undefined) assert.ok(moved(answer), answer.text);
    else assert.deepEqual([answer.body.succeeded, answer.body.failed], [steps, 0], answer.text);
  }
  const [root, child] = await whole("job", id);
  const total = 2 * steps + 3;
  assert.deepEqual([root?.state_version, child?.state_version], [2, total + 1]);
  const rows = await historyOf(service, "work", `${id}::sub::busy`);
  assert.equal(rows.length, total);
  rows.forEach((row, index) => assert.equal(row.from_state, index % 2 === 0 ? "a" : "b"));
});
