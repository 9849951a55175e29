// Lists as the console shows them: some rows from the start, and more when asked.

import type { Listing } from "statewright/client";

/** The first rows of a list. */
export interface Rows<T> {
  readonly items: readonly T[];
  /** Whether the service has more. */
  readonly more: boolean;
}

/** Rows that one request asks for; more are more pages, each by the cursor of the one before. */
const PAGE = 200;

/** The `limit` for {@link firstRows} of that many rows. */
export function pageSize(count: number): number {
  return Math.min(count, PAGE);
}

/** Pages can be empty, where few rows fit: so many more than would do are read, and not one after another for ever. */
const SPARE_PAGES = 100;

/** The first `count` rows of a list whose pages are of {@link pageSize}, or a page more. */
export async function firstRows<T>(listing: Listing<T>, count: number): Promise<Rows<T>> {
  const items: T[] = [];
  let left = Math.ceil(count / pageSize(count)) + SPARE_PAGES;
  for await (const page of listing.pages()) {
    items.push(...page.items);
    left -= 1;
    if (page.next === undefined) return { items, more: false };
    if (items.length >= count || left === 0) break;
  }
  return { items, more: true };
}
