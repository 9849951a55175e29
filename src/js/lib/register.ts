// Brings machines as a program has them into the database.

import type { Definition, JsonDefinition } from "./definition.ts";
import { StatewrightError } from "./errors.ts";
import { isObject } from "./json-value.ts";
import { isMachine } from "./kin.ts";
import type { Machine as Registered, Operations } from "./operations.ts";
import { canonical } from "./same.ts";
import type { Machine } from "./typed.ts";
import { kindOf, wrong } from "./wrong.ts";

/** What a registration came to. */
export interface Registration {
  readonly machine: Registered;
  /** Whether the machine is new, was there as it is, or has a new revision. */
  readonly came: "made" | "same" | "replaced";
}

/** Registers a machine and those of its children, unless they are registered so. */
export async function registered(
  operations: Pick<Operations, "machines">,
  machine: Machine | JsonDefinition,
): Promise<Registered> {
  if (isMachine(machine)) {
    for (const child of machine.machines) await registered(operations, child);
    return (await registration(operations, machine.definition)).machine;
  }
  if (!isObject(machine)) {
    throw wrong(
      "machine",
      `it is ${kindOf(machine)}`,
      "a machine that `defineMachine` gave, or a definition",
    );
  }
  return (await registration(operations, machine as JsonDefinition)).machine;
}

/** Registers a definition, unless it is registered so. */
export async function registration(
  { machines }: Pick<Operations, "machines">,
  definition: Definition | JsonDefinition,
): Promise<Registration> {
  try {
    return { machine: await machines.create(definition), came: "made" };
  } catch (error) {
    if (!(error instanceof StatewrightError) || error.code !== "CONFLICT") throw error;
  }
  const id = definition.machine_id;
  const { items: revisions } = await machines.revisions(id, { limit: 1 });
  const isSame = revisions.some((one) => one.head && canonical(one.definition) === canonical(definition));
  if (isSame) return { machine: await machines.get(id), came: "same" };
  return { machine: await machines.replace(id, definition), came: "replaced" };
}
