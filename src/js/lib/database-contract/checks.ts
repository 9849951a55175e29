// What the cases of the contract are written with.

import type { ContractCase, DatabaseSubject } from "../database-contract.ts";
import type { Database, Param, Rows, Statement } from "../database.ts";
import { canonical } from "../same.ts";

/** Fails unless two values are the same as JSON. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [canonical(actual), canonical(expected)];
  if (found !== wanted) throw new Error(`${what}: ${shown(found)} instead of ${shown(wanted)}`);
}

/** Fails unless something holds. */
export function holds(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

/** What is thrown; fails where nothing is. */
export async function thrown(work: () => unknown, what: string): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error(`${what}: nothing was thrown`);
}

/** All that comes. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function shown(text: string | undefined): string {
  const whole = text ?? "undefined";
  return whole.length > 200 ? `${whole.slice(0, 200)}…` : whole;
}

/** A statement. */
export function sql(text: string, ...params: Param[]): Statement {
  return { sql: text, params };
}

/** A database in a case, with what cases ask of it. */
export class Subject {
  readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Runs a batch. What is thrown at once is thrown as what comes later is. */
  async batch(...statements: Statement[]): Promise<Rows> {
    return this.database.batch(statements);
  }

  /** The rows of one statement. */
  async rows(text: string, ...params: Param[]): Promise<readonly string[]> {
    const [rows = []] = await this.batch(sql(text, ...params));
    return rows;
  }
}

/** A case with a database of its own. */
export function on(
  subject: DatabaseSubject,
  name: string,
  run: (subject: Subject) => Promise<void>,
): ContractCase {
  return {
    name,
    async run() {
      const database = await subject.open();
      try {
        await run(new Subject(database));
      } finally {
        await database.close?.();
      }
    },
  };
}
