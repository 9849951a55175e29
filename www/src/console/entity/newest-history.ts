// The newest rows of an entity's history, read when it has moved: a row comes with a version.

import { useEffect, useState } from "preact/hooks";

import { type HistoryPage, readHistory } from "./history-pages.ts";
import type { Subject } from "./subject.ts";

/** The newest rows, or why they could not be read. */
export interface NewestHistory {
  readonly value: HistoryPage | undefined;
  readonly error: unknown;
}

/**
 * The newest page of the history.
 *
 * @param version the entity's, as it was read last; undefined while it is not known, and where it cannot be read.
 * @param at when it was read last: what failed is tried again then.
 */
export function useNewestHistory(
  subject: Subject,
  version: number | undefined,
  at: number | undefined,
): NewestHistory {
  const [read, setRead] = useState<NewestHistory>({ value: undefined, error: undefined });
  const ready = at !== undefined;
  const again = read.error === undefined ? undefined : at;
  useEffect(() => {
    if (!ready) return;
    const reading = new AbortController();
    const { signal } = reading;
    readHistory(subject, signal).then(
      (value) => !signal.aborted && setRead({ value, error: undefined }),
      (error: unknown) => !signal.aborted && setRead((before) => ({ ...before, error })),
    );
    return () => reading.abort();
  }, [subject, version, ready, again]);
  return read;
}
