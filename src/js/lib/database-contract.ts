// What a database must do for the engine, as tests that any runner can run: proof for an adapter of one's own.

import { engineCases } from "./database-contract/engine.ts";
import { statementCases } from "./database-contract/statements.ts";
import { transactionCases } from "./database-contract/transactions.ts";
import type { Database } from "./database.ts";

/** A database to be proven. */
export interface DatabaseSubject {
  /** Opens a new, empty database. */
  open(): Database | Promise<Database>;
  /** Opens the database again that was opened last, after it was closed; left out where nothing outlives it. */
  reopen?(): Database | Promise<Database>;
}

/** A test of the contract. */
export interface ContractCase {
  /** What it proves, in a sentence. */
  readonly name: string;
  /** Fails where the database does not do so. */
  run(): Promise<void>;
}

/**
 * The tests that a database must pass. Each opens a database of its own, and closes it.
 *
 * @example
 * for (const { name, run } of databaseContract({ open: () => myDatabase() })) test(name, run);
 */
export function databaseContract(subject: DatabaseSubject): ContractCase[] {
  return [...statementCases(subject), ...transactionCases(subject), ...engineCases(subject)];
}
