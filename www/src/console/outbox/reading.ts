// The outbox as the view reads it: the counts, and some rows from the start.

import type { OutboxItem, OutboxPage } from "statewright/client";

import { pageSize } from "../paging.ts";
import { client } from "../service.ts";
import type { Asked } from "./filters.ts";

/** What the view shows. */
export interface Outbox {
  readonly counts: OutboxPage["counts"];
  readonly oldestPending: number | null;
  readonly items: readonly OutboxItem[];
  /** Whether the service has more rows, or may have. */
  readonly more: boolean;
}

/** A page can be empty where few rows fit: so many are asked for beyond those that would be full. */
const SPARE_PAGES = 4;

/** The counts, and the first `count` rows that fit, or a page more. */
export async function readOutbox(
  query: Asked,
  { count, signal }: { readonly count: number; readonly signal: AbortSignal },
): Promise<Outbox> {
  const limit = pageSize(count);
  let first: OutboxPage | undefined;
  let more = false;
  let left = Math.ceil(count / limit) + SPARE_PAGES;
  const items: OutboxItem[] = [];
  for await (const page of client()
    .outbox.list({ ...query, limit }, { signal })
    .pages()) {
    first ??= page;
    items.push(...page.items);
    left -= 1;
    more = page.next !== undefined;
    if (items.length >= count || left === 0) break;
  }
  if (first === undefined) throw new Error("the outbox has no page");
  return { counts: first.counts, oldestPending: first.oldestPending, items, more };
}
