// Cloudflare D1.

import type { Database, Rows, Statement } from "../database.ts";
import { refused } from "./refused.ts";

/** What of a D1 binding is used. */
export interface D1Binding {
  prepare(sql: string): D1Prepared;
  batch(statements: D1Prepared[]): Promise<{ results?: unknown[] }[]>;
}

/** What of its statements is used. */
export interface D1Prepared {
  bind(...params: unknown[]): D1Prepared;
}

/** A database of D1 by its binding in a Worker. */
export function d1(binding: D1Binding): Database {
  return new D1Database(binding);
}

class D1Database implements Database {
  readonly #binding: D1Binding;
  readonly #prepared = new Map<string, D1Prepared>();

  constructor(binding: D1Binding) {
    this.#binding = binding;
  }

  async batch(statements: readonly Statement[]): Promise<Rows> {
    try {
      const bound = statements.map(({ sql, params }) => {
        const prepared = this.#prepare(sql);
        return params.length === 0 ? prepared : prepared.bind(...params);
      });
      const answers = await this.#binding.batch(bound);
      return answers.map(({ results = [] }) =>
        results.map((row) => Object.values(row as Record<string, unknown>)[0] as string),
      );
    } catch (error) {
      throw refused(error);
    }
  }

  #prepare(sql: string): D1Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      prepared = this.#binding.prepare(sql);
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }
}
