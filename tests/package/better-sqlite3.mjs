// Runs the suite of databases over better-sqlite3, under the Node.js that it was built for; prints what failed as JSON.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import Sqlite from "better-sqlite3";

import { betterSqlite3 } from "statewright/engine";
import { databaseContract } from "statewright/testing";

const folder = mkdtempSync(join(tmpdir(), "statewright-better-"));
let files = 0;
let file = "";

function open() {
  const handle = new Sqlite(file);
  handle.pragma("journal_mode = WAL");
  handle.pragma("synchronous = NORMAL");
  return betterSqlite3(handle);
}

const subject = {
  open() {
    file = join(folder, `${(files += 1)}.db`);
    return open();
  },
  reopen: open,
};

const outcomes = [];
for (const { name, run } of databaseContract(subject)) {
  const error = await run().then(
    () => undefined,
    (error) => String(error.stack ?? error),
  );
  outcomes.push({ name, error });
}
rmSync(folder, { recursive: true, force: true });
console.log(JSON.stringify(outcomes));
