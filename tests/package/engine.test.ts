// The engine of the package: opened, driven, called, closed.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import {
  createEngine,
  type Database,
  type Engine,
  type EngineOptions,
  memory,
  nodeSqlite,
  StatewrightError,
} from "statewright/engine";

import { order, wheel } from "../http/support.ts";

const folder = mkdtempSync(join(tmpdir(), "statewright-engine-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${(files += 1)}.db`);

const START = 1_800_000_000_000;

async function engineWith(options: Partial<EngineOptions> = {}): Promise<Engine> {
  const engine = await createEngine({ database: memory(), log: () => undefined, ...options });
  after(() => engine.close());
  return engine;
}

async function refused(work: PromiseLike<unknown>, code: string): Promise<StatewrightError> {
  const error = await work.then(
    () => assert.fail("nothing was thrown"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof StatewrightError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

/** A machine whose transition calls a webhook. */
const hooked = {
  machine_id: "hooked",
  states: ["a", "b"],
  initial_state: "a",
  transitions: [{ from: "a", to: "b", on: "go" }],
  actions: [{ on_enter: "b", action: { type: "webhook", url: "https://example.com/hook" } }],
} as const;

const go = (id: string) => ({ event_type: "go", entity_key: "id", params: { id } });

test("it opens a file, migrates it once, and goes on where it was", async () => {
  const file = newFile();
  const first = await createEngine({ database: nodeSqlite(file) });
  await first.machines.create(wheel);
  await first.close();
  const second = await createEngine({ database: nodeSqlite(file), migrate: false });
  assert.equal((await second.machines.get("wheel")).machine_id, "wheel");
  await second.close();
});

test("S4.37: a new file is its owner's alone", { skip: process.platform === "win32" }, async () => {
  const file = newFile();
  const engine = await createEngine({ database: nodeSqlite(file) });
  for (const suffix of ["", "-wal", "-shm"])
    assert.equal(statSync(file + suffix).mode & 0o777, 0o600, suffix);
  await engine.close();
});

test("S4.38: an older database is brought up to date, or refused where it is to be left alone", async () => {
  const file = newFile();
  const old = new DatabaseSync(file);
  old.exec(readFileSync(new URL("../../src/engine/migrations/0001_initial.sql", import.meta.url), "utf8"));
  old.close();
  const untouched = await refused(
    createEngine({ database: nodeSqlite(file), migrate: false }),
    "SCHEMA_MISMATCH",
  );
  assert.equal(untouched.status, 503);
  const engine = await createEngine({ database: nodeSqlite(file) });
  await engine.machines.create(wheel);
  await engine.close();
  await refused(createEngine({ database: memory(), migrate: false }), "SCHEMA_MISMATCH");
});

test("S4.38, S4.86: a database of a newer version is refused, and not touched", async () => {
  const file = newFile();
  await (await createEngine({ database: nodeSqlite(file) })).close();
  const handle = new DatabaseSync(file);
  handle.exec("INSERT INTO schema_version (version) VALUES (99)");
  handle.close();
  const before = readFileSync(file);
  const error = await refused(createEngine({ database: nodeSqlite(file) }), "SCHEMA_MISMATCH");
  assert.match(error.message, /version 99/);
  assert.deepEqual(readFileSync(file), before);
});

test("S4.23, S4.86: a file that is no database is refused when it is opened, and left as it is", async () => {
  const file = newFile();
  writeFileSync(
    file,
    "this is no database, and was never meant to be one; it is long enough to look like one\n".repeat(99),
  );
  const before = readFileSync(file);
  await assert.rejects(async () => createEngine({ database: nodeSqlite(file) }), /not a database/);
  assert.deepEqual(readFileSync(file), before);
});

test("S4.87: a database that cannot be written gives a typed error, and keeps what it has", async () => {
  const file = newFile();
  const writer = await createEngine({ database: nodeSqlite(file) });
  await writer.register(order);
  await writer.close();
  let now = START;
  const engine = await engineWith({
    database: nodeSqlite(new DatabaseSync(file, { readOnly: true })),
    clock: () => (now += 5_000),
  });
  await refused(engine.entities.create("order", { entity_id: "o" }), "INTERNAL_ERROR");
  assert.equal((await engine.machines.get("order")).machine_id, "order");
});

test("settings that contradict each other are refused when it is opened", async () => {
  const settings = { STATE_STALE_AFTER: "5", STATE_ACCEPT_TIMEOUT: "30" };
  const error = await refused(
    createEngine({ database: memory(), settings, log: () => undefined }),
    "MISCONFIGURED",
  );
  assert.match(error.message, /STATE_STALE_AFTER/);
});

test("what is given wrong is refused by its name", async () => {
  for (const database of [undefined, null, {}, "app.db"] as unknown as Database[]) {
    const error = await refused(createEngine({ database }), "BAD_REQUEST");
    assert.match(error.message, /^database: /);
  }
  const others: readonly [object, RegExp][] = [
    [{ tennant: "t" }, /^tennant: there is no such option; expected one of database, tenant, /],
    [{ tenant: 5 }, /^tenant: it is 5; expected a text$/],
    [{ settings: { ACTION_RETRIES: 5 } }, /^settings\.ACTION_RETRIES: it is 5; expected a text$/],
    [{ queues: { JOBS: {} } }, /^queues\.JOBS: it is an object; expected a queue, /],
    [{ fetch: 5 }, /^fetch: it is 5; expected a function$/],
    [{ clock: () => "5" }, /^clock: it gave a text; expected whole milliseconds since the epoch$/],
    [{ clock: () => Number.NaN }, /^clock: it gave NaN; /],
    [{ clock: () => new Date() }, /^clock: it gave a Date; /],
    [{ clock: () => assert.fail("no time") }, /^clock: it threw: no time; /],
  ];
  for (const [options, message] of others) {
    const error = await refused(createEngine({ database: memory(), ...options }), "BAD_REQUEST");
    assert.match(error.message, message);
  }
  await refused(createEngine(undefined as unknown as EngineOptions), "BAD_REQUEST");
  const engine = await engineWith();
  assert.throws(() => engine.forTenant(5 as unknown as string), /^StatewrightError: tenant: it is 5; /);
  for (const interval of [-1, Number.NaN, Infinity])
    assert.throws(() => engine.run({ interval }), /^StatewrightError: interval: /);
  for (const now of [Number.NaN, 0.5]) await refused(engine.tick(now), "BAD_REQUEST");
});

test("timers fire by the clock that is given, or as if it were a time that is given", async () => {
  let now = START;
  const engine = await engineWith({ clock: () => now });
  await engine.register({
    ...order,
    transitions: [{ from: "pending", to: "paid", on: "$timeout", guard: { timeout_seconds: 60 } }],
  });
  for (const entity_id of ["a", "b"]) await engine.entities.create("order", { entity_id });
  assert.equal((await engine.tick()).timers.fired, 0);
  assert.equal((await engine.tick(START + 59_999)).timers.fired, 0);
  assert.equal((await engine.tick(START + 60_000)).timers.fired, 2);
  const entity = await engine.entities.get("order", "a");
  assert.deepEqual([entity.current_state, entity.updated_at], ["paid", START + 60_000]);
  now += 1;
  assert.equal((await engine.entities.create("order", { entity_id: "c" })).created_at, START + 1);
});

test("a run ticks at once and again, tells of failures, and ends", async () => {
  const engine = await engineWith();
  let ticks = 0;
  const twice = new Promise<void>((done) => {
    engine.run({
      interval: 5,
      onTick: () => {
        ticks += 1;
        if (ticks === 2) done();
      },
    });
  });
  await twice;
  await engine.close();
  const after = ticks;
  await new Promise((wait) => setTimeout(wait, 20));
  assert.equal(ticks, after);

  const inner = memory();
  let isBroken = false;
  const database: Database = {
    batch(statements) {
      if (isBroken) throw new Error("gone");
      return inner.batch(statements);
    },
  };
  const other = await engineWith({ database });
  isBroken = true;
  const errors: unknown[] = [];
  await new Promise<void>((done) => {
    const running = other.run({
      interval: 1,
      onError(error) {
        errors.push(error);
        if (errors.length === 2) void running.stop().then(done);
      },
    });
  });
  for (const error of errors) assert.match(String(error), /gone/);
});

test("effects are sent by the fetch that is given, after the answer, and close waits for them", async () => {
  const sent: { url: string; body: unknown }[] = [];
  const engine = await createEngine({
    database: memory(),
    async fetch(url, init) {
      await new Promise((wait) => setTimeout(wait, 20));
      sent.push({ url, body: JSON.parse(String(init.body)) });
      return new Response("ok");
    },
  });
  await engine.register(hooked);
  await engine.evaluate("hooked", go("one"));
  assert.equal(sent.length, 0);
  await engine.close();
  assert.equal(sent.length, 1);
  assert.equal(sent[0]?.url, "https://example.com/hook");
});

test("an effect that fails is tried again, and a tick delivers it", async () => {
  let [calls, now] = [0, START];
  const engine = await engineWith({
    clock: () => now,
    settings: { ACTION_RETRIES: "60,60" },
    fetch: async () => new Response(null, { status: (calls += 1) === 1 ? 500 : 204 }),
  });
  await engine.register(hooked);
  await engine.evaluate("hooked", go("one"));
  while ((await engine.outbox.list()).items[0]?.attempt !== 1)
    await new Promise((wait) => setTimeout(wait, 1));
  assert.equal((await engine.tick()).effects.done, 0);
  now += 120_000;
  assert.equal((await engine.tick()).effects.done, 1);
  assert.equal(calls, 2);
  assert.equal((await engine.outbox.list()).items[0]?.status, "done");
});

/** What is kept of a webhook's first attempt, by an engine that sends it with this fetch; the engine is closed by then. */
async function firstAttempt(fetch: unknown): Promise<{ status: string; error: string }> {
  const file = newFile();
  const options = { log: () => undefined, settings: { ACTION_RETRIES: "3600" } };
  const sends = await createEngine({
    ...options,
    database: nodeSqlite(file),
    fetch: fetch as NonNullable<EngineOptions["fetch"]>,
  });
  await sends.register(hooked);
  await sends.evaluate("hooked", go("one"));
  await sends.close();
  const reads = await createEngine({ ...options, database: nodeSqlite(file) });
  const [row] = (await reads.outbox.list()).items;
  await reads.close();
  assert.ok(row);
  assert.equal(row.attempt, 1);
  return { status: row.status, error: row.error ?? "" };
}

test("a fetch that gives no answer to read has failed, and one that was read is taken by its status", async () => {
  const trap = new Proxy(
    {},
    {
      get() {
        throw new Error("trap");
      },
    },
  );
  const broken: readonly [unknown, RegExp][] = [
    [() => undefined, /fetch gave nothing; expected a Response/],
    [() => 5, /fetch gave 5; expected a Response/],
    [async () => ({ ok: true }), /fetch gave an object; expected a Response/],
    [async () => trap, /trap/],
    [
      () => {
        throw trap;
      },
      /an object was thrown/,
    ],
    [() => Promise.reject("odd"), /odd/],
  ];
  for (const [fetch, words] of broken) {
    const { status, error } = await firstAttempt(fetch);
    assert.equal(status, "pending", error);
    assert.match(error, words);
    assert.doesNotMatch(error, /JsValue|\.[jt]s:/);
  }
  const read = new Response("not today", { status: 503 });
  await read.text();
  assert.match((await firstAttempt(() => read)).error, /503/);
  assert.equal((await firstAttempt(() => ({ status: 200, headers: new Map() }))).status, "done");
});

test(
  "a fetch that never settles, and looks at no signal, is given up in time",
  { timeout: 30_000 },
  async () => {
    const signals: unknown[] = [];
    const { status, error } = await firstAttempt((_: string, init: RequestInit) => {
      signals.push(init.signal);
      return new Promise(() => undefined);
    });
    assert.equal(signals.length, 1);
    assert.equal(status, "pending");
    assert.match(error, /no answer|timed? ?out|within/i);
  },
);

test("a database may answer by any thenable, and what it throws is told in words", async () => {
  const inner = memory();
  let answer: (rows: unknown) => unknown = (rows) => ({
    // oxlint-disable-next-line unicorn/no-thenable
    then: (give: (rows: unknown) => void) => give(rows),
  });
  const database = { batch: (statements) => answer(inner.batch(statements)) } as Database;
  const engine = await engineWith({ database });
  await engine.register(wheel);
  assert.equal((await engine.machines.get("wheel")).machine_id, "wheel");
  const trap = new Proxy(
    {},
    {
      get() {
        throw new Error("trap");
      },
    },
  );
  const broken: readonly [() => unknown, RegExp][] = [
    [() => undefined, /batch gave nothing; expected rows for each statement$/],
    [async () => null, /batch gave null; expected rows for each statement$/],
    [() => thrown("odd"), /: odd$/],
    [() => thrown({ message: 5 }), /: an object was thrown$/],
    [() => thrown(trap), /: an object was thrown$/],
    [() => Promise.reject(trap), /: an object was thrown$/],
    [() => thrown(undefined), /: undefined was thrown$/],
  ];
  for (const [broke, words] of broken) {
    answer = broke;
    assert.match((await refused(engine.machines.get("wheel"), "INTERNAL_ERROR")).message, words);
  }
});

function thrown(value: unknown): never {
  throw value;
}

test("a clock that stands still stops no delivery and no close", { timeout: 30_000 }, async () => {
  let calls = 0;
  const engine = await createEngine({
    database: memory(),
    clock: () => START,
    settings: { ACTION_RETRIES: "0.01,0.01" },
    log: () => undefined,
    fetch: async () => {
      calls += 1;
      throw new TypeError("no connection");
    },
  });
  await engine.register(hooked);
  await engine.evaluate("hooked", go("one"));
  await engine.close();
  assert.equal(calls, 3);
});

test("an event by the short way is answered as one by a request", async () => {
  const events: unknown[] = [
    { event_type: "pay", entity_key: "id", params: { id: "o", amount: 5 }, timestamp: 1 },
    { event_type: "pay", entity_key: "id", params: { id: "o", amount: 5 }, timestamp: 1 },
    { event_type: "pay", entity_key: "id", params: { id: "o", amount: 6 }, timestamp: 1 },
    { event_type: "ship", entity_key: "id", params: { id: "o" }, timestamp: 2, expected_version: 9 },
    { event_type: "ship", entity_key: "id", params: { id: "o" }, timestamp: 2, explain: true },
    { event_type: "ship", entity_key: "id", params: { id: "o" }, timestamp: 3 },
    { event_type: "ship", entity_key: "nothing", params: {} },
    { event_type: 7, entity_key: "id", params: { id: "o" } },
    { event_type: "pay", entity_key: "id", params: { id: "o", amount: "\ud800" } },
    { event_type: "pay", entity_key: "id", params: { id: "o", big: "x".repeat(300_000) } },
    [],
    null,
  ];
  const outcomes = async (options: object | undefined) => {
    const engine = await engineWith({ clock: () => START });
    await engine.register(order);
    const found: unknown[] = [];
    for (const [machine, event] of [
      ...events.map((event) => ["order", event] as const),
      ["none", events[0]] as const,
    ]) {
      found.push(
        await engine.evaluate(machine, event as never, options).catch((error: unknown) => {
          assert.ok(error instanceof StatewrightError, String(error));
          return { ...error, message: error.message };
        }),
      );
    }
    return found;
  };
  const short = await outcomes(undefined);
  assert.deepEqual(short, await outcomes({}));
  assert.equal(short.filter((one) => "status" in (one as object)).length, 9);
  const engine = await engineWith();
  await refused(engine.evaluate("\ud800", events[0] as never), "BAD_REQUEST");
  await refused(engine.forTenant("").evaluate("order", events[0] as never), "BAD_REQUEST");
});

test("what goes on after an answer is told to waitUntil", async () => {
  const works: Promise<unknown>[] = [];
  const engine = await engineWith({
    waitUntil: (work) => works.push(work),
    fetch: async () => new Response(null, { status: 204 }),
  });
  await engine.register(hooked);
  await engine.evaluate("hooked", go("one"));
  assert.equal(works.length, 1);
  await Promise.all(works);
  assert.equal((await engine.outbox.list()).items[0]?.status, "done");
});

test("actions send to queues by their names", async () => {
  const messages: unknown[] = [];
  const engine = await engineWith({ queues: { JOBS: { send: async (message) => messages.push(message) } } });
  const sink = { type: "queue", binding: "JOBS" } as const;
  await engine.subscriptions.put("all", { source: "machines", machine: "order", sink });
  await engine.register(order);
  await engine.evaluate("order", { event_type: "pay", entity_key: "id", params: { id: "o", amount: 1 } });
  await engine.tick();
  assert.ok(messages.length > 0);
});

test("fetch answers as the service does, and asks for the key", async () => {
  const engine = await engineWith({ settings: { API_KEY: "secret" }, tenant: "t1" });
  await engine.register(wheel);
  const ask = (key?: string, method = "GET", path = "/api/machines/wheel") =>
    engine.fetch(
      new Request(`http://here${path}`, {
        method,
        headers: { "x-tenant-id": "t1", ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      }),
    );
  assert.equal((await ask()).status, 401);
  assert.equal((await ask("wrong")).status, 401);
  const found = await ask("secret");
  assert.equal(found.status, 200);
  assert.equal(((await found.json()) as { machine_id: string }).machine_id, "wheel");
  assert.equal(await (await ask("secret", "HEAD")).text(), "");
  assert.equal((await ask("secret", "GET", "/api/nothing")).status, 404);
  assert.equal((await ask(undefined, "GET", "/health")).status, 200);

  const keyless = await engineWith();
  const answer = await keyless.fetch(new Request("http://here/api/machines"));
  assert.equal(answer.status, 401);
  assert.match(await answer.text(), /gives `settings: \{ API_KEY \}` to createEngine/);
  const open = await engineWith({ settings: { ENVIRONMENT: "development" } });
  const headers = { "x-tenant-id": "t1" };
  assert.equal((await open.fetch(new Request("http://here/api/machines", { headers }))).status, 200);
});

test("fetch refuses what is no request, and one whose body was read", async () => {
  const engine = await engineWith({ settings: { API_KEY: "secret" } });
  const headers = { authorization: "Bearer secret", "x-tenant-id": "t1", "content-type": "application/json" };
  const asked = (body: string | ReadableStream) =>
    new Request("http://here/api/machines", { method: "POST", headers, body, duplex: "half" } as RequestInit);
  const read = asked(JSON.stringify(wheel));
  await read.text();
  const locked = asked(JSON.stringify(wheel));
  locked.body?.getReader();
  for (const request of [
    undefined,
    "http://here/health",
    { method: "GET", url: "/health", headers: {} },
    read,
    locked,
  ]) {
    const error = await refused(engine.fetch(request as Request), "BAD_REQUEST");
    assert.match(error.message, /^request: /);
  }
  // One that is locked once it was given is answered.
  const late = asked(JSON.stringify(wheel));
  const answer = engine.fetch(late);
  late.body?.getReader();
  assert.ok([201, 400].includes((await answer).status));

  const torn = new ReadableStream({ pull: () => thrown(new Error("torn")) });
  const refusal = await engine.fetch(asked(torn));
  assert.equal(refusal.status, 400);
  const text = await refusal.text();
  assert.match(text, /torn/);
  assert.doesNotMatch(text, /JsValue|file:/);
});

test("what is called after it is closed is refused, and closing again is nothing", async () => {
  const engine = await engineWith();
  await engine.close();
  await engine.close();
  await refused(engine.machines.get("order"), "CLOSED");
  await refused(engine.tick(), "CLOSED");
  assert.throws(() => engine.run({ interval: 1 }), { code: "CLOSED" });
  await refused(engine.fetch(new Request("http://here/health")), "CLOSED");
  await refused(engine.forTenant("t2").health(), "CLOSED");
});

test("a call can be given up; what was asked is done all the same", async () => {
  const inner = memory();
  const database: Database = { batch: async (statements) => inner.batch(statements) };
  const engine = await engineWith({ database });
  await engine.register(wheel);
  const gone = AbortSignal.abort(new Error("never mind"));
  await assert.rejects(engine.entities.create("wheel", { entity_id: "a" }, { signal: gone }), /never mind/);
  await refused(engine.entities.get("wheel", "a"), "NOT_FOUND");
  const controller = new AbortController();
  const made = engine.entities.create("wheel", { entity_id: "b" }, { signal: controller.signal });
  controller.abort(new Error("too slow"));
  await assert.rejects(made, /too slow/);
  await new Promise((wait) => setTimeout(wait, 5));
  assert.equal((await engine.entities.get("wheel", "b")).state_version, 1);
});

test("names that a URL would alter reach the engine as they are", async () => {
  const engine = await engineWith({ tenant: "t ä/1" });
  await engine.register(wheel);
  for (const entity_id of ["a/b", "a?b", "a%2Fb", "ä ö", "{machine_id}", "$&", "a+b", "#"]) {
    await engine.entities.create("wheel", { entity_id });
    const found = await engine.entities.get("wheel", entity_id);
    assert.equal(found.entity_id, entity_id);
    await engine.entities.transition("wheel", entity_id, { event_type: "turn" });
  }
  const listed: string[] = [];
  for await (const { entity_id } of engine.entities.list("wheel", { limit: 3 })) listed.push(entity_id);
  assert.equal(listed.length, 8);
});

test("a tenant or a key with a line break is no way to another header", async () => {
  const engine = await engineWith();
  await engine.register(wheel);
  await refused(engine.forTenant("t1\nx-run-id\nr").machines.list(), "BAD_REQUEST");
  const keyed = engine.entities.create("wheel", { entity_id: "a" }, { idempotencyKey: "k\nx" });
  await refused(keyed, "BAD_REQUEST");
});

test("register makes a machine, leaves it alone while it is the same, and gives it a new revision else", async () => {
  const engine = await engineWith();
  const revisions = async () => {
    const found = [];
    for await (const { revision } of engine.machines.revisions("order")) found.push(revision);
    return found;
  };
  await engine.register(order);
  await engine.register({ ...order });
  assert.deepEqual(await revisions(), [1]);
  const more = { ...order, states: [...order.states, "returned"] };
  await engine.register(more);
  await engine.register(more);
  assert.deepEqual(await revisions(), [2, 1]);
  await refused(engine.register({ ...order, initial_state: "nowhere" }), "BAD_REQUEST");
});

test("the log goes where it is told, down to its level", async () => {
  const lines: [string, string][] = [];
  const engine = await engineWith({
    settings: { LOG_LEVEL: "debug" },
    log: (level, line) => lines.push([level, line]),
  });
  await engine.health();
  const [level, line] = lines.at(-1) ?? ["", "{}"];
  assert.equal(level, "debug");
  assert.equal((JSON.parse(line) as { path: string }).path, "/health");
});

test("two engines on one file take turns", async () => {
  const file = newFile();
  const engines = await Promise.all([
    engineWith({ database: nodeSqlite(file) }),
    engineWith({ database: nodeSqlite(file) }),
  ]);
  await engines[0].register(wheel);
  await engines[0].entities.create("wheel", { entity_id: "a" });
  const turns = engines.flatMap((engine) =>
    Array.from({ length: 10 }, () => engine.entities.transition("wheel", "a", { event_type: "turn" })),
  );
  await Promise.all(turns);
  assert.equal((await engines[1].entities.get("wheel", "a")).state_version, 21);
});

test("memory stays bounded over many engines", async () => {
  for (let round = 0; round < 200; round += 1) {
    const engine = await createEngine({ database: memory() });
    await engine.health();
    await engine.close();
  }
  const { WebAssembly: wasm } = globalThis as unknown as { WebAssembly: object };
  assert.ok(wasm !== undefined);
  assert.ok(process.memoryUsage().rss < 600 * 1024 * 1024);
});
