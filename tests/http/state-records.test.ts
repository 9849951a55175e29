// State records over HTTP: the pattern of timers that guard themselves by a version, races of which one wins, and
// tenants apart. What each operation answers is in tests/vectors.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CLOCK, outbox, SECRETS_KEY, settled, Sink, until } from "./sink.ts";
import { type Answer, refused, serve } from "./support.ts";

const sink = await Sink.open();
const service = await serve({ around: CLOCK, settings: { SECRETS_KEY, WEBHOOK_ALLOW: sink.host } });
const MACHINE = "onepony.task";

function state(op: "create" | "get" | "transition", body: object, more: object = {}): Promise<Answer> {
  return service.call("POST", `/api/state/${op}`, { body: { machine: MACHINE, ...body }, ...more });
}

async function record(id: string, tenant = "t1"): Promise<Answer["body"]> {
  const answer = await state("get", { id }, { tenant });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.found, true);
  return answer.body.record;
}

async function create(id: string, of: string, data?: unknown): Promise<void> {
  const answer = await state("create", { id, state: of, ...(data === undefined ? {} : { data }) });
  assert.equal(answer.status, 201, answer.text);
}

/** The timer of the pattern: an entity that calls back when its time is over, with the version that it was armed for. */
const alarm = {
  machine_id: "alarm",
  states: ["idle", "armed", "rung"],
  initial_state: "idle",
  transitions: [
    { from: "idle", to: "armed", on: "arm" },
    { from: "armed", to: "rung", on: "$timeout", guard: { after_ms: 60_000 } },
  ],
  actions: [
    {
      on_enter: "rung",
      action: {
        type: "webhook",
        url: `${sink.url}/wake`,
        body: { task: { $from: "/context/task" }, version: { $from: "/context/version" } },
      },
    },
  ],
};

/** Arms a timer for the version that the record is about to have; however often, it is armed once. */
function arm(task: string, version: number): Promise<Answer> {
  return service.call("POST", "/api/machines/alarm/evaluate", {
    body: { event_type: "arm", entity_key: "alarm", params: { alarm: `${task}:v${version}`, task, version } },
    headers: { "idempotency-key": `task:${task}:v${version}` },
  });
}

test("S0.29: arm first, then move; the record that moved on refuses the old timer", async () => {
  await service.register(alarm);
  // What a timer that rings does: wakes the task, if it is as it was when the timer was armed.
  const woken: Answer[] = [];
  sink.reply = async ({ body }) => {
    const answer = await state("transition", {
      id: body.task,
      from: "waiting",
      to: "ready",
      expected_version: body.version,
    });
    woken.push(answer);
    return { status: 204 };
  };
  await create("moved", "working", { owner: "me" });
  await create("stays", "working", { owner: "me" });
  for (const id of ["moved", "stays"]) {
    const { version } = await record(id);
    const armed = await arm(id, version + 1);
    assert.equal(armed.body.transition, "idle → armed", armed.text);
    // Whoever dies in between arms it again, and it is armed once.
    const again = await arm(id, version + 1);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal(again.text, armed.text);
    const moved = await state("transition", {
      id,
      from: "working",
      to: "waiting",
      expected_version: version,
    });
    assert.equal(moved.status, 200, moved.text);
    assert.equal(moved.body.record.version, version + 1, "the version that the timer carries");
    assert.deepEqual(moved.body.record.data, { owner: "me" }, "S0.24: what is left out is kept");
  }
  // One goes on before its timer rings, and waits again, three versions later.
  for (const [version, from, to] of [
    [2, "waiting", "working"],
    [3, "working", "working"],
    [4, "working", "waiting"],
  ] as const)
    assert.equal(
      (await state("transition", { id: "moved", from, to, expected_version: version })).status,
      200,
    );

  await service.call("GET", "/test/ahead?61000");
  await settled(service);
  await until("both have rung", async () => {
    await service.runtime.scheduled();
    return woken.length >= 2;
  });
  await settled(service);
  assert.equal(woken.length, 2, "each timer rings once");
  const refusal = woken.find(({ status }) => status !== 200);
  assert.ok(refusal !== undefined, "S0.23: a timer of version 2 never acts on version 5");
  refused(refusal, 409, "STATE_CONFLICT");
  assert.equal(refusal.body.error.reason, "version");
  const now = await record("moved");
  assert.deepEqual(refusal.body.error.current, now);
  assert.deepEqual([now.state, now.version], ["waiting", 5]);
  const stayed = await record("stays");
  assert.deepEqual([stayed.state, stayed.version], ["ready", 3]);
  await service.call("GET", "/test/ahead?0");
});

