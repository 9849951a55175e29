// better-sqlite3, for Node.js of any version.

import type { Database, Param } from "../database.ts";
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
          statement.run(...named(params));
          return NO_ROWS;
        };
      }
      statement.raw(true);
      return (params) => (statement.all(...named(params)) as string[][]).map((row) => row[0] as string);
    },
    isRefusal(error) {
      const { code } = error as { code?: unknown };
      return typeof code === "string" && code.startsWith("SQLITE_CONSTRAINT");
    },
    isInTransaction: () => handle.inTransaction,
    close: () => undefined,
  });
}

/** Parameters `?1`, `?2`, … are names to better-sqlite3. */
function named(params: readonly Param[]): [] | [Record<number, Param>] {
  if (params.length === 0) return [];
  const byName: Record<number, Param> = {};
  params.forEach((param, place) => (byName[place + 1] = param));
  return [byName];
}

const NO_ROWS: readonly string[] = [];
