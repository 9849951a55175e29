// Which rows of a history one commit wrote. The service numbers rows, not commits.

import type { HistoryRow } from "statewright/client";

/** Whether two rows that stand next to each other in the history are of one commit: `later` is what came of `earlier`. */
function together(earlier: HistoryRow, later: HistoryRow): boolean {
  if (earlier.created_at !== later.created_at || earlier.timestamp !== later.timestamp) return false;
  // An event begins a commit; but a broadcast moves several regions by one event.
  if (later.cause.via === "event") {
    return earlier.cause.via === "event" && earlier.event_type === later.event_type;
  }
  return later.cause.via !== "timeout";
}

/** Rows by commit: the newest commit first, the rows of each in their order. `newest` has the newest row first. */
export function commitsOf(newest: readonly HistoryRow[]): readonly (readonly HistoryRow[])[] {
  const commits: HistoryRow[][] = [];
  for (const row of newest) {
    const commit = commits.at(-1);
    const later = commit?.[0];
    if (commit !== undefined && later !== undefined && together(row, later)) commit.unshift(row);
    else commits.push([row]);
  }
  return commits;
}

/** The rows of the commit that came last, in their order: an event may have an older timestamp than those before it. */
export function lastCommit(newest: readonly HistoryRow[]): readonly HistoryRow[] {
  const last = Math.max(...newest.map(({ id }) => id));
  return commitsOf(newest).find((rows) => rows.some(({ id }) => id === last)) ?? [];
}
