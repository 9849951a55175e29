// A database as the engine sees it, and how its batches cross from WebAssembly.

import { readable } from "./thrown.ts";
import { kindOf } from "./wrong.ts";

/** A parameter of a statement: a text without NUL, a whole number within ±2^53, or null. */
export type Param = string | number | null;

/** A statement of SQLite's dialect with its parameters `?1`, `?2`, …. */
export interface Statement {
  /** The same string each time: a database may keep what it prepared for it. There are about a hundred. */
  readonly sql: string;
  readonly params: readonly Param[];
}

/** For each statement of a batch the rows that it gave, each by its one column, which is a text. */
export type Rows = readonly (readonly string[])[];

/**
 * A database of SQLite's dialect, version 3.43 or later. `databaseContract` of `statewright/testing` has the tests that it must
 * pass.
 *
 * The engine calls `batch` whenever it likes: one may begin before another has ended. Where a connection cannot do that, the
 * database sees to it that they wait for each other.
 */
export interface Database {
  /**
   * Runs statements in order in one transaction, all or nothing, and gives their rows: none for a statement that gives none. What
   * it gives is committed. It may give them at once or as a promise.
   *
   * @throws ConstraintError where a constraint or a trigger's RAISE refused the batch, so that for certain nothing of it is
   *   committed: the engine decides anew. Whatever else is thrown leaves that open, and the engine looks.
   */
  batch(statements: readonly Statement[]): Rows | PromiseLike<Rows>;

  /** Gives back what the database holds, once the engine is closed; what was opened elsewhere is closed there. */
  close?(): void | Promise<void>;
}

/** A constraint or a trigger's RAISE refused a batch: for certain nothing of it is committed. */
export class ConstraintError extends Error {
  override readonly name = "ConstraintError";

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
  }
}

/** Stands for null in a plan. */
const NULL = -1;
/** Stands before a number in a plan. */
const NUMBER = -2;
/** Ends a row. JSON escapes it. */
const ROW_END = "\u001e";

/** What the engine's WebAssembly calls: unpacks its batches, and packs their rows. src/js/engine/src/database.rs is the other end. */
export class Runner {
  readonly #database: Database;
  readonly #known: string[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /** Takes the text of the next statement. */
  learn(sql: string): void {
    this.#known.push(sql);
  }

  /** Runs a batch. `plan` is memory of WebAssembly: it is read before anything else happens. */
  run(plan: Float64Array, texts: string): string | Promise<string> {
    const statements = this.#unpack(plan, texts);
    try {
      const rows = this.#database.batch(statements);
      // A promise of another realm or library is no instance of this one's.
      return isThenable(rows) ? this.#later(rows) : pack(rows);
    } catch (error) {
      throw readable(error);
    }
  }

  async #later(rows: PromiseLike<Rows>): Promise<string> {
    try {
      return pack(await rows);
    } catch (error) {
      throw readable(error);
    }
  }

  #unpack(plan: Float64Array, texts: string): Statement[] {
    const statements: Statement[] = [];
    let at = 0;
    let begin = 0;
    const next = () => plan[at++] ?? 0;
    while (at < plan.length) {
      const sql = this.#known[next()] ?? "";
      const count = next();
      const params: Param[] = [];
      for (let left = count; left > 0; left -= 1) {
        const kind = next();
        if (kind === NULL) {
          params.push(null);
        } else if (kind === NUMBER) {
          params.push(next());
        } else {
          params.push(texts.slice(begin, begin + kind));
          begin += kind;
        }
      }
      statements.push({ sql, params });
    }
    return statements;
  }
}

function isThenable(rows: Rows | PromiseLike<Rows>): rows is PromiseLike<Rows> {
  return typeof (rows as Partial<PromiseLike<Rows>> | null | undefined)?.then === "function";
}

function pack(rows: Rows): string {
  if (!Array.isArray(rows)) {
    const given: unknown = rows;
    throw new TypeError(
      `batch gave ${given === undefined ? "nothing" : kindOf(given)}; expected rows for each statement`,
    );
  }
  let counts = "";
  let packed = "";
  for (const ofStatement of rows) {
    counts += counts === "" ? ofStatement.length : `,${ofStatement.length}`;
    for (const row of ofStatement) packed += row + ROW_END;
  }
  return `${counts}\n${packed}`;
}
