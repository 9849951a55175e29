import type { JSX } from "preact";

const UNITS: readonly (readonly [milliseconds: number, name: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** A span of time in its two largest units: `1 h 30 min`. */
export function span(milliseconds: number): string {
  let left = Math.abs(milliseconds);
  const parts: string[] = [];
  for (const [size, name] of UNITS) {
    const count = Math.floor(left / size);
    if (count > 0 && parts.length < 2) parts.push(`${count} ${name}`);
    left -= count * size;
  }
  return parts.length === 0 ? `${Math.round(left)} ms` : parts.join(" ");
}

/** A moment in UTC, as people write it: `2026-01-31 12:00:00`; milliseconds only where there are some. */
export function moment(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  return date
    .toISOString()
    .replace("T", " ")
    .replace(/(\.000)?Z$/, "");
}

/** A moment, and beside it how far it is from `now` where that is given. */
export function Time({ at, now }: { at: number; now?: number }): JSX.Element {
  const date = new Date(at);
  const iso = Number.isNaN(date.getTime()) ? undefined : date.toISOString();
  return (
    <time dateTime={iso} title={`${moment(at)} UTC`}>
      {now === undefined ? moment(at) : at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`}
    </time>
  );
}
