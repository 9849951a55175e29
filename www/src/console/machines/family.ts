// The definitions of a machine's children, and of theirs: what a diagram opens, and a simulation needs.

import { type JsonDefinition, StatewrightError } from "statewright/client";

import { client } from "../service.ts";
import { definitionOf } from "./definition-text.ts";

/** More than a service lets one tree have levels of, and what a page can draw. */
const MOST = 32;

function childrenOf({ sub_machines, regions }: JsonDefinition): string[] {
  const places = [sub_machines, ...(regions ?? []).map((region) => region.sub_machines)];
  return places.flatMap((place) =>
    Object.values(place ?? {}).flatMap((child: unknown) => {
      const named =
        typeof child === "object" && child !== null && "machine_id" in child ? child.machine_id : child;
      return typeof named === "string" ? [named] : [];
    }),
  );
}

/** The definitions of all machines below one, each once; those that are not registered are left out. */
export async function familyOf(definition: JsonDefinition, signal?: AbortSignal): Promise<JsonDefinition[]> {
  const found = new Map<string, JsonDefinition | undefined>([[definition.machine_id, definition]]);
  let next = childrenOf(definition);
  while (next.length > 0) {
    const wanted = [...new Set(next)].filter((id) => !found.has(id)).slice(0, MOST - found.size);
    const read = await Promise.all(wanted.map((id) => readOne(id, signal)));
    wanted.forEach((id, at) => found.set(id, read[at]));
    next = read.flatMap((one) => (one === undefined ? [] : childrenOf(one)));
    if (wanted.length === 0) break;
  }
  found.delete(definition.machine_id);
  return [...found.values()].filter((one) => one !== undefined);
}

async function readOne(id: string, signal: AbortSignal | undefined): Promise<JsonDefinition | undefined> {
  try {
    return definitionOf(await client().machines.get(id, { signal }));
  } catch (error) {
    if (error instanceof StatewrightError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}
