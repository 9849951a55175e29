// What the engine promises over any database (S4.7, S4.11 to S4.31).

import type { ContractCase, DatabaseSubject } from "../database-contract.ts";
import type { Database } from "../database.ts";
import { createEngine, type Engine, StatewrightError } from "../engine.ts";
import { all, holds, same, thrown } from "./checks.ts";

/** A flat machine with a guard. */
const ORDER = {
  machine_id: "order",
  states: ["pending", "paid", "shipped"],
  initial_state: "pending",
  transitions: [
    { from: "pending", to: "paid", on: "pay", guard: { field: "amount", op: "gt", value: 0 } },
    { from: "paid", to: "shipped", on: "ship" },
    { from: "shipped", to: "shipped", on: "note" },
  ],
} as const;

/** A parent that waits for a child, whose timer ends it. */
const WORK = [
  {
    machine_id: "task",
    states: ["open", "done"],
    initial_state: "open",
    transitions: [{ from: "open", to: "done", on: "$timeout", guard: { timeout_seconds: 60 } }],
  },
  {
    machine_id: "work",
    states: ["busy", "over"],
    initial_state: "busy",
    transitions: [],
    sub_machines: { busy: { machine_id: "task", lifecycle: "managed", on_final: { done: "over" } } },
  },
] as const;

const START = 1_800_000_000_000;

/** An engine in a case, with a clock of the case's own. */
interface Scene {
  readonly engine: Engine;
  readonly database: Database;
  now: number;
}

function on(subject: DatabaseSubject, name: string, run: (scene: Scene) => Promise<void>): ContractCase {
  return {
    name,
    async run() {
      const database = await subject.open();
      const clock = { now: START };
      const engine = await createEngine({ database, clock: () => clock.now, log: () => undefined });
      try {
        await engine.register(ORDER);
        await run({
          engine,
          database,
          get now() {
            return clock.now;
          },
          set now(now) {
            clock.now = now;
          },
        });
      } finally {
        await engine.close();
      }
    },
  };
}

async function refused(work: () => unknown, code: string, what: string): Promise<StatewrightError> {
  const error = await thrown(work, what);
  if (!(error instanceof StatewrightError)) throw new Error(`${what}: ${String(error)}`, { cause: error });
  same(error.code, code, `${what}: ${error.message}: the code`);
  return error;
}

function pay(engine: Engine, id: string, expected_version?: number) {
  const event = { event_type: "pay", entity_key: "id", params: { id, amount: 5 } };
  return engine.evaluate("order", expected_version === undefined ? event : { ...event, expected_version });
}

const SURROGATE = "\ud800";

