// A context as lines of JSON, with what changed since before.

import { isObject } from "../../parts/json-value.ts";

/** A line of JSON. */
export interface Line {
  readonly depth: number;
  readonly text: string;
  readonly mark?: "added" | "changed" | "removed";
  /** Of a changed value, what it was. */
  readonly was?: string;
}

/** The lines of an object, beside those of what it was where that is known. */
export function linesOf(now: object, before: object | undefined): readonly Line[] {
  const lines: Line[] = [];
  write(lines, 0, "", now, before ?? now, "");
  return lines;
}

/** Writes a value under a key, after what it was. `end` is what follows it: a comma, or nothing. */
function write(lines: Line[], depth: number, key: string, now: unknown, before: unknown, end: string): void {
  if (isObject(now) && isObject(before)) {
    const [there, old] = [new Map(Object.entries(now)), new Map(Object.entries(before))];
    const gone = [...old].filter(([name]) => !there.has(name));
    if (there.size + gone.length === 0) {
      lines.push({ depth, text: `${key}{}${end}` });
      return;
    }
    lines.push({ depth, text: `${key}{` });
    let left = there.size;
    for (const [name, value] of there) {
      left -= 1;
      const named = `${JSON.stringify(name)}: `;
      const comma = left > 0 ? "," : "";
      if (old.has(name)) write(lines, depth + 1, named, value, old.get(name), comma);
      else whole(lines, depth + 1, named, value, comma, "added");
    }
    for (const [name, value] of gone)
      whole(lines, depth + 1, `${JSON.stringify(name)}: `, value, "", "removed");
    lines.push({ depth, text: `}${end}` });
    return;
  }
  if (JSON.stringify(now) === JSON.stringify(before)) whole(lines, depth, key, now, end);
  else whole(lines, depth, key, now, end, "changed", JSON.stringify(before));
}

/** Writes all lines of a value with one mark; what it was stands at the first. */
function whole(
  lines: Line[],
  depth: number,
  key: string,
  value: unknown,
  end: string,
  mark?: Line["mark"],
  was?: string,
): void {
  const texts = `${key}${JSON.stringify(value, undefined, 1)}${end}`.split("\n");
  for (const [at, text] of texts.entries()) {
    const inner = text.length - text.trimStart().length;
    lines.push({
      depth: depth + inner,
      text: text.trimStart(),
      ...(mark === undefined ? {} : { mark }),
      ...(at === 0 && was !== undefined ? { was } : {}),
    });
  }
}
