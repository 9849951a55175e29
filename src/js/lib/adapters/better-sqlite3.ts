// better-sqlite3, for Node.js of any version.

import type { Database } from "../database.ts";
import { Connection } from "./connection.ts";

/** What of a handle of better-sqlite3 is used. */
export interface BetterSqlite3 {
  prepare(sql: string): BetterSqlite3Statement;
  readonly inTransaction: boolean;
}

/** What of its statements is used. */
export interface BetterSqlite3Statement {
  readonly reader: boolean;
  raw(toggle?: boolean): unknown;
  all(...params: unknown[]): unknown[];
  run(...params: unknown[]): unknown;
}

/**
 * A database of better-sqlite3, whose owner opens and closes it. WAL mode makes it fast:
 * `handle.pragma("journal_mode = WAL")`, `handle.pragma("synchronous = NORMAL")`.
 */
export function betterSqlite3(handle: BetterSqlite3): Database {
  return new Connection({
    prepare(sql) {
      const statement = handle.prepare(sql);
      if (!statement.reader) {
        return (params) => {
          statement.run(...params);
          return NO_ROWS;
        };
      }
      statement.raw(true);
      return (params) => (statement.all(...params) as string[][]).map((row) => row[0] as string);
    },
    isRefusal(error) {
      const { code } = error as { code?: unknown };
      return typeof code === "string" && code.startsWith("SQLITE_CONSTRAINT");
    },
    isInTransaction: () => handle.inTransaction,
    close: () => undefined,
  });
}

const NO_ROWS: readonly string[] = [];
