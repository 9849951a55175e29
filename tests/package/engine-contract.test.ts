// Every adapter passes one suite, so that switching is one line (S4.7); the suite itself notices an adapter that does not.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";

import { createClient } from "@libsql/client";
import initSqlJs from "sql.js";

import { type Database, libsql, memory, nodeSqlite } from "statewright/engine";
import { databaseContract, type DatabaseSubject } from "statewright/testing";

const folder = mkdtempSync(join(tmpdir(), "statewright-engine-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newFile = () => join(folder, `${(files += 1)}.db`);

/** A subject whose databases are files. */
function inFiles(open: (file: string) => Database): DatabaseSubject {
  let last = "";
  return {
    open: () => open((last = newFile())),
    reopen: () => open(last),
  };
}

const sqlJs = await initSqlJs();

const subjects: Record<string, DatabaseSubject> = {
  "nodeSqlite(path)": inFiles((file) => nodeSqlite(file)),
  "nodeSqlite(path, FULL)": inFiles((file) => nodeSqlite(file, { synchronous: "FULL" })),
  "nodeSqlite(handle)": inFiles((file) => nodeSqlite(new DatabaseSync(file))),
  "memory()": { open: () => memory() },
  "memory(SQL)": { open: () => memory(sqlJs) },
  "libsql(file)": inFiles((file) => libsql(createClient({ url: `file:${file}` }))),
  "libsql(memory)": { open: () => libsql(createClient({ url: ":memory:" })) },
};

for (const [adapter, subject] of Object.entries(subjects)) {
  describe(adapter, () => {
    for (const { name, run } of databaseContract(subject)) test(name, run);
  });
}

/** Runs a batch in its own way over a good database. */
function wrapped(
  batch: (good: Database, ...args: Parameters<Database["batch"]>) => ReturnType<Database["batch"]>,
) {
  const open = (): Database => {
    const good = memory();
    return { batch: (statements) => batch(good, statements), close: () => good.close?.() };
  };
  return { open };
}

const broken: Record<string, DatabaseSubject> = {
  "statement by statement": wrapped((good, statements) =>
    statements.map((statement) => (good.batch([statement]) as string[][])[0] ?? []),
  ),
  "errors of another name": wrapped((good, statements) => {
    try {
      return good.batch(statements);
    } catch (error) {
      throw new Error((error as Error).message);
    }
  }),
  "every error certain": wrapped((good, statements) => {
    try {
      return good.batch(statements);
    } catch (error) {
      throw Object.assign(new Error((error as Error).message), { name: "ConstraintError" });
    }
  }),
  "numbers as texts": wrapped((good, statements) =>
    good.batch(
      statements.map(({ sql, params }) => ({
        sql,
        params: params.map((param) => (typeof param === "number" ? `${param}.5` : param)),
      })),
    ),
  ),
  "texts in another normal form": wrapped((good, statements) =>
    good.batch(
      statements.map(({ sql, params }) => ({
        sql,
        params: params.map((param) => (typeof param === "string" ? param.normalize("NFC") : param)),
      })),
    ),
  ),
  "rows in another order": wrapped((good, statements) =>
    (good.batch(statements) as string[][]).map((rows) => rows.toReversed()),
  ),
  "parameters of 1 MB": wrapped((good, statements) => {
    const tooLong = (param: unknown) => typeof param === "string" && param.length > 1_000_000;
    if (statements.some(({ params }) => params.some(tooLong))) throw new Error("too long");
    return good.batch(statements);
  }),
};

for (const [what, subject] of Object.entries(broken)) {
  test(`the suite notices ${what}`, async () => {
    for (const { run } of databaseContract(subject)) {
      try {
        await run();
      } catch {
        return;
      }
    }
    assert.fail("no case failed");
  });
}
