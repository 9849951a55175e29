// The SQLite of a Durable Object.

import type { Database, Rows, Statement } from "../database.ts";
import { refused } from "./refused.ts";

/** What of a Durable Object's storage is used. */
export interface DurableObjectStorage {
  readonly sql: {
    exec(sql: string, ...params: unknown[]): { raw(): Iterable<unknown[]> };
  };
  transactionSync<T>(run: () => T): T;
}

/** The database of a Durable Object by its `ctx.storage`; its class must be one of `new_sqlite_classes`. */
export function durableObject(storage: DurableObjectStorage): Database {
  return {
    batch(statements: readonly Statement[]): Rows {
      try {
        return storage.transactionSync(() => statements.map((statement) => run(storage, statement)));
      } catch (error) {
        throw refused(error);
      }
    },
  };
}

function run({ sql }: DurableObjectStorage, statement: Statement): string[] {
  const cursor = sql.exec(statement.sql, ...statement.params);
  return Array.from(cursor.raw(), (row) => row[0] as string);
}
