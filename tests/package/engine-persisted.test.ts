// Load, act, save once (S4.1, S4.3, S4.43, S4.53 to S4.73).

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { defineMachine } from "statewright";
import { createEngine, type Database, type Engine, memory, StatewrightError } from "statewright/engine";

const order = defineMachine({
  machine_id: "order",
  states: ["pending", "paid", "shipped", "late"],
  initial_state: "pending",
  transitions: [
    { from: "pending", to: "paid", on: "pay", guard: { field: "amount", op: "gt", value: 0 } },
    { from: "paid", to: "shipped", on: "ship" },
    { from: "paid", to: "paid", on: "note" },
    { from: "pending", to: "late", on: "$timeout", guard: { timeout_seconds: 60 } },
  ],
});

const START = 1_800_000_000_000;

/** A database that lets a test come between. */
class Watched implements Database {
  readonly #inner = memory();
  writes = 0;
  /** Called before each batch that writes. */
  before: (() => unknown) | undefined;

  async batch(statements: Parameters<Database["batch"]>[0]) {
    if (statements.some(({ sql }) => /^\s*(INSERT|UPDATE|DELETE)/.test(sql))) {
      this.writes += 1;
      const { before } = this;
      this.before = undefined;
      await before?.();
    }
    return this.#inner.batch(statements);
  }

  close() {
    return this.#inner.close?.();
  }
}

interface Scene {
  engine: Engine;
  database: Watched;
  clock: { now: number };
}

async function scene(): Promise<Scene> {
  const database = new Watched();
  const clock = { now: START };
  const engine = await createEngine({ database, clock: () => clock.now, log: () => undefined });
  after(() => engine.close());
  await engine.register(order);
  database.writes = 0;
  return { engine, database, clock };
}

/** Everything that is stored of an entity. */
async function stored(engine: Engine, id = "o") {
  const rows = [];
  for await (const row of engine.entities.history("order", id)) rows.push(row);
  return { entity: await engine.entities.get("order", id), rows };
}

