// Times and durations as people write and read them.

import { Refusal } from "./refusal.ts";

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** A duration such as `500ms`, `10s`, `5m`, `1h30m`, `2d`; a number alone is milliseconds. Undefined where it is none. */
export function durationOf(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return undefined;
  const total = parts.reduce(
    (sum, [, number, unit]) => sum + Number(number) * UNITS[unit as keyof typeof UNITS],
    0,
  );
  return Math.round(total);
}

/** A duration in at most two units: `1d 2h`. */
export function shownDuration(ms: number): string {
  if (ms < 0) return `-${shownDuration(-ms)}`;
  if (ms < 1000) return `${ms}ms`;
  const parts: string[] = [];
  let rest = ms;
  for (const unit of ["d", "h", "m", "s", "ms"] as const) {
    const count = Math.floor(rest / UNITS[unit]);
    rest -= count * UNITS[unit];
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.slice(0, 2).join(" ");
}

/** A time: milliseconds since the epoch, or a date such as `2026-01-31` or `2026-01-31T09:30:00Z`. */
export function timeOf(what: string, text: string): number {
  const time = /^-?\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isSafeInteger(time)) return time;
  throw new Refusal(
    `${what} is \`${text}\`; milliseconds since the epoch or a date such as 2026-01-31T09:30:00Z is needed`,
  );
}

/** A time as a date, without milliseconds where there are none. */
export function shownTime(time: number): string {
  return new Date(time).toISOString().replace(".000Z", "Z");
}
