// How long until a live view reads again. Pure, so that it can be tested without a clock.

/** The first wait, and the one after a change, in milliseconds. */
export const FIRST_WAIT = 4000;
/** The longest wait while nothing changes. */
export const LONGEST_UNCHANGED = 60_000;
/** The longest wait while reads fail. */
export const LONGEST_FAILING = 120_000;

/** The longest that a service is left alone because it asked for it: what it says can come from a clock that is wrong. */
export const LONGEST_HELD = 600_000;

/** What a read came to: another value than before, the same, or none. */
export type Outcome = "changed" | "same" | "failed";

/** The wait after a read, where `wait` was the one before it. */
export function nextWait(wait: number, outcome: Outcome): number {
  if (outcome === "changed") return FIRST_WAIT;
  if (outcome === "same") return Math.min(wait * 1.5, LONGEST_UNCHANGED);
  return Math.min(Math.max(wait, FIRST_WAIT) * 2, LONGEST_FAILING);
}

/**
 * What a `Retry-After` header asks to wait, in milliseconds: seconds, or a date; 0 where it says nothing that can be read, and
 * {@link LONGEST_HELD} at most.
 */
export function retryAfter(value: string | null, now: number): number {
  if (value === null || value.trim() === "") return 0;
  const seconds = Number(value);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - now;
  return Number.isNaN(wait) ? 0 : Math.min(Math.max(0, wait), LONGEST_HELD);
}
