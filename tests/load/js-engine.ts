// What the engine of the package costs beside its own statements: events by `evaluate` over node:sqlite, and the very statements
// that they ran, run again by hand from JavaScript.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { createEngine, type Database, nodeSqlite, type Statement } from "statewright/engine";

import { median } from "./client.ts";

/** How fast both were, by the time of the processor: other programs may take it at any time. */
export interface EngineRates {
  /** Events a second through the engine. */
  readonly engine: number;
  /** Events a second by their bare statements. */
  readonly bare: number;
  /** The median of engine to bare over the rounds. */
  readonly ratio: number;
}

/** Seconds of the processor that this process has had. */
function spent(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** A flat machine that goes round, with a guard. */
const WHEEL = {
  machine_id: "wheel",
  states: ["here", "there"],
  initial_state: "here",
  transitions: [
    { from: "here", to: "there", on: "turn", guard: { field: "by", op: "gt", value: 0 } },
    { from: "there", to: "here", on: "turn" },
  ],
} as const;

const ENTITIES = 100;

function opened(file: string): DatabaseSync {
  const handle = new DatabaseSync(file);
  handle.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  return handle;
}

/** Notes every batch. */
class Recorder implements Database {
  readonly batches: Statement[][] = [];
  readonly #inner: Database;

  constructor(inner: Database) {
    this.#inner = inner;
  }

  batch(statements: readonly Statement[]) {
    this.batches.push(statements.map(({ sql, params }) => ({ sql, params: [...params] })));
    return this.#inner.batch(statements);
  }
}

async function sendAll(database: Database, events: number, beforeEvents?: () => void): Promise<number> {
  const engine = await createEngine({ database, clock: ticking() });
  // What is compiled once is compiled.
  await engine.entities.get("wheel", "w0");
  beforeEvents?.();
  const began = spent();
  for (let event = 0; event < events; event += 1) {
    const params = { id: `w${event % ENTITIES}`, by: 1 };
    await engine.evaluate("wheel", { event_type: "turn", entity_key: "id", params });
  }
  const took = spent() - began;
  await engine.close();
  return took;
}

/** A clock that the machine's own has no part in: both sides write the same. */
function ticking(): () => number {
  let now = 1_800_000_000_000;
  return () => (now += 1);
}

const READS = /^\s*(?:SELECT|WITH)\b/;

/** Runs batches by hand, as fast as node:sqlite lets it be done: prepared once, rows as arrays. */
function runBare(handle: DatabaseSync, batches: readonly Statement[][]): number {
  const prepared = new Map<string, StatementSync>();
  const run = (sql: string, params: Statement["params"]): number => {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = handle.prepare(sql);
      statement.setReturnArrays(true);
      prepared.set(sql, statement);
    }
    if (statement.columns().length > 0) return statement.all(...params).length;
    statement.run(...params);
    return 0;
  };
  const [begin, commit] = [handle.prepare("BEGIN IMMEDIATE"), handle.prepare("COMMIT")];
  const alone = batches.map((batch) => batch.length === 1 && READS.test(batch[0]?.sql ?? ""));
  let rows = 0;
  const began = spent();
  batches.forEach((batch, place) => {
    if (alone[place]) {
      for (const { sql, params } of batch) rows += run(sql, params);
      return;
    }
    begin.run();
    for (const { sql, params } of batch) rows += run(sql, params);
    commit.run();
  });
  const took = spent() - began;
  handle.close();
  if (rows === 0) throw new Error("nothing was read");
  return took;
}

/** Measures both in turns: medians over the rounds. */
export async function engineRates(events = 1_000, rounds = 15): Promise<EngineRates> {
  const folder = mkdtempSync(join(tmpdir(), "statewright-bench-"));
  try {
    const start = join(folder, "start.db");
    const setUp = await createEngine({ database: nodeSqlite(start), clock: ticking() });
    await setUp.machines.create(WHEEL);
    for (let at = 0; at < ENTITIES; at += 1) await setUp.entities.create("wheel", { entity_id: `w${at}` });
    await setUp.close();
    let copies = 0;
    const copy = (): string => {
      const file = join(folder, `${(copies += 1)}.db`);
      copyFileSync(start, file);
      return file;
    };
    const recorder = new Recorder(nodeSqlite(copy()));
    await sendAll(recorder, events, () => recorder.batches.splice(0));
    const [engine, bare, ratio]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < rounds; round += 1) {
      const ours = await sendAll(nodeSqlite(copy()), events);
      const theirs = runBare(opened(copy()), recorder.batches);
      engine.push(events / ours);
      bare.push(events / theirs);
      ratio.push(theirs / ours);
    }
    return { engine: median(engine), bare: median(bare), ratio: median(ratio) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] !== undefined && import.meta.filename === process.argv[1]) {
  const { engine, bare, ratio } = await engineRates();
  console.log(
    `engine ${engine.toFixed(0)}/s, bare statements ${bare.toFixed(0)}/s: ${ratio.toFixed(2)} of their rate`,
  );
}
