import initSqlJs from "sql.js";
import sqlWasm from "sql.js/dist/sql-wasm.wasm?url";
import * as core from "statewright";

import { durable, pure } from "./exercise.js";

/** What is awaited in a function: no module of the page awaits at its top level. */
async function main() {
  const done = pure(core);
  // A page that wants no engine loads none.
  const engine = await import("statewright/engine");
  const sql = await initSqlJs({ locateFile: () => sqlWasm });
  return { pure: done, durable: await durable(engine, engine.memory(sql)) };
}

main().then(
  (done) => (document.querySelector("output").textContent = JSON.stringify(done)),
  (error) => (document.querySelector("output").textContent = `${error.stack}`),
);
