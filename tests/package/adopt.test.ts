// An entity of a service in a simulation: read over HTTP with its tree and its history, it goes on there as it does in the service.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { type AnyMachine, defineMachine, simulate, type Simulation, StatewrightError } from "statewright";
import { type Client, createClient, type HistoryRow } from "statewright/client";
import { createEngine, memory } from "statewright/engine";

import { KEY, serve } from "../http/support.ts";

const settle = defineMachine({
  machine_id: "settle",
  states: ["observing", "settled"],
  initial_state: "observing",
  transitions: [{ from: "observing", to: "settled", on: "observed" }],
});
const returnCase = defineMachine(
  {
    machine_id: "return_case",
    regions: [
      {
        id: "case",
        states: ["opened", "settling", "returned"],
        initial_state: "opened",
        sub_machines: {
          settling: { machine_id: "settle", lifecycle: "managed", on_final: { settled: "returned" } },
        },
      },
      { id: "deadline", states: ["open", "closed"], initial_state: "open" },
    ],
    transitions: [
      { region: "case", from: "opened", to: "settling", on: "approve" },
      { region: "deadline", from: "open", to: "closed", on: "close" },
      {
        region: "deadline",
        from: "open",
        to: "closed",
        on: "$timeout",
        guard: { timeout_seconds: 86_400 },
      },
    ],
  },
  { machines: [settle] },
);
const bundle = defineMachine(
  {
    machine_id: "bundle",
    regions: [
      {
        id: "b1",
        states: ["idle", "ret", "returned", "held"],
        initial_state: "idle",
        sub_machines: {
          ret: {
            machine_id: "return_case",
            lifecycle: "managed",
            reentry: "resume",
            complete_when: [{ when: { case: "returned", deadline: "closed" }, target: "returned" }],
          },
        },
      },
      { id: "b2", states: ["open", "sent"], initial_state: "open" },
      { id: "all", states: ["waiting", "done"], initial_state: "waiting" },
    ],
    transitions: [
      { region: "b1", from: "idle", to: "ret", on: "open" },
      { region: "b1", from: "ret", to: "held", on: "hold" },
      { region: "b1", from: "held", to: "ret", on: "go_on" },
      { region: "b2", from: "open", to: "sent", on: "send", guard: { field: "weight", op: "gt", value: 0 } },
    ],
    joins: [{ when: { b1: "returned", b2: "sent" }, target_region: "all", target_state: "done" }],
  },
  { machines: [returnCase] },
);
const MACHINES = [settle, returnCase, bundle];
const NAME = ["bundle", "run-7"] as const;

const CASE = [{ region: "b1", state: "ret" }];
const SETTLE = [...CASE, { region: "case", state: "settling" }];
type Sent = { event_type: string; target?: typeof CASE; params?: Record<string, unknown> };

/** What is sent before the entity is read, and what after. */
const BEFORE: readonly Sent[] = [
  { event_type: "send", params: { weight: 2 } },
  { event_type: "open" },
  { event_type: "approve", target: CASE },
  { event_type: "hold" },
];
const AFTER: readonly Sent[] = [
  { event_type: "observed", target: SETTLE },
  { event_type: "send", params: { weight: 2 } },
  { event_type: "go_on" },
  { event_type: "observed", target: SETTLE },
  { event_type: "close", target: CASE },
];
const TIMES = ["created_at", "updated_at", "entered_at", "due_at", "started", "ended", "at"];
const ROWS = ["id", "row", "parent_row"];

/** Without what is another's business: the numbers of rows, revisions, and, of the real clock, the times. */
function plain(value: unknown, without: readonly string[]): unknown {
  const text = JSON.stringify(value, (key, part: unknown) => (without.includes(key) ? undefined : part));
  return JSON.parse(text) as unknown;
}

async function answerOf(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    assert.ok(error instanceof StatewrightError, String(error));
    return { code: error.code, message: error.message };
  }
}

type Entities = Client["entities"];

/** All rows of all entities of a tree. */
async function historyOf(
  entities: Entities,
  tree: Awaited<ReturnType<Entities["get"]>>,
): Promise<HistoryRow[]> {
  const rows: HistoryRow[] = [];
  for await (const row of entities.history(tree.machine_id, tree.entity_id, { limit: 2 })) rows.push(row);
  for (const child of tree.children ?? []) rows.push(...(await historyOf(entities, child)));
  return rows;
}

