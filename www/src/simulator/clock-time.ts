// Spans and moments as people write them.

const UNITS: ReadonlyMap<string, number> = new Map(
  (
    [
      [1, "ms", "millisecond", "milliseconds"],
      [1000, "s", "sec", "second", "seconds"],
      [60_000, "m", "min", "minute", "minutes"],
      [3_600_000, "h", "hour", "hours"],
      [86_400_000, "d", "day", "days"],
      [604_800_000, "w", "week", "weeks"],
    ] as const
  ).flatMap(([size, ...names]) => names.map((name) => [name, size] as const)),
);

/** A span such as `90 s`, `2 h 30 min` or `1.5 days`, in milliseconds; undefined of anything else. */
export function spanOf(text: string): number | undefined {
  const parts = text.trim().toLowerCase();
  if (!/^(\d+(\.\d+)?\s*[a-z]+\s*)+$/.test(parts)) return undefined;
  let sum = 0;
  for (const [, count = "", unit = ""] of parts.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)) {
    const size = UNITS.get(unit);
    if (size === undefined) return undefined;
    sum += Number(count) * size;
  }
  const whole = Math.round(sum);
  return whole > 0 && Number.isSafeInteger(whole) ? whole : undefined;
}

/** The last moment that a clock can show. */
export const LAST = 2 ** 53 - 1;

/** A moment in UTC such as `2026-01-31 12:00`, with seconds and milliseconds if wanted; undefined of anything else. */
export function momentOf(text: string): number | undefined {
  const parts =
    /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?)?\s*(?:Z|UTC)?$/i.exec(
      text.trim(),
    );
  if (parts === null) return undefined;
  const [, year, month, day, hour = "00", minute = "00", second = "00", rest = "0"] = parts;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.${rest.padEnd(3, "0")}Z`;
  const at = Date.parse(iso);
  // The 31st of February is no moment.
  return Number.isNaN(at) || new Date(at).toISOString() !== iso ? undefined : at;
}
