// What the state of the scanner means for who operates the service: docs/operations.md, "Watching the timers". Pure.

import type { Scheduler } from "statewright/client";

/** The scanner makes a pass each minute at least: after three without one, nobody calls it. */
const SILENT_AFTER = 180_000;
/** A timer that is later than this waits for more than the next pass. */
const LATE_FROM = 60_000;

/** Something that is worth an operator's attention. */
export type Concern =
  | { readonly is: "never" }
  | { readonly is: "silent"; readonly since: number }
  | { readonly is: "late"; readonly timers: number; readonly more: boolean }
  | { readonly is: "parked"; readonly timers: number; readonly more: boolean }
  | { readonly is: "failing"; readonly timers: number; readonly more: boolean };

/** How far a bucket is counted. */
export const MOST_COUNTED = 10_000;
/** How many troubled timers are listed. */
const MOST_LISTED = 100;

/** Whether timers of this lateness are late, and not merely waiting for the next pass. */
export function isLate({ from_ms }: { readonly from_ms: number }): boolean {
  return from_ms >= LATE_FROM;
}

/** What is wrong, the worst first; nothing where all is well. `now` is in milliseconds since the epoch. */
export function concernsOf(
  { last_pass, overdue, parked, failing }: Scheduler,
  now: number,
): readonly Concern[] {
  const concerns: Concern[] = [];
  if (last_pass === null) concerns.push({ is: "never" });
  else if (now - last_pass.at > SILENT_AFTER) concerns.push({ is: "silent", since: last_pass.at });
  const late = overdue.filter(isLate);
  const timers = late.reduce((sum, bucket) => sum + bucket.timers, 0);
  if (timers > 0)
    concerns.push({ is: "late", timers, more: late.some((bucket) => bucket.timers >= MOST_COUNTED) });
  const more = parked.length + failing.length >= MOST_LISTED;
  if (parked.length > 0) concerns.push({ is: "parked", timers: parked.length, more });
  if (failing.length > 0) concerns.push({ is: "failing", timers: failing.length, more });
  return concerns;
}
