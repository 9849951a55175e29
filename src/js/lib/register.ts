// Brings machines as a program has them into the database.

import { StatewrightError } from "./errors.ts";
import type { JsonDefinition } from "./definition.ts";
import type { Definition, Machine as Registered, Operations } from "./operations.ts";
import { canonical } from "./same.ts";
import type { Machine } from "./typed.ts";

/** Registers a machine and those of its children, unless they are registered so. */
export async function registered(
  operations: Pick<Operations, "machines">,
  machine: Machine | JsonDefinition,
): Promise<Registered> {
  if (!isMachine(machine)) return one(operations, machine as unknown as Definition);
  for (const child of machine.machines) await registered(operations, child);
  return one(operations, machine.definition as unknown as Definition);
}

function isMachine(machine: Machine | JsonDefinition): machine is Machine {
  return "definition" in machine && typeof machine.send === "function";
}

async function one({ machines }: Pick<Operations, "machines">, definition: Definition): Promise<Registered> {
  // One without an id is refused at once.
  const id = definition.machine_id ?? "";
  try {
    return await machines.create(definition);
  } catch (error) {
    if (!(error instanceof StatewrightError) || error.code !== "CONFLICT") throw error;
  }
  for await (const revision of machines.revisions(id, { limit: 1 })) {
    if (revision.head && canonical(revision.definition) === canonical(definition)) return machines.get(id);
    break;
  }
  return machines.replace(id, definition);
}
