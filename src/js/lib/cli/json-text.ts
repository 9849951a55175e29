// Reads JSON, and knows where in its text each value stands: faults are shown where they are, not only named.

import { below } from "../json-value.ts";

/** A place in a text, both counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A text that is no JSON. */
export class JsonFault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** A JSON text that was read. */
export interface JsonText {
  readonly text: string;
  readonly value: unknown;
  /** Where the value of each path stands: `$.transitions[0].guard`; of a member with its key, before its value. */
  readonly offsets: ReadonlyMap<string, number>;
}

/** Where an offset is. */
export function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: [...before.slice(start)].length + 1 };
}

/** Deep enough for any definition, and not so deep that the stack ends. */
const DEEPEST = 500;

class Reader {
  readonly offsets = new Map<string, number>();
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  document(): void {
    this.space();
    if (this.at === this.text.length) throw new JsonFault("the file is empty; a JSON value is needed", 0);
    this.value("$", 0);
    this.space();
    if (this.at < this.text.length) throw new JsonFault("more text after the end of the value", this.at);
  }

  private space(): void {
    while (/^[ \t\n\r]$/.test(this.text[this.at] ?? "")) this.at += 1;
    const two = this.text.slice(this.at, this.at + 2);
    if (two === "//" || two === "/*") throw new JsonFault("JSON has no comments", this.at);
  }

  private shown(): string {
    const found = this.text.slice(this.at).match(/^(\w+|[^])/u)?.[0];
    return found === undefined ? "the end of the text" : `\`${found}\``;
  }

  private value(path: string, depth: number): void {
    if (!this.offsets.has(path)) this.offsets.set(path, this.at);
    if (depth > DEEPEST) throw new JsonFault(`nested more than ${DEEPEST} levels deep`, this.at);
    const first = this.text[this.at];
    if (first === "{") return this.object(path, depth);
    if (first === "[") return this.array(path, depth);
    if (first === '"') return void this.string();
    if (first === "'") throw new JsonFault("a text has double quotes", this.at);
    const rest = this.text.slice(this.at, this.at + 400);
    const literal = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/.exec(rest);
    if (literal === null) throw new JsonFault(`${this.shown()} where a value is expected`, this.at);
    this.at += literal[0].length;
  }

  private object(path: string, depth: number): void {
    const opened = this.at;
    this.at += 1;
    this.space();
    if (this.text[this.at] === "}") return void (this.at += 1);
    for (;;) {
      if (this.text[this.at] !== '"') {
        const what = this.at < this.text.length ? "a key in double quotes" : "a key, or the `}` of this `{`";
        throw new JsonFault(`${this.shown()} where ${what} is expected`, this.end(opened));
      }
      const start = this.at;
      const key = below(path, this.string());
      this.offsets.set(key, start);
      this.space();
      if (this.text[this.at] !== ":")
        throw new JsonFault(`${this.shown()} where \`:\` is expected`, this.end(opened));
      this.at += 1;
      this.space();
      this.value(key, depth + 1);
      if (!this.more("}", opened)) return;
    }
  }

  private array(path: string, depth: number): void {
    const opened = this.at;
    this.at += 1;
    this.space();
    if (this.text[this.at] === "]") return void (this.at += 1);
    for (let index = 0; ; index += 1) {
      this.value(below(path, index), depth + 1);
      if (!this.more("]", opened)) return;
    }
  }

  /** Whether a comma leads on, or the bracket ends it. */
  private more(bracket: "}" | "]", opened: number): boolean {
    this.space();
    if (this.text[this.at] === bracket) {
      this.at += 1;
      return false;
    }
    if (this.text[this.at] !== ",") {
      throw new JsonFault(`${this.shown()} where \`,\` or \`${bracket}\` is expected`, this.end(opened));
    }
    const comma = this.at;
    this.at += 1;
    this.space();
    if (this.text[this.at] === bracket) throw new JsonFault(`a comma before \`${bracket}\``, comma);
    return true;
  }

  /** What is at fault: the place, or, at the end of the text, the bracket that is still open. */
  private end(opened: number): number {
    return this.at < this.text.length ? this.at : opened;
  }

  private string(): string {
    const start = this.at;
    for (this.at += 1; this.at < this.text.length; this.at += 1) {
      const letter = this.text[this.at] ?? "";
      if (letter === '"') {
        this.at += 1;
        const quoted = this.text.slice(start, this.at);
        return JSON.parse(quoted) as string;
      }
      if (letter < " ") {
        if (letter === "\n" || letter === "\r")
          throw new JsonFault("a text that does not end on its line", start);
        throw new JsonFault("a control character within a text; write it as \\u and its number", this.at);
      }
      if (letter !== "\\") continue;
      if (!/^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(this.text.slice(this.at, this.at + 6))) {
        throw new JsonFault("a backslash that means nothing; write `\\\\` for one", this.at);
      }
      this.at += 1;
    }
    throw new JsonFault("a text that does not end", start);
  }
}

/**
 * Reads a JSON text.
 *
 * @throws JsonFault where it is none.
 */
export function readJsonText(text: string): JsonText {
  // Some editors begin a file with a byte order mark.
  const marked = text.startsWith("\ufeff") ? ` ${text.slice(1)}` : text;
  const reader = new Reader(marked);
  reader.document();
  return { text: marked, value: JSON.parse(marked) as unknown, offsets: reader.offsets };
}

/** Where a path is, or the nearest of what it lies in. */
export function offsetOf({ offsets }: JsonText, path: string): number | undefined {
  for (let at = path; ;) {
    const offset = offsets.get(at);
    if (offset !== undefined) return offset;
    const cut = Math.max(at.lastIndexOf("."), at.lastIndexOf("["));
    if (cut <= 0) return undefined;
    at = at.slice(0, cut);
  }
}

/** How much of a line is shown, and how much of it before the place. */
const WIDEST = 110;
const BEFORE = 70;

/** A line of a text with a mark under a place of it; long lines are cut around it. */
export function frame(text: string, offset: number): string[] {
  const { line, column } = placeOf(text, offset);
  const letters = [...(text.split("\n")[line - 1] ?? "").replaceAll("\t", " ").replace(/\r$/, "")];
  const from = letters.length <= WIDEST ? 0 : Math.max(0, column - BEFORE);
  const shown = letters.slice(from, from + WIDEST);
  if (from > 0) shown[0] = "…";
  if (from + WIDEST < letters.length) shown[WIDEST - 1] = "…";
  const number = String(line);
  const gap = " ".repeat(number.length);
  return [`${number} | ${shown.join("")}`, `${gap} | ${" ".repeat(column - 1 - from)}^`];
}