test("S0.22: of many that move a record at the same version, exactly one wins", async () => {
  const rounds = 6;
  await create("raced", "s");
  for (let version = 1; version <= rounds; version += 1) {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, racer) =>
        state("transition", { id: "raced", from: "s", to: "s", expected_version: version, data: { racer } }),
      ),
    );
    const [winner, ...others] = answers.filter(({ status }) => status === 200);
    assert.ok(winner !== undefined);
    assert.equal(others.length, 0, answers.map(({ text }) => text).join("\n"));
    const now = await record("raced");
    assert.deepEqual(winner.body.record, now);
    assert.equal(now.version, version + 1);
    for (const answer of answers) {
      if (answer === winner) continue;
      refused(answer, 409, "STATE_CONFLICT");
      assert.equal(answer.body.error.reason, "version");
      assert.deepEqual(answer.body.error.current, now, "S0.18");
    }
  }
  const rows = await outbox(service, `&machine=${MACHINE}&entity=raced`);
  assert.deepEqual(
    rows.map(({ version, status }) => [version, status]),
    Array.from({ length: rounds }, (_, index) => [index + 2, "skipped"]),
    "S0.30: one event for each transition that was committed, and none for the others",
  );
});

test("of many that create a record, exactly one does; with one key all are told so", async () => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, racer) => state("create", { id: "made", state: `s${racer}` })),
  );
  const [winner, ...others] = answers.filter(({ status }) => status === 201);
  assert.ok(winner !== undefined && others.length === 0);
  for (const answer of answers) {
    if (answer === winner) continue;
    refused(answer, 409, "STATE_EXISTS");
    assert.deepEqual(answer.body.error.current, winner.body.record);
  }
  const headers = { "idempotency-key": "make-1" };
  const copies = await Promise.all(
    Array.from({ length: 12 }, () => state("create", { id: "keyed", state: "s" }, { headers })),
  );
  for (const copy of copies) {
    assert.equal(copy.status, 201, copy.text);
    assert.equal(copy.text, copies[0]?.text);
  }
  assert.equal(copies.filter((copy) => copy.headers.get("idempotency-replayed") === null).length, 1);
  const moves = await Promise.all(
    Array.from({ length: 12 }, () =>
      state(
        "transition",
        { id: "keyed", from: "s", to: "t", expected_version: 1 },
        { headers: { "idempotency-key": "move-1" } },
      ),
    ),
  );
  for (const move of moves) assert.equal(move.status, 200, move.text);
  assert.equal(
    new Set(moves.map(({ body }) => body.event_id)).size,
    1,
    "one transition, and all are told its event",
  );
  assert.equal((await record("keyed")).version, 2);
});

test("S0.10: the same record in two tenants is two records", async () => {
  for (const tenant of ["a", "b"])
    assert.equal((await state("create", { id: "same", state: tenant }, { tenant })).status, 201);
  const move = await state(
    "transition",
    { id: "same", from: "a", to: "z", expected_version: 1 },
    { tenant: "a" },
  );
  assert.equal(move.status, 200, move.text);
  assert.deepEqual([(await record("same", "a")).state, (await record("same", "b")).state], ["z", "b"]);
  refused(
    await state("transition", { id: "same", from: "a", to: "z", expected_version: 1 }, { tenant: "b" }),
    409,
    "STATE_CONFLICT",
  );
  assert.deepEqual((await state("get", { id: "same" }, { tenant: "c" })).body, { found: false });
  refused(
    await state("transition", { id: "same", from: "a", to: "z", expected_version: 1 }, { tenant: "c" }),
    404,
    "STATE_NOT_FOUND",
  );
  assert.equal((await outbox(service, "", "b")).length, 0);
  assert.equal((await outbox(service, "", "a")).length, 1);
  // A key of one tenant is none of another's.
  const keyed = (tenant: string) =>
    state("create", { id: "apart", state: "s" }, { tenant, headers: { "idempotency-key": "k" } });
  for (const tenant of ["a", "b"]) {
    const answer = await keyed(tenant);
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.get("idempotency-replayed"), null);
  }
});

test("S0.28, S0.64: without the personality every operation says that it is disabled", async () => {
  const other = await serve({ settings: { PERSONALITIES: "web" } });
  for (const op of ["create", "get", "transition"])
    refused(
      await other.call("POST", `/api/state/${op}`, { body: { machine: MACHINE, id: "x", state: "s" } }),
      503,
      "STATE_DISABLED",
    );
});