/** Makes an entity in a service and takes it into a simulation: what both do with the next events is the same. */
async function agree(
  service: Pick<Client, "entities" | "machines">,
  clock: () => number,
  without: readonly string[],
): Promise<{ session: Simulation<typeof MACHINES>; compare: () => Promise<void> }> {
  const { entities, machines } = service;
  for (const { definition } of MACHINES) await machines.create(definition);
  await entities.create(NAME[0], { entity_id: NAME[1] });
  let timestamp = clock();
  const first = timestamp;
  for (const event of BEFORE) await entities.transition(...NAME, { ...event, timestamp: (timestamp += 1) });
  const tree = await entities.get(...NAME, { tree: true });
  const history = await historyOf(entities, tree);

  const session = simulate(MACHINES, { now: first, tenant: tree.tenant_id });
  session.adopt(tree, { history, at: Math.max(clock(), first) });
  const compare = async () => {
    const there = await entities.get(...NAME, { tree: true });
    assert.deepEqual(plain(session.tree(...NAME), without), plain(there, without));
    const rows = await historyOf(entities, there);
    const here = rows.map(({ machine_id, entity_id }) => `${machine_id} ${entity_id}`);
    const own = [...new Set(here)].flatMap((name) => {
      const [machine = "", entity = ""] = name.split(" ");
      return session.history(machine as "bundle", entity);
    });
    assert.deepEqual(plain(own, without), plain(rows, without));
    assert.deepEqual(plain(session.events(...NAME), without), plain(await entities.events(...NAME), without));
  };
  await compare();
  // What was sent before is found again, and so is that it was sent with other params.
  const again = { event_type: "send", timestamp: first + 1 };
  for (const params of [{ weight: 2 }, { weight: 3 }]) {
    const replay = { ...again, params };
    const there = await answerOf(() => entities.transition(...NAME, replay));
    const { event_type: type, ...rest } = replay;
    assert.deepEqual(
      plain(await answerOf(() => session.send(...NAME, { type: type as "send", ...rest })), without),
      plain(there, without),
    );
  }
  for (const { event_type, ...event } of AFTER) {
    const sent = { ...event, timestamp: (timestamp += 1) };
    const there = await answerOf(() => entities.transition(...NAME, { event_type, ...sent }));
    const when = { at: Math.max(clock(), session.now) };
    const here = await answerOf(() => session.send(...NAME, { type: event_type as "open", ...sent }, when));
    assert.deepEqual(plain(here, without), plain(there, without), event_type);
    await compare();
  }
  return { session, compare };
}

test("an entity of the Worker goes on in a simulation as it does there", async () => {
  const service = await serve();
  const client = createClient({ url: service.runtime.url, apiKey: KEY, tenant: "fork" });
  const { session } = await agree(client, Date.now, [...ROWS, ...TIMES]);
  assert.deepEqual(session.entity(...NAME).current_state, { all: "done", b1: "returned", b2: "sent" });
});

test("so does one of an engine, with its times and its timers", async () => {
  let now = 1_800_000_000_000;
  const engine = await createEngine({ database: memory(), log: () => undefined, clock: () => now });
  after(() => engine.close());
  const { compare, session } = await agree(engine, () => now, ROWS);
  const [machine, other] = [NAME[0], "run-8"];
  await engine.entities.create(machine, { entity_id: other });
  for (const event_type of ["open", "hold", "go_on"])
    await engine.entities.transition(machine, other, { event_type });
  now += 90_000_000;
  const tree = await engine.entities.get(machine, other, { tree: true });
  session.adopt(tree, { history: await historyOf(engine.entities, tree), at: now });
  assert.equal(session.due()?.at, now - 90_000_000 + 86_400_000);
  // Overdue in both, and applied in both before the next event.
  const event = { event_type: "approve", target: CASE };
  const there = await engine.entities.transition(machine, other, event);
  const here = session.send(machine, other, { type: "approve" as "open", target: CASE });
  assert.deepEqual(plain(here, ROWS), plain(there, ROWS));
  assert.equal(here.timeouts_fired, 1);
  await compare();
});

test("adopting is a step: undone, redone, and played again; what is refused changes nothing", async () => {
  const source = simulate(MACHINES, { now: 1000 });
  source.create(...NAME);
  source.send(...NAME, "open");
  const tree = source.tree(...NAME);
  const history = [...source.history(...NAME), ...source.history("return_case", "run-7::sub::ret")];
  const session = simulate(MACHINES);
  session.adopt(tree, { history });
  assert.equal(session.now, 1000);
  session.send(...NAME, "hold");
  const scenario = session.export();
  assert.deepEqual(
    scenario.steps.map(({ op }) => op),
    ["adopt", "transition"],
  );
  session.undo(0);
  assert.deepEqual([session.now, session.entities()], [0, []]);
  session.redo(2);
  const played = simulate<AnyMachine[]>([]);
  played.import(JSON.parse(JSON.stringify(scenario)) as typeof scenario);
  assert.deepEqual(played.tree(...NAME), session.tree(...NAME));

  const refused = await answerOf(() => session.adopt(tree));
  assert.equal((refused as { code: string }).code, "CONFLICT");
  const [row] = history;
  assert.ok(row);
  assert.throws(() => simulate(MACHINES).adopt(tree, { history: [row, row] }), {
    code: "BAD_REQUEST",
    details: { path: "$.history[1].id" },
  });
  assert.throws(() => simulate([settle]).adopt(tree), { code: "NOT_FOUND" });
});
