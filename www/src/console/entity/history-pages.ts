// The history of an entity, the newest commit first.

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
  // The service lists the oldest rows first: the newest are at the end of all of them.
  const rows: HistoryRow[] = [];
  const query = { order: "id", limit: 1000 } as const;
  for await (const row of client().entities.history(machine, entity, query, { signal })) rows.push(row);
  rows.reverse();
  const start = cursor === undefined ? 0 : rows.findIndex(({ id }) => id < Number(cursor));
  const page = start < 0 ? [] : rows.slice(start, start + PAGE);
  const more = start >= 0 && start + PAGE < rows.length;
  return { rows: page, older: more ? page.at(-1)?.id.toString() : undefined };
}
