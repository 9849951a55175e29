// What a database says where it refuses a batch.

import { ConstraintError } from "../database.ts";

/** What was thrown, as a {@link ConstraintError} where its words are those of SQLite for a constraint or a RAISE. */
export function refused(error: unknown): unknown {
  if (error instanceof Error && /SQLITE_CONSTRAINT|constraint failed/.test(error.message)) {
    return new ConstraintError(error.message, { cause: error });
  }
  return error;
}
