// What the drivers have in common that answer at once: one connection, transactions by BEGIN and COMMIT, statements kept prepared.

import { ConstraintError, type Database, type Param, type Rows, type Statement } from "../database.ts";

/** A driver of SQLite that answers at once. */
export interface Driver {
  /** Prepares a statement. What comes of it runs it, and gives the first column of its rows. */
  prepare(sql: string): (params: readonly Param[]) => readonly string[];
  /** Whether an error is SQLite's refusal by a constraint or a RAISE. */
  isRefusal(error: Error): boolean;
  /** Whether a transaction is open. SQLite ends it by itself where it must. */
  isInTransaction(): boolean;
  close(): void;
}

/** A prepared statement. */
interface Prepared {
  readonly run: (params: readonly Param[]) => readonly string[];
  readonly reads: boolean;
}

/** Whether a statement changes nothing, by its first word. */
export function isRead(sql: string): boolean {
  return /^\s*(?:SELECT\b|WITH\b(?![^]*\b(?:INSERT|UPDATE|DELETE|REPLACE)\b))/i.test(sql);
}

const NONE: readonly Param[] = [];

/** The one connection of a driver. */
export class Connection implements Database {
  readonly #driver: Driver;
  readonly #prepared = new Map<string, Prepared>();

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  batch(statements: readonly Statement[]): Rows {
    try {
      return this.#transaction(statements);
    } catch (error) {
      if (error instanceof Error && this.#driver.isRefusal(error)) {
        throw new ConstraintError(error.message, { cause: error });
      }
      throw error;
    }
  }

  #transaction(statements: readonly Statement[]): Rows {
    // A statement may need what those before it make: it is prepared when its turn has come.
    const reads = statements.every(({ sql }) => this.#prepared.get(sql)?.reads ?? isRead(sql));
    // One that reads is a transaction by itself.
    if (reads && statements.length === 1) return statements.map(({ sql, params }) => this.#run(sql, params));
    this.#run(reads ? "BEGIN" : "BEGIN IMMEDIATE", NONE);
    try {
      const rows = statements.map(({ sql, params }) => this.#run(sql, params));
      this.#run("COMMIT", NONE);
      return rows;
    } catch (error) {
      if (this.#driver.isInTransaction()) this.#run("ROLLBACK", NONE);
      throw error;
    }
  }

  #run(sql: string, params: readonly Param[]): readonly string[] {
    return this.#prepare(sql).run(params);
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      prepared = { run: this.#driver.prepare(sql), reads: isRead(sql) };
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }

  close(): void {
    this.#prepared.clear();
    this.#driver.close();
  }
}
