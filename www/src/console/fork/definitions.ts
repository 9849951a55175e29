// The definitions of a tree, each at the revision that its entity runs by.

import type { JsonDefinition } from "statewright";
import { type Entity, type Machine, StatewrightError } from "statewright/client";

import type { Reader } from "../service.ts";

/** A machine of which entities of one tree run by several revisions. */
export interface Mixed {
  readonly machine_id: string;
  /** The revision that is shown. */
  readonly taken: number;
  readonly others: readonly number[];
}

/** The definitions of a tree. */
export interface Family {
  /** One of each machine: the root's first, then those of its children. */
  readonly definitions: readonly JsonDefinition[];
  /** Machines that a definition names for children, and that are not registered. */
  readonly missing: readonly string[];
  readonly mixed: readonly Mixed[];
}

/** An entity and all that is below it, outermost first. */
export function* withinTree(entity: Entity): Generator<Entity, void, undefined> {
  yield entity;
  for (const child of entity.children ?? []) yield* withinTree(child);
}

/** Whether an entity can still move: all but managed children that have ended. */
export function isLive({ instance }: Entity): boolean {
  return instance === undefined || instance.status === "active";
}

/** The machines of the children that a definition names. */
export function childMachines({ sub_machines, regions }: JsonDefinition): readonly string[] {
  const named = new Set<string>();
  for (const of of [sub_machines, ...(regions ?? []).map((region) => region.sub_machines)]) {
    for (const child of Object.values(of ?? {}) as readonly unknown[]) {
      if (typeof child !== "object" || child === null || !("machine_id" in child)) continue;
      if (typeof child.machine_id === "string") named.add(child.machine_id);
    }
  }
  return [...named];
}

/** The revisions that a tree's entities run by: by machine, those of live ones first. */
function revisionsOf(tree: Entity): Map<string, readonly number[]> {
  const entities = [...withinTree(tree)];
  const revisions = new Map<string, readonly number[]>();
  for (const { machine_id, revision } of [...entities.filter(isLive), ...entities]) {
    const known = revisions.get(machine_id) ?? [];
    if (!known.includes(revision)) revisions.set(machine_id, [...known, revision]);
  }
  return revisions;
}

/** A definition without what the service adds to it. */
function asWritten(machine: Machine): JsonDefinition {
  const { tenant_id, revision, content_hash, created_at, updated_at, warnings, ...definition } = machine;
  return definition;
}

/** A machine's definition at a revision; without one at its newest. Undefined where there is no such machine. */
async function definitionOf(
  client: Reader,
  machine: string,
  revision: number | undefined,
  signal: AbortSignal,
): Promise<JsonDefinition | undefined> {
  try {
    const head = await client.machines.get(machine, { signal });
    if (revision === undefined || head.revision === revision) return asWritten(head);
    for await (const one of client.machines.revisions(machine, { limit: 20 }, { signal })) {
      if (one.revision === revision) return one.definition;
    }
    return asWritten(head);
  } catch (error) {
    if (error instanceof StatewrightError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}

/**
 * Reads the definitions of a tree's machines, and of those that could yet start in it.
 *
 * @throws StatewrightError what the service says against it.
 */
export async function readFamily(client: Reader, tree: Entity, signal: AbortSignal): Promise<Family> {
  const revisions = revisionsOf(tree);
  const definitions = new Map<string, JsonDefinition>();
  const missing: string[] = [];
  const wanted = [...revisions.keys()];
  // What is found on the way is put at the end of what is gone through.
  for (const machine of wanted) {
    const definition = await definitionOf(client, machine, revisions.get(machine)?.[0], signal);
    if (definition === undefined) missing.push(machine);
    else {
      definitions.set(machine, definition);
      for (const child of childMachines(definition)) if (!wanted.includes(child)) wanted.push(child);
    }
  }
  const mixed = [...revisions].flatMap(([machine_id, [taken, ...others]]) =>
    taken === undefined || others.length === 0 ? [] : [{ machine_id, taken, others }],
  );
  return { definitions: [...definitions.values()], missing, mixed };
}
