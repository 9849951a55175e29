// @libsql/client: a file, sqld, or Turso.

import { ConstraintError, type Database, type Rows, type Statement } from "../database.ts";
import { isRead } from "./connection.ts";

/** What of a client of @libsql/client is used. */
export interface LibsqlClient {
  batch(
    statements: { sql: string; args: (string | number | null)[] }[],
    mode?: "read" | "write",
  ): Promise<{ rows: ArrayLike<ArrayLike<unknown>> }[]>;
}

/** A database of libSQL by its client, whose owner closes it. */
export function libsql(client: LibsqlClient): Database {
  return new LibsqlDatabase(client);
}

class LibsqlDatabase implements Database {
  readonly #client: LibsqlClient;
  /** The last batch: one connection serves them all, one by one. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: LibsqlClient) {
    this.#client = client;
  }

  batch(statements: readonly Statement[]): Promise<Rows> {
    const batch = this.#last.then(() => this.#run(statements));
    this.#last = batch.catch(() => undefined);
    return batch;
  }

  async #run(statements: readonly Statement[]): Promise<Rows> {
    const reads = statements.every(({ sql }) => isRead(sql));
    try {
      const results = await this.#client.batch(
        statements.map(({ sql, params }) => ({ sql, args: [...params] })),
        reads ? "read" : "write",
      );
      return results.map(({ rows }) => Array.from(rows, (row) => row[0] as string));
    } catch (error) {
      throw refused(error);
    }
  }
}

function refused(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (error instanceof Error && typeof code === "string" && code.startsWith("SQLITE_CONSTRAINT")) {
    return new ConstraintError(error.message, { cause: error });
  }
  return error;
}
