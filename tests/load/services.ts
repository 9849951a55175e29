// The two services of a comparison: Statewright, and the floor on the same runtime with the same tables.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "../../scripts/paths.ts";
import { type Runtime, startRuntime } from "../../scripts/runtime.ts";
import { Client } from "./client.ts";

const KEY = "load-key";
const TENANT = "t1";
export const MACHINE = "wheel";

/** A flat machine that every event moves. */
const WHEEL = {
  machine_id: MACHINE,
  states: ["here", "there"],
  initial_state: "here",
  transitions: [
    { from: "here", to: "there", on: "turn" },
    { from: "there", to: "here", on: "turn" },
  ],
};

/** A service under load. */
export interface Subject {
  readonly runtime: Runtime;
  readonly client: Client;
  /** Where events go, and where batches of them go. */
  readonly one: string;
  readonly many: string;
  stop(): Promise<void>;
}

function subject(runtime: Runtime, client: Client, one: string, many: string): Subject {
  return {
    runtime,
    client,
    one,
    many,
    async stop() {
      client.close();
      await runtime.stop();
    },
  };
}

/** Statewright with the machine of the load, its database in `data`. */
export async function statewright(
  data: string,
  definition: object = WHEEL,
  more: Record<string, string> = {},
): Promise<Subject> {
  const settings = { ENVIRONMENT: "development", API_KEY: KEY, LOG_LEVEL: "warn", ...more };
  const runtime = await startRuntime({ data, settings });
  const client = new Client(runtime.url, { authorization: `Bearer ${KEY}`, "x-tenant-id": TENANT });
  await client.post("/api/machines", JSON.stringify(definition));
  const path = `/api/machines/${MACHINE}/evaluate`;
  return subject(runtime, client, path, `${path}/batch`);
}

/** Statewright with a machine that calls `url` whenever it turns. */
export function telling(data: string, url: string): Promise<Subject> {
  const actions = WHEEL.states.map((state) => ({ on_enter: state, action: { type: "webhook", url } }));
  // An invocation ends as soon as nothing is due.
  const settings = { WEBHOOK_ALLOW: "127.0.0.1", STATE_PERIOD: "60", TIMEOUT_INTERVAL_SECS: "60" };
  return statewright(data, { ...WHEEL, actions }, settings);
}

/** The tables and indexes that a migration makes, without its triggers. */
function tables(migration: string): string[] {
  return readFileSync(join(ROOT, "src", "engine", "migrations", migration), "utf8")
    .split("\n\n")
    .map((statement) => statement.replace(/^--.*\n/gm, "").trim())
    .filter((statement) => /^CREATE (TABLE|INDEX|UNIQUE INDEX) /.test(statement));
}

/** The tables of an event and of what it tells, and two tables more. */
function floorSchema(): string[] {
  return [
    ...tables("0001_initial.sql"),
    ...tables("0003_effects.sql").filter((statement) => / (outbox|inbox) /.test(statement)),
    "CREATE TABLE floor_effects (uid TEXT, seq INTEGER, body TEXT, PRIMARY KEY (uid, seq)) STRICT, WITHOUT ROWID",
    "CREATE TABLE floor_receipts (uid TEXT, key TEXT, answer TEXT, PRIMARY KEY (uid, key)) STRICT, WITHOUT ROWID",
  ];
}

/**
 * The floor with the same machine and `entities`, which it cannot make. Its database is in `data`. With a `sink`, its events
 * tell that one.
 */
export async function floor(data: string, entities: readonly string[], sink?: string): Promise<Subject> {
  const script = readFileSync(new URL("floor.js", import.meta.url), "utf8");
  const settings = sink === undefined ? {} : { SINK: sink };
  const runtime = await startRuntime({ data, script, settings });
  for (const statement of floorSchema()) await runtime.sql(statement);
  await runtime.sql(
    "INSERT INTO machines (tenant, machine_id, head, created_at, updated_at) VALUES (?1, ?2, 1, 0, 0)",
    TENANT,
    MACHINE,
  );
  await runtime.sql(
    "INSERT INTO revisions (tenant, machine_id, revision, effective, content_hash, definition, commit_id, created_at) VALUES (?1, ?2, 1, 1, 'sha256:0', ?3, '', 0)",
    TENANT,
    MACHINE,
    JSON.stringify(WHEEL),
  );
  const client = new Client(runtime.url);
  await client.post("/make", JSON.stringify(entities));
  return subject(runtime, client, sink === undefined ? "/event" : "/telling", "/batch");
}

/** A service with that many armed timers, none of which is due. */
export async function armed(data: string, timers: number): Promise<Subject> {
  const lamp = {
    machine_id: MACHINE,
    states: ["on", "off"],
    initial_state: "on",
    transitions: [{ from: "on", to: "off", on: "$timeout", guard: { timeout_seconds: 10_000_000 } }],
  };
  const service = await statewright(data, lamp);
  await service.client.post(`/api/machines/${MACHINE}/entities`, JSON.stringify({ entity_id: "e" }));
  const copies = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
  // Its columns but those that must differ, from the one entity that the service itself made.
  await service.runtime.sql(
    `${copies} INSERT INTO entities (tenant, machine_id, entity_id, uid, revision, state_version, next_seq, context, initial_context, created_at, updated_at) SELECT tenant, machine_id, entity_id || i, uid || i, revision, state_version, next_seq, context, initial_context, created_at, updated_at FROM n CROSS JOIN entities WHERE entity_id = 'e'`,
    timers - 1,
  );
  await service.runtime.sql(
    `${copies} INSERT INTO entries (uid, region, tenant, machine_id, entity_id, state, seq, entered_at, revision, due_at, wake_at) SELECT uid || i, region, tenant, machine_id, entity_id || i, state, seq, entered_at, revision, due_at + i, wake_at + i FROM n CROSS JOIN entries WHERE entity_id = 'e'`,
    timers - 1,
  );
  const [row] = await service.runtime.sql("SELECT count(wake_at) AS armed FROM entries");
  if (row?.["armed"] !== timers) throw new Error(`${String(row?.["armed"])} timers are armed, not ${timers}`);
  return service;
}