export function engineCases(subject: DatabaseSubject): ContractCase[] {
  return [
    on(
      subject,
      "S4.11, S4.12: what is missing is NOT_FOUND, to be read and to be deleted",
      async ({ engine }) => {
        await refused(() => engine.entities.get("order", "none"), "NOT_FOUND", "read");
        await refused(() => engine.entities.delete("order", "none"), "NOT_FOUND", "deleted");
        await refused(() => engine.entities.get("nothing", "none"), "NOT_FOUND", "of no machine");
      },
    ),
    on(subject, "S4.13: an event that expects version 0 makes its entity", async ({ engine }) => {
      same((await pay(engine, "o", 0)).state_version, 2, "made at 1, moved to 2");
      await refused(() => pay(engine, "o", 0), "VERSION_CONFLICT", "made again");
    }),
    on(subject, "S4.14: an event that expects no version is unconditional", async ({ engine }) => {
      await engine.entities.create("order", { entity_id: "o" });
      same((await pay(engine, "o")).current_state, "paid", "state");
    }),
    on(subject, "S4.15: another version is VERSION_CONFLICT with both versions", async ({ engine }) => {
      await engine.entities.create("order", { entity_id: "o" });
      const moved = await refused(() => pay(engine, "o", 7), "VERSION_CONFLICT", "another version");
      same([moved.details["expected"], moved.details["actual"]], [7, 1], "versions");
      const missing = await refused(() => pay(engine, "none", 7), "VERSION_CONFLICT", "a missing one");
      same([missing.details["expected"], missing.details["actual"]], [7, null], "versions");
    }),
    on(
      subject,
      "S4.16: versions begin at 1, grow by 1, and begin again after a deletion",
      async ({ engine }) => {
        const made = await engine.entities.create("order", { entity_id: "o" });
        same(made.state_version, 1, "made");
        same((await pay(engine, "o")).state_version, 2, "paid");
        await engine.entities.transition("order", "o", { event_type: "ship" });
        const { state_version: version } = await engine.entities.get("order", "o");
        same(version, 3, "shipped");
        await engine.entities.delete("order", "o");
        same((await engine.entities.create("order", { entity_id: "o" })).state_version, 1, "made again");
      },
    ),
    on(subject, "S4.17: updated_at grows with each commit", async (scene) => {
      const { engine } = scene;
      await engine.entities.create("order", { entity_id: "o" });
      scene.now += 1_000;
      await pay(engine, "o");
      same((await engine.entities.get("order", "o")).updated_at, START + 1_000, "updated_at");
    }),
    on(subject, "S4.18: lists are sorted by code point", async ({ engine }) => {
      const ids = ["b", "a", "B", "é", "z", "\u{1f600}", "\uffe5", "10", "9"];
      for (const entity_id of ids) await engine.entities.create("order", { entity_id });
      const listed = await all(engine.entities.list("order"));
      same(
        listed.map(({ entity_id }) => entity_id),
        ["10", "9", "B", "a", "b", "z", "é", "\uffe5", "\u{1f600}"],
        "ids",
      );
    }),
    on(
      subject,
      "S4.19, S4.21: limits are from 1 to 1000, and a page says where the next one begins",
      async ({ engine }) => {
        for (let id = 10; id < 35; id += 1) await engine.entities.create("order", { entity_id: `${id}` });
        await refused(() => engine.entities.list("order", { limit: 0 }), "BAD_REQUEST", "0");
        await refused(() => engine.entities.list("order", { limit: -1 }), "BAD_REQUEST", "-1");
        const first = await engine.entities.list("order", { limit: 10 });
        same([first.items.length, first.next !== undefined], [10, true], "the first page");
        const every = await all(engine.entities.list("order", { limit: 10 }));
        same(every.length, 25, "all pages");
      },
    ),
    on(subject, "S4.20: a prefix takes % and _ for themselves", async ({ engine }) => {
      for (const entity_id of ["a%b", "a_b", "axb", "a\\b", "A%b"]) {
        await engine.entities.create("order", { entity_id });
      }
      for (const prefix of ["a%", "a_", "a\\"]) {
        const listed = await all(engine.entities.list("order", { prefix }));
        same(
          listed.map(({ entity_id }) => entity_id),
          [`${prefix}b`],
          `prefix ${prefix}`,
        );
      }
    }),
    on(
      subject,
      "S4.22: a damaged row is CORRUPT_INSTANCE, and is not written over",
      async ({ engine, database }) => {
        await pay(engine, "o");
        const damage = {
          sql: "UPDATE entries SET state = ?1 WHERE entity_id = ?2",
          params: ["nowhere", "o"],
        };
        await database.batch([damage]);
        await refused(() => engine.entities.get("order", "o"), "CORRUPT_INSTANCE", "read");
        const ship = () => engine.entities.transition("order", "o", { event_type: "ship" });
        await refused(ship, "CORRUPT_INSTANCE", "moved");
        await database.batch([{ ...damage, params: ["paid", "o"] }]);
        same((await ship()).current_state, "shipped", "mended by hand");
      },
    ),
    on(subject, "S4.25, S4.31: bad arguments are BAD_REQUEST", async ({ engine }) => {
      const bad = ["", "x".repeat(257), "a\0b", `a${SURROGATE}`];
      for (const entity_id of bad) {
        const what = JSON.stringify(entity_id).slice(0, 40);
        await refused(() => engine.entities.create("order", { entity_id }), "BAD_REQUEST", what);
      }
      await refused(() => engine.entities.get("order", SURROGATE), "BAD_REQUEST", "a surrogate in the path");
      const params = { id: "o", amount: SURROGATE };
      const event = { event_type: "pay", entity_key: "id", params };
      await refused(() => engine.evaluate("order", event), "BAD_REQUEST", "a surrogate in a param");
      const longest = "x".repeat(256);
      await engine.entities.create("order", { entity_id: longest });
      same((await engine.entities.get("order", longest)).entity_id, longest, "the longest id");
    }),
    on(subject, "S4.29: an entity that is deleted leaves nothing behind", async ({ engine, database }) => {
      for (let round = 0; round < 25; round += 1) {
        await pay(engine, "o");
        await engine.entities.delete("order", "o");
      }
      for (const table of ["entities", "entries", "history", "inbox", "instances"]) {
        const [rows] = await database.batch([
          { sql: `SELECT json_array(count(*)) FROM ${table}`, params: [] },
        ]);
        same(rows, ["[0]"], table);
      }
    }),
    on(
      subject,
      "S4.30: a context above its bound is PAYLOAD_TOO_LARGE, one below it is kept whole",
      async ({ engine }) => {
        const context = { text: "é".repeat(100_000) };
        await engine.entities.create("order", { entity_id: "o", context });
        same((await engine.entities.get("order", "o")).context, context, "the context");
        const large = { text: "x".repeat(2_000_000) };
        const create = () => engine.entities.create("order", { entity_id: "large", context: large });
        await refused(create, "PAYLOAD_TOO_LARGE", "a large one");
      },
    ),
    on(subject, "an event that is sent again is applied once", async ({ engine }) => {
      const event = { event_type: "pay", entity_key: "id", params: { id: "o", amount: 5 }, timestamp: 1 };
      same((await engine.evaluate("order", event)).state_version, 2, "applied");
      same((await engine.evaluate("order", event)).transition, null, "again");
      const options = { idempotencyKey: "k" };
      const keyed = { ...event, params: { id: "p", amount: 5 } };
      const first = await engine.evaluate("order", keyed, options);
      same(await engine.evaluate("order", keyed, options), first, "the same answer");
    }),
    on(subject, "of events for one version that are sent together one is applied", async ({ engine }) => {
      await engine.entities.create("order", { entity_id: "o" });
      const ends = await Promise.allSettled(Array.from({ length: 8 }, () => pay(engine, "o", 1)));
      same(ends.filter(({ status }) => status === "fulfilled").length, 1, "applied");
      same((await engine.entities.get("order", "o")).state_version, 2, "version");
    }),
    on(subject, "events that are sent together are all applied", async ({ engine }) => {
      await pay(engine, "o");
      await engine.entities.transition("order", "o", { event_type: "ship" });
      const note = () => engine.entities.transition("order", "o", { event_type: "note" });
      await Promise.all(Array.from({ length: 10 }, note));
      same((await engine.entities.get("order", "o")).state_version, 13, "version");
    }),
    on(subject, "a batch of events is applied, each on its own", async ({ engine }) => {
      const events = Array.from({ length: 100 }, (_, at) => ({
        event_type: "pay",
        entity_key: "id",
        params: { id: `o${at % 50}`, amount: at < 50 ? 1 : 0 },
      }));
      const { total, failed, results } = await engine.evaluateBatch("order", events);
      same([total, failed, results.length], [100, 0, 100], "results");
      const [paid] = (await engine.machines.counts("order")).filter(({ state }) => state === "paid");
      same(paid?.entities, 50, "paid");
    }),
    on(subject, "timers fire in children, and end their parents", async (scene) => {
      const { engine } = scene;
      for (const definition of WORK) await engine.register(definition);
      await engine.entities.create("work", { entity_id: "w" });
      same((await engine.tick()).timers.fired, 0, "too early");
      scene.now += 60_000;
      const { timers } = await engine.tick();
      same([timers.fired, timers.failed], [1, 0], "fired");
      same((await engine.entities.get("work", "w")).current_state, "over", "state");
      const history = await all(engine.entities.history("work", "w"));
      holds(
        history.some(({ event_type }) => event_type === "$sub_complete"),
        "the history tells of it",
      );
    }),
    on(subject, "tenants are apart", async ({ engine }) => {
      const other = engine.forTenant("other");
      await pay(engine, "o");
      await refused(() => other.entities.get("order", "o"), "NOT_FOUND", "an entity");
      same(await all(other.machines.list()), [], "machines");
    }),
    ...kept(subject),
  ];
}

function kept(subject: DatabaseSubject): ContractCase[] {
  const { reopen } = subject;
  if (reopen === undefined) return [];
  return [
    {
      name: "S4.7: everything goes on where it was when the database is opened again",
      async run() {
        const first = await createEngine({ database: await subject.open() });
        try {
          await first.register(ORDER);
          await pay(first, "o");
        } finally {
          await first.close();
        }
        const second = await createEngine({ database: await reopen() });
        try {
          const shipped = await second.entities.transition("order", "o", { event_type: "ship" });
          same([shipped.current_state, shipped.state_version], ["shipped", 3], "it goes on");
        } finally {
          await second.close();
        }
      },
    },
  ];
}
