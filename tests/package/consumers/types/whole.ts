// Every entry point, as a program uses them.

import { defineMachine } from "statewright";
import { createClient } from "statewright/client";
import { createEngine, type Database, memory, type Rows, type Statement } from "statewright/engine";
import { importXState } from "statewright/import-xstate";
import { databaseContract, paths } from "statewright/testing";
import worker, { createWorker } from "statewright/worker";

const door = defineMachine({
  machine_id: "door",
  states: ["closed", "open"],
  initial_state: "closed",
  transitions: [{ from: "closed", to: "open", on: "push" }],
});

export async function durable(): Promise<string> {
  const engine = await createEngine({ database: memory(), clock: () => 0 });
  await engine.register(door);
  const { machine_id } = await engine.machines.get("door");
  await engine.persisted(door, "front", (entity) => {
    entity.send("push");
  });
  await engine.close();
  return machine_id;
}

export const client = createClient({ url: "http://127.0.0.1:3050", tenant: "t1" });
export const listed: AsyncIterable<{ machine_id?: string }> = client.machines.list();

/** An adapter of one's own. */
export class Own implements Database {
  batch(statements: readonly Statement[]): Rows {
    return statements.map(() => []);
  }
}

export const others = [paths, importXState, databaseContract, worker, createWorker];
