// Many effects at once: how many a filter means before it is done, and call after call until it is. Pure.

/** What a count needs of a page of the outbox. */
interface Page {
  readonly items: readonly { readonly created_at: number; readonly phase: string | null }[];
}

/** How many effects fit a filter. */
export interface Tally {
  readonly count: number;
  /** Whether there may be others: the count ended before the list did. */
  readonly more: boolean;
  /** How many are under way. */
  readonly claimed: number;
  /** When the newest of them was made; undefined where there are none, or where not all were seen. */
  readonly newest: number | undefined;
}

/** Beyond so many they are not counted one by one. */
const MOST_COUNTED = 10_000;
/** Pages can be empty: a filter that few effects fit is not followed for ever. */
const MOST_PAGES = 40;

/** Counts what pages hold. */
export async function tally(pages: AsyncIterable<Page>): Promise<Tally> {
  let [count, claimed, read, newest] = [0, 0, 0, 0];
  let more = false;
  for await (const { items } of pages) {
    // There is a page behind the last one that was to be counted.
    if (count >= MOST_COUNTED || read >= MOST_PAGES) {
      more = true;
      break;
    }
    read += 1;
    count += items.length;
    for (const { created_at, phase } of items) {
      newest = Math.max(newest, created_at);
      if (phase === "claimed") claimed += 1;
    }
  }
  return { count, more, claimed, newest: more || count === 0 ? undefined : newest };
}

/** What one call for many effects did. */
export interface Step {
  readonly changed: number;
  /** Where the next call goes on; undefined where nothing is left. */
  readonly cursor: string | undefined;
}

/**
 * Calls until nothing is left, and gives how many were changed; `onChanged` is told that after each call, and so knows it where a later
 * one fails.
 */
export async function sweep(
  call: (cursor: string | undefined, changed: number) => Promise<Step>,
  onChanged: (changed: number) => void,
): Promise<number> {
  let changed = 0;
  let cursor: string | undefined;
  do {
    const step: Step = await call(cursor, changed);
    // It would go on so for ever.
    if (step.cursor !== undefined && step.cursor === cursor) throw new Error("the service does not go on");
    changed += step.changed;
    onChanged(changed);
    cursor = step.cursor;
  } while (cursor !== undefined);
  return changed;
}