async function refused(work: Promise<unknown>, code: string): Promise<StatewrightError> {
  const error = await work.then(
    () => assert.fail("nothing was thrown"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof StatewrightError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

/** Another writer pays first. */
const rival = (engine: Engine) => () =>
  engine.evaluate("order", { event_type: "pay", entity_key: "id", params: { id: "o", amount: 9 } });

test("S4.1: an act loads, decides and saves once, whatever it sends", async () => {
  const { engine, database } = await scene();
  await engine.entities.create("order", { entity_id: "o", context: { by: "me" } });
  database.writes = 0;
  const result = await engine.persisted(order, "o", (entity) => {
    assert.equal(entity.id, "o");
    assert.equal(entity.state, "pending");
    assert.equal(entity.version, 1);
    assert.equal(entity.send({ type: "pay", params: { amount: 5 } }).outcome, "applied");
    assert.equal(entity.state, "paid");
    entity.send("ship");
    assert.deepEqual(entity.context, { by: "me", amount: 5 });
    return `at ${entity.version}`;
  });
  assert.equal(result, "at 3");
  assert.equal(database.writes, 1);
  const { entity, rows } = await stored(engine);
  assert.equal(entity.current_state, "shipped");
  assert.equal(entity.state_version, 3);
  assert.deepEqual(
    rows.map(({ event_type }) => event_type),
    ["pay", "ship"],
  );
});

test("S4.1: on a conflict the act is done anew on what the entity is by then", async () => {
  const { engine, database } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  const seen: string[] = [];
  database.before = rival(engine);
  await engine.persisted(order, "o", (entity) => {
    seen.push(entity.state);
    if (entity.state === "pending") entity.send({ type: "pay", params: { amount: 5 } });
    entity.send("ship");
  });
  assert.deepEqual(seen, ["pending", "paid"]);
  const { entity } = await stored(engine);
  assert.deepEqual([entity.current_state, entity.state_version, entity.context["amount"]], ["shipped", 3, 9]);
});

test("S4.3: of two acts that make an entity one makes it, the other acts on it", async () => {
  const { engine } = await scene();
  const seen: unknown[] = [];
  const make = (by: string) =>
    engine.persisted(order, "o", (entity) => void seen.push(entity.context["by"]), { create: { by } });
  await Promise.all([make("one"), make("two")]);
  const { entity } = await stored(engine);
  assert.deepEqual([entity.state_version, entity.context["by"]], [1, seen.at(-1)]);
  assert.equal(seen.length, 3);
});

test("S4.43, S4.66: conflicts are retried within a bound, then CONFLICT says how often", async () => {
  for (const retries of [0, 1, 3]) {
    const { engine, database } = await scene();
    await engine.evaluate("order", { event_type: "pay", entity_key: "id", params: { id: "o", amount: 1 } });
    const note = () => engine.entities.transition("order", "o", { event_type: "note" });
    let runs = 0;
    const error = await refused(
      engine.persisted(
        order,
        "o",
        (entity) => {
          runs += 1;
          database.before = note;
          entity.send("ship");
        },
        { retries },
      ),
      "CONFLICT",
    );
    assert.equal(runs, retries + 1);
    assert.equal(error.details["attempts"], retries + 1);
    assert.equal(error.retry, true);
    assert.ok(error.cause instanceof StatewrightError && error.cause.code === "VERSION_CONFLICT");
    database.before = undefined;
    assert.equal((await stored(engine)).entity.current_state, "paid");
  }
  const { engine } = await scene();
  for (const retries of [-1, 1.5, Number.NaN]) {
    const act = engine.persisted(order, "o", () => assert.fail("it must not be called"), { retries });
    await refused(act, "BAD_REQUEST");
  }
});

test("S4.50: 8 writers of 25 acts each on one entity are all applied", async () => {
  const { engine } = await scene();
  await engine.evaluate("order", { event_type: "pay", entity_key: "id", params: { id: "o", amount: 1 } });
  const write = async () => {
    for (let act = 0; act < 25; act += 1) {
      await engine.persisted(order, "o", (entity) => entity.send("note"), { retries: 1_000 });
    }
  };
  await Promise.all(Array.from({ length: 8 }, write));
  assert.equal((await stored(engine)).entity.state_version, 202);
});

test("S4.53: callbacks run after the commit, in order, and are awaited", async () => {
  const { engine } = await scene();
  const said: string[] = [];
  await engine.persisted(
    order,
    "o",
    (entity) => {
      entity.afterCommit(async () => {
        const { entity: there } = await stored(engine);
        said.push(`one at ${there.state_version}`);
      });
      entity.afterCommit(() => said.push("two"));
      entity.send({ type: "pay", params: { amount: 1 } });
    },
    { create: true },
  );
  assert.deepEqual(said, ["one at 2", "two"]);
});

test("S4.54: an act that sends nothing writes nothing", async () => {
  const { engine, database } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  database.writes = 0;
  assert.equal(await engine.persisted(order, "o", (entity) => entity.state), "pending");
  assert.equal(await engine.persisted(order, "o", (entity) => entity.send("ship").outcome), "no_transition");
  assert.equal(database.writes, 0);
});

test("S4.55, S4.72: what throws writes nothing, and is thrown as it is", async () => {
  const { engine, database } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  const before = await stored(engine);
  database.writes = 0;
  for (const thrown of [new Error("mine"), "a text", undefined, new DOMException("aborted", "AbortError")]) {
    let called = 0;
    for (const late of [false, true]) {
      const act = engine.persisted(order, "o", async (entity) => {
        entity.afterCommit(() => (called += 1));
        entity.send({ type: "pay", params: { amount: 5 } });
        if (late) await Promise.resolve();
        throw thrown;
      });
      assert.equal(
        await act.then(
          () => assert.fail("nothing was thrown"),
          (error: unknown) => error,
        ),
        thrown,
      );
    }
    assert.equal(called, 0);
  }
  assert.equal(database.writes, 0);
  assert.deepEqual(await stored(engine), before);
});

test("S4.55: an act that is refused may go on without the event", async () => {
  const { engine } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  await engine.persisted(order, "o", (entity) => {
    assert.throws(
      () => entity.send({ type: "pay", params: { amount: 5 }, expectedVersion: 9 }),
      (error) => error instanceof StatewrightError && error.code === "VERSION_CONFLICT",
    );
    entity.send({ type: "pay", params: { amount: 5 }, expectedVersion: 1 });
  });
  assert.equal((await stored(engine)).entity.state_version, 2);
});

test("S4.56: an entity that has come to its end stays there, and is not made again", async () => {
  const { engine } = await scene();
  await engine.persisted(
    order,
    "o",
    (entity) => {
      entity.send({ type: "pay", params: { amount: 1 } });
      entity.send("ship");
    },
    { create: true },
  );
  const outcome = await engine.persisted(order, "o", (entity) => entity.send("ship").outcome, {
    create: true,
  });
  assert.equal(outcome, "no_transition");
  assert.equal((await stored(engine)).entity.state_version, 3);
});

test("S4.57, S4.70: a save that fails drops the callbacks, and its error comes as it is", async () => {
  const { engine, database, clock } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  const before = await stored(engine);
  let [called, acted] = [0, 0];
  database.before = function again(this: void): never {
    database.before = again;
    // The engine tries for ten seconds to find out what became of it.
    clock.now += 6_000;
    throw new Error("the disk is full");
  };
  const act = engine.persisted(order, "o", (entity) => {
    acted += 1;
    entity.afterCommit(() => (called += 1));
    entity.send({ type: "pay", params: { amount: 1 } });
  });
  const error = await refused(act, "INTERNAL_ERROR");
  assert.match(error.message, /the disk is full/);
  assert.deepEqual([called, acted], [0, 1]);
  database.before = undefined;
  assert.deepEqual(await stored(engine), before);
});

test("S4.59: a callback that fails takes nothing back, the others run, the first error is thrown", async () => {
  const { engine } = await scene();
  const said: string[] = [];
  const act = engine.persisted(
    order,
    "o",
    (entity) => {
      entity.afterCommit(() => {
        throw new Error("first");
      });
      entity.afterCommit(() => said.push("second"));
      entity.afterCommit(() => Promise.reject(new Error("third")));
      entity.send({ type: "pay", params: { amount: 1 } });
    },
    { create: true },
  );
  await assert.rejects(act, /first/);
  assert.deepEqual(said, ["second"]);
  assert.equal((await stored(engine)).entity.current_state, "paid");
});

test("S4.61: an act within an act on the same entity is a part of it", async () => {
  const { engine, database } = await scene();
  const said: string[] = [];
  await engine.persisted(
    order,
    "o",
    async (outer) => {
      outer.send({ type: "pay", params: { amount: 1 } });
      await engine.persisted(order, "o", (inner) => {
        assert.equal(inner.state, "paid");
        inner.afterCommit(() => said.push("inner"));
        inner.send("ship");
      });
      assert.equal(outer.state, "shipped");
      assert.deepEqual(said, []);
    },
    { create: true },
  );
  assert.deepEqual(said, ["inner"]);
  assert.equal(database.writes, 1);
  assert.equal((await stored(engine)).entity.current_state, "shipped");
});

test("S4.61: an act within an act on another entity commits by itself", async () => {
  const { engine } = await scene();
  await assert.rejects(
    engine.persisted(
      order,
      "o",
      async () => {
        await engine.persisted(order, "p", (entity) => entity.send({ type: "pay", params: { amount: 1 } }), {
          create: true,
        });
        throw new Error("outer");
      },
      { create: true },
    ),
    /outer/,
  );
  await refused(engine.entities.get("order", "o"), "NOT_FOUND");
  assert.equal((await stored(engine, "p")).entity.current_state, "paid");
});

test("S4.62: acts that go on beside each other keep their callbacks apart", async () => {
  const { engine } = await scene();
  const said: string[] = [];
  const act = (id: string, fails: boolean) =>
    engine
      .persisted(
        order,
        id,
        async (entity) => {
          entity.afterCommit(() => said.push(id));
          await new Promise((wait) => setTimeout(wait, 5));
          if (fails) throw new Error(id);
        },
        { create: true },
      )
      .catch(() => undefined);
  await Promise.all([act("a", false), act("b", true), act("c", false)]);
  assert.deepEqual(said.sort(), ["a", "c"]);
});

test("S4.63: a missing entity is refused before the act, unless it is to be made", async () => {
  const { engine } = await scene();
  const never = () => assert.fail("it must not be called");
  await refused(engine.persisted(order, "o", never), "NOT_FOUND");
  await refused(engine.persisted(order, "o", never, { create: false }), "NOT_FOUND");
  await engine.persisted(order, "o", (entity) => assert.deepEqual(entity.context, { n: 1 }), {
    create: { n: 1 },
  });
  const { entity } = await stored(engine);
  assert.deepEqual([entity.state_version, entity.context], [1, { n: 1 }]);
});

test("S4.64: timers that are due have fired when the act begins, by the engine's clock", async () => {
  const { engine, clock } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  clock.now += 60_000;
  await engine.persisted(order, "o", (entity) => {
    assert.equal(entity.state, "late");
    assert.equal(entity.send({ type: "pay", params: { amount: 1 } }).outcome, "no_transition");
  });
  // A timer that comes due while the act goes on is a conflict: it is done anew.
  await engine.entities.create("order", { entity_id: "p" });
  const seen: string[] = [];
  await engine.persisted(order, "p", (entity) => {
    seen.push(entity.state);
    if (entity.state === "pending") entity.send({ type: "pay", params: { amount: 1 } });
    clock.now += 60_000;
  });
  assert.deepEqual(seen, ["pending", "late"]);
});

test("S4.67: a load that fails is thrown as it is, and the act is not called", async () => {
  const { engine, database } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  await database.batch([{ sql: "UPDATE entries SET state = 'nowhere' WHERE entity_id = ?1", params: ["o"] }]);
  const act = engine.persisted(order, "o", () => assert.fail("it must not be called"), { create: true });
  await refused(act, "CORRUPT_INSTANCE");
});

test("S4.68, S4.69: another definition than the one that the entity runs by is refused", async () => {
  const { engine } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  const { machine_id, states, initial_state } = order.definition;
  const other = defineMachine({
    machine_id,
    states,
    initial_state,
    transitions: [],
  } as never) as typeof order;
  const never = () => assert.fail("it must not be called");
  const drift = await refused(engine.persisted(other, "o", never), "MACHINE_DRIFT");
  assert.equal(drift.details["revision"], 1);
  await refused(engine.persisted(other, "p", never, { create: true }), "MACHINE_DRIFT");
  await engine.register(other);
  await engine.persisted(other, "o", (entity) => assert.equal(entity.state, "pending"));
  await refused(engine.persisted(order, "o", never), "MACHINE_DRIFT");
  const unknown = defineMachine({ ...order.definition, machine_id: "unknown" } as never) as typeof order;
  await refused(engine.persisted(unknown, "o", never, { create: true }), "NOT_FOUND");
});

test("an event that was applied before is told as a duplicate, and what follows is decided on that (I1)", async () => {
  const { engine } = await scene();
  const pair = defineMachine({
    machine_id: "pair",
    states: ["a", "b", "c", "d"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "b", on: "go" },
      { from: "b", to: "a", on: "back" },
      { from: "b", to: "c", on: "x" },
      { from: "a", to: "d", on: "x" },
    ],
  });
  await engine.register(pair);
  const go = { type: "go", timestamp: 5 } as const;
  await engine.entities.create("pair", { entity_id: "p" });
  await engine.entities.transition("pair", "p", { event_type: "go", timestamp: 5 });
  await engine.entities.transition("pair", "p", { event_type: "back" });
  const told = await engine.persisted(pair, "p", (entity) => {
    const outcomes = [entity.send(go).outcome, entity.send("x").outcome];
    return { outcomes, state: entity.state, version: entity.version };
  });
  assert.deepEqual(told, { outcomes: ["duplicate", "applied"], state: "d", version: 4 });
  const stored = await engine.entities.get("pair", "p");
  assert.deepEqual([stored.current_state, stored.state_version], ["d", 4]);

  // Within one act as well.
  const within = await engine.persisted(
    pair,
    "q",
    (entity) => [entity.send(go), entity.send("back"), entity.send(go)].map(({ outcome }) => outcome),
    { create: true },
  );
  assert.deepEqual(within, ["applied", "applied", "duplicate"]);
  const made = await engine.entities.get("pair", "q");
  assert.deepEqual([made.current_state, made.state_version], ["a", 3]);

  // Other params under the same identity are refused to the act.
  const other = engine.persisted(pair, "q", (entity) => entity.send({ ...go, params: { n: 1 } }));
  await refused(other, "EVENT_IDENTITY_CONFLICT");
});

test("acts at once whose events were partly applied before lose nothing of what is new (S4.50)", async () => {
  const { engine } = await scene();
  const counter = defineMachine({
    machine_id: "counter",
    states: ["on"],
    initial_state: "on",
    transitions: [
      { from: "on", to: "on", on: "go" },
      { from: "on", to: "on", on: "add" },
    ],
  });
  await engine.register(counter);
  await engine.entities.create("counter", { entity_id: "c", context: { n: 0 } });
  await engine.entities.transition("counter", "c", { event_type: "go", timestamp: 5 });
  const act = () =>
    engine.persisted(
      counter,
      "c",
      (entity) => {
        entity.send({ type: "go", timestamp: 5 });
        entity.send({ type: "add", params: { n: Number(entity.context["n"]) + 1 } });
      },
      { retries: 100 },
    );
  await Promise.all(Array.from({ length: 10 }, act));
  assert.equal((await engine.entities.get("counter", "c")).context["n"], 10);
});

test("children's machines that were defined otherwise are refused as well", async () => {
  const { engine } = await scene();
  const child = (to: "b" | "c") =>
    defineMachine({
      machine_id: "drifter",
      states: ["a", "b", "c"],
      initial_state: "a",
      transitions: [{ from: "a", to, on: "go" }],
    });
  const parent = (machines: [ReturnType<typeof child>]) =>
    defineMachine(
      {
        machine_id: "holder",
        states: ["off", "on", "over"],
        initial_state: "off",
        transitions: [{ from: "off", to: "on", on: "start" }],
        sub_machines: { on: { machine_id: "drifter", lifecycle: "managed", on_final: { c: "over" } } },
      },
      { machines },
    );
  await engine.register(parent([child("c")]));
  await engine.entities.create("holder", { entity_id: "h" });
  await engine.entities.transition("holder", "h", { event_type: "start" });
  await refused(
    engine.persisted(parent([child("b")]), "h", () => assert.fail("it must not be called")),
    "MACHINE_DRIFT",
  );
  const state = await engine.persisted(parent([child("c")]), "h", (entity) => {
    entity.send({ type: "go", target: [{ state: "on" }] });
    return entity.state;
  });
  assert.equal(state, "over");
});

test("what is written of an event is what was sent, whatever becomes of its params", async () => {
  const { engine } = await scene();
  const params = { amount: 5 };
  await engine.persisted(
    order,
    "o",
    (entity) => {
      entity.send({ type: "pay", params });
      params.amount = 7;
    },
    { create: true },
  );
  assert.deepEqual((await engine.entities.get("order", "o")).context, { amount: 5 });
});

test("what is sent to an act that is over is refused", async () => {
  const { engine } = await scene();
  let kept: { send(event: "ship"): unknown; afterCommit(callback: () => void): void } | undefined;
  await engine.persisted(order, "o", (entity) => void (kept = entity), { create: true });
  const over = (error: unknown) => error instanceof StatewrightError && error.code === "ACT_OVER";
  assert.throws(() => kept?.send("ship"), over);
  assert.throws(() => kept?.afterCommit(() => undefined), over);
});

test("an entity that is deleted while the act goes on is not brought back", async () => {
  const { engine, database } = await scene();
  await engine.entities.create("order", { entity_id: "o" });
  database.before = () => engine.entities.delete("order", "o");
  const act = engine.persisted(order, "o", (entity) => entity.send({ type: "pay", params: { amount: 1 } }));
  await refused(act, "NOT_FOUND");
  await refused(engine.entities.get("order", "o"), "NOT_FOUND");
});

test("children are decided with their parent, and a child that moved meanwhile is a conflict", async () => {
  const { engine, database } = await scene();
  const task = defineMachine({
    machine_id: "task",
    states: ["open", "started", "done"],
    initial_state: "open",
    transitions: [
      { from: "open", to: "started", on: "start" },
      { from: "started", to: "done", on: "finish" },
    ],
  });
  const work = defineMachine(
    {
      machine_id: "work",
      states: ["busy", "over"],
      initial_state: "busy",
      transitions: [],
      sub_machines: { busy: { machine_id: "task", lifecycle: "managed", on_final: { done: "over" } } },
    },
    { machines: [task] },
  );
  await engine.register(work);
  const target = [{ state: "busy" }];
  await engine.persisted(work, "w", () => undefined, { create: true });
  const seen: (string | undefined)[] = [];
  const start = { event_type: "start", target };
  database.before = () => engine.entities.transition("work", "w", start);
  await engine.persisted(work, "w", (entity) => {
    const [child] = entity.snapshot.children ?? [];
    seen.push(child?.current_state as string | undefined);
    if (child?.current_state === "open") entity.send({ type: "start", target });
    entity.send({ type: "finish", target });
    assert.equal(entity.state, "over");
  });
  assert.deepEqual(seen, ["open", "started"]);
  assert.equal((await engine.entities.get("work", "w")).current_state, "over");
});
