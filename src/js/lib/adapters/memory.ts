// A database in memory: by node:sqlite in Node.js, by sql.js wherever else.

import type { Database } from "../database.ts";
import { Connection, type Driver } from "./connection.ts";
import { nodeSqliteMemory } from "./node-sqlite.ts";

/** What of an initialised module of sql.js is used: `await initSqlJs()`. */
export interface SqlJs {
  readonly Database: new (data?: Uint8Array | null) => SqlJsDatabase;
}

/** What of its databases is used. */
export interface SqlJsDatabase {
  prepare(sql: string): SqlJsStatement;
  run(sql: string): unknown;
  close(): void;
}

/** What of its statements is used. */
export interface SqlJsStatement {
  bind(params?: (string | number | null)[] | null): boolean;
  step(): boolean;
  get(): unknown[];
  reset(): void;
  free(): boolean;
}

/**
 * A database in memory, which is gone when the engine is closed: by node:sqlite in Node.js 22.5 or newer; wherever else by sql.js,
 * whose initialised module is given: `memory(await initSqlJs())`.
 *
 * @throws StatewrightError `UNSUPPORTED_RUNTIME` where there is neither.
 */
export function memory(module?: SqlJs): Database {
  return module === undefined ? nodeSqliteMemory() : new Connection(driver(new module.Database()));
}

/** SQLite's words for what a constraint or a trigger of the schema refuses: sql.js gives no codes. */
const REFUSAL = /constraint failed|^statewright:|^cannot store /;

function driver(database: SqlJsDatabase): Driver {
  const kept: SqlJsStatement[] = [];
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      kept.push(statement);
      return (params) => {
        const rows: string[] = [];
        try {
          statement.bind([...params]);
          while (statement.step()) rows.push(statement.get()[0] as string);
        } finally {
          statement.reset();
        }
        return rows;
      };
    },
    isRefusal: (error) => REFUSAL.test(error.message),
    // Nothing but its own transactions is ever open, and SQLite ends none of those in memory.
    isInTransaction: () => true,
    close() {
      for (const statement of kept) statement.free();
      database.close();
    },
  };
}
