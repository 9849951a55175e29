// All that a service knows of a tree, read so that its parts fit each other.

import type { Entity, HistoryRow } from "statewright/client";

import { type Family, readFamily, withinTree } from "./definitions.ts";
import type { Reader } from "../service.ts";

/** A tree with its histories and its definitions, as they were at one time. */
export interface LiveCopy extends Family {
  readonly tree: Entity;
  /** The rows of all entities of the tree, in the order of the commits. */
  readonly history: readonly HistoryRow[];
}

/** How far it is. */
export interface Progress {
  readonly read: number;
  readonly of: number;
}

/** How many histories are asked for at once. */
const AT_ONCE = 4;
/** Rows beyond that would fill the page's memory before anyone has looked at them. */
const MOST_ROWS = 50_000;
const TRIES = 3;

/** What changes whenever an entity of the tree does. */
function versions(tree: Entity): string {
  return JSON.stringify(
    Array.from(withinTree(tree), ({ machine_id, entity_id, state_version }) => [
      machine_id,
      entity_id,
      state_version,
    ]),
  );
}

async function historiesOf(
  client: Reader,
  tree: Entity,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<readonly HistoryRow[]> {
  const left = [...withinTree(tree)];
  const of = left.length;
  const rows: HistoryRow[] = [];
  let read = 0;
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const query = { order: "id", limit: 1000 } as const;
      for await (const row of client.entities.history(next.machine_id, next.entity_id, query, { signal })) {
        rows.push(row);
        if (rows.length > MOST_ROWS) {
          throw new Error(`the tree's history has more than ${MOST_ROWS} rows: too many for a fork`);
        }
      }
      read += 1;
      onProgress({ read, of });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return rows.sort((a, b) => a.id - b.id);
}

/**
 * Reads a tree, its histories and its definitions. Where the tree moved meanwhile it is read anew: rows of a later commit would
 * contradict the states of an earlier one.
 *
 * @throws StatewrightError what the service says against it.
 */
export async function readLiveCopy(
  client: Reader,
  machine: string,
  entity: string,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void = () => undefined,
): Promise<LiveCopy> {
  const readTree = (): Promise<Entity> => client.entities.get(machine, entity, { tree: true }, { signal });
  let tree = await readTree();
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const history = await historiesOf(client, tree, signal, onProgress);
    const after = await readTree();
    if (versions(after) === versions(tree)) {
      return { ...(await readFamily(client, after, signal)), tree: after, history };
    }
    tree = after;
  }
  throw new Error("the entity moves faster than it can be read; try again in a moment");
}
