// The history of an entity, the newest first: by the timestamps of its events.

import type { HistoryRow } from "statewright/client";

import { client } from "../service.ts";
import type { Subject } from "./subject.ts";

/** Rows, the newest first. */
export interface HistoryPage {
  readonly rows: readonly HistoryRow[];
  /** What to give to go on with older rows; undefined where there are none. */
  readonly older: string | undefined;
}

/** How many rows are read at once. */
export const PAGE = 50;

/** Reads a page of the history; without a cursor the newest. */
export async function readHistory(
  { machine, entity }: Subject,
  signal: AbortSignal,
  cursor?: string,
): Promise<HistoryPage> {
  const query = { order: "newest", limit: PAGE, ...(cursor === undefined ? {} : { cursor }) } as const;
  const { items, next } = await client().entities.history(machine, entity, query, { signal });
  return { rows: items, older: next };
}
