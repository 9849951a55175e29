// node:sqlite, which is a part of Node.js from 22.5 on.

import type { Database } from "../database.ts";
import { StatewrightError } from "../errors.ts";
import { Connection, type Driver } from "./connection.ts";

/** What of a database of node:sqlite (a `DatabaseSync`) is used. */
export interface NodeSqlite {
  prepare(sql: string): NodeSqliteStatement;
  close(): void;
  readonly isTransaction?: boolean;
}

/** What of its statements is used. */
export interface NodeSqliteStatement {
  run(...params: (string | number | null)[]): unknown;
  all(...params: (string | number | null)[]): unknown[];
  /** Versions of Node.js before 22.16 lack it. */
  columns?(): readonly unknown[];
  /** Versions of Node.js before 22.16 lack it. */
  setReturnArrays?(enabled: boolean): void;
}

/** How a file is opened. */
export interface NodeSqliteOptions {
  /**
   * `NORMAL`, the default, survives every crash of the program; one of the machine may cost the last commits. `FULL` waits for the
   * disk at each commit.
   */
  readonly synchronous?: "NORMAL" | "FULL" | undefined;
  /** How long a batch waits for another process that writes, in milliseconds: 5,000 when left out. */
  readonly busyTimeout?: number | undefined;
}

/**
 * A database of node:sqlite: the file at a path, which is made if it is missing, or a handle that its owner closes.
 *
 * A file is opened in WAL mode, readable for its owner alone if it is new. A handle is taken as it is.
 *
 * @throws StatewrightError `UNSUPPORTED_RUNTIME` where there is no node:sqlite.
 */
export function nodeSqlite(database: string | NodeSqlite, options: NodeSqliteOptions = {}): Database {
  if (typeof database !== "string") return new Connection(driver(database, false));
  return new Connection(driver(open(database, options), true));
}

/** A database in the memory of this process, by node:sqlite. */
export function nodeSqliteMemory(): Database {
  const { DatabaseSync } = builtin();
  return new Connection(driver(new DatabaseSync(":memory:"), true));
}

function builtin(): typeof import("node:sqlite") {
  const found = globalThis.process?.getBuiltinModule?.("node:sqlite");
  if (found === undefined) {
    const version = globalThis.process?.versions?.node;
    throw new StatewrightError(
      {
        code: "UNSUPPORTED_RUNTIME",
        message: `node:sqlite needs Node.js 22.5 or newer, and this is ${
          version === undefined ? "no Node.js" : `Node.js ${version}`
        }; betterSqlite3(), libsql() and memory(SQL) need no node:sqlite`,
        retry: false,
      },
      0,
    );
  }
  return found;
}

function open(path: string, { synchronous = "NORMAL", busyTimeout = 5_000 }: NodeSqliteOptions): NodeSqlite {
  const { DatabaseSync } = builtin();
  const fs = globalThis.process.getBuiltinModule("node:fs");
  // SQLite gives the files beside it the same mode.
  if (path !== ":memory:" && path !== "") fs.closeSync(fs.openSync(path, "a", 0o600));
  const handle = new DatabaseSync(path);
  try {
    handle.exec(`PRAGMA busy_timeout = ${Math.trunc(busyTimeout)}`);
    handle.exec("PRAGMA journal_mode = WAL");
    handle.exec(`PRAGMA synchronous = ${synchronous === "FULL" ? "FULL" : "NORMAL"}`);
  } catch (error) {
    handle.close();
    throw error;
  }
  return handle;
}

const CONSTRAINT = 19;

function driver(handle: NodeSqlite, owned: boolean): Driver {
  return {
    prepare(sql) {
      const statement = handle.prepare(sql);
      // Versions that cannot tell take every statement as one that gives rows.
      if (statement.columns?.().length === 0) {
        return (params) => {
          statement.run(...params);
          return NO_ROWS;
        };
      }
      if (statement.setReturnArrays === undefined) {
        return (params) => statement.all(...params).map((row) => Object.values(row as object)[0] as string);
      }
      statement.setReturnArrays(true);
      return (params) => (statement.all(...params) as string[][]).map((row) => row[0] as string);
    },
    isRefusal(error) {
      const { errcode } = error as { errcode?: unknown };
      return typeof errcode === "number" && (errcode & 255) === CONSTRAINT;
    },
    isInTransaction: () => handle.isTransaction ?? true,
    close() {
      if (owned) handle.close();
    },
  };
}

const NO_ROWS: readonly string[] = [];
