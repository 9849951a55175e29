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

/** The rows of the last commit, in their order; `newest` has the newest row first. */
export function lastCommit(newest: readonly HistoryRow[]): readonly HistoryRow[] {
  const rows: HistoryRow[] = [];
  for (const row of newest) {
    const [later] = rows;
    if (later !== undefined && !together(row, later)) break;
    rows.unshift(row);
  }
  return rows;
}
