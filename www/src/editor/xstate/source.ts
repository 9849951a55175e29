// A text of JavaScript that is walked through without being run: white space, comments, texts, and what is left out as a whole.

/** What keeps a text from being read. */
export class SourceError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, { line, column }: Position) {
    super(`Line ${line}, column ${column}: ${message}`);
    this.name = "SourceError";
    this.line = line;
    this.column = column;
  }
}

/** A place in a source: lines and columns are counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

const SPACE = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y;
const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const OPEN = "([{";
const CLOSE = ")]}";
/** After these a slash begins a regular expression; after anything else it divides. */
const BEFORE_REGEX = /(?:[(,=:[!&|?{};+*~^<>-]|\b(?:return|typeof|case|in|of|void))$/;
const REGEX = /\/(?:[^\\/[\n]|\\.|\[(?:[^\\\]\n]|\\.)*\])+\/[a-z]*/y;

/** Where the reader is in the text. */
export class Source {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The character here, and none behind the end. */
  get next(): string {
    return this.text[this.at] ?? "";
  }

  /** Past white space and comments. */
  skipSpace(): void {
    this.take(SPACE);
  }

  /** Past what the expression matches here; the text of it. */
  take(expression: RegExp): string | undefined {
    expression.lastIndex = this.at;
    const found = expression.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** Past these characters, where they are here. */
  takes(characters: string): boolean {
    if (!this.text.startsWith(characters, this.at)) return false;
    this.at += characters.length;
    return true;
  }

  /** A name, where one is here. */
  word(): string | undefined {
    return this.take(WORD);
  }

  fail(message: string, at = this.at): never {
    throw new SourceError(message, this.position(at));
  }

  position(at = this.at): Position {
    const before = this.text.slice(0, at);
    const line = before.lastIndexOf("\n");
    return { line: before.split("\n").length, column: at - line };
  }

  /** What a quoted text stands for: in single or double quotes, or in backticks without anything put in. */
  quoted(): string {
    const start = this.at;
    const quote = this.next;
    this.at += 1;
    let value = "";
    for (;;) {
      const character = this.next;
      if (character === "" || (character === "\n" && quote !== "`"))
        this.fail("this text does not end", start);
      this.at += 1;
      if (character === quote) return value;
      if (quote === "`" && character === "$" && this.next === "{") this.fail("a text has code in it", start);
      value += character === "\\" ? this.escaped() : character;
    }
  }

  private escaped(): string {
    const character = this.next;
    this.at += 1;
    const simple = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", "0": "\0", "\n": "" }[character];
    if (simple !== undefined) return simple;
    if (character === "\r") {
      this.takes("\n");
      return "";
    }
    const code =
      character === "x"
        ? this.take(/[0-9a-fA-F]{2}/y)
        : character === "u"
          ? (this.take(/[0-9a-fA-F]{4}/y) ?? this.take(/\{[0-9a-fA-F]{1,6}\}/y)?.slice(1, -1))
          : undefined;
    if (character !== "x" && character !== "u") return character;
    const point = code === undefined ? Number.NaN : Number.parseInt(code, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : this.fail("this is no escape", this.at - 2);
  }

  /**
   * Past an expression that is not read: to the comma or the bracket that ends it. Brackets are counted, not nested, so
   * that no depth is too much.
   */
  skipExpression(): void {
    const start = this.at;
    const open: string[] = [];
    while (this.at < this.text.length) {
      this.skipSpace();
      const character = this.next;
      if (
        open.length === 0 &&
        (character === "," || character === ";" || character === "" || CLOSE.includes(character))
      )
        return;
      if (OPEN.includes(character)) open.push(CLOSE[OPEN.indexOf(character)] ?? "");
      if (CLOSE.includes(character) && open.pop() !== character) this.fail(`\`${character}\` closes nothing`);
      if (character === '"' || character === "'") this.quoted();
      else if (character === "`") this.skipTemplate(open);
      else if (character === "}" && open.at(-1) === "`") this.resumeTemplate(open);
      else if (
        character === "/" &&
        BEFORE_REGEX.test(this.text.slice(Math.max(0, this.at - 40), this.at).trimEnd())
      ) {
        if (this.take(REGEX) === undefined) this.at += 1;
      } else this.at += 1;
    }
    if (open.length > 0) this.fail("a bracket is not closed", start);
  }

  /** Past a type: `as { a: string } | B<C, D>[]`. It ends where the value does that it is of. */
  skipType(): void {
    const open: string[] = [];
    while (this.at < this.text.length) {
      this.skipSpace();
      const { next } = this;
      if (
        open.length === 0 &&
        (next === "" || ",;)]}=".includes(next)) &&
        !this.text.startsWith("=>", this.at)
      )
        return;
      if (next === '"' || next === "'" || next === "`") this.quoted();
      else if (this.takes("=>")) continue;
      else {
        if (`${OPEN}<`.includes(next)) open.push(next);
        else if (`${CLOSE}>`.includes(next)) open.pop();
        this.at += 1;
      }
    }
  }

  /** Past a template's text, up to its end or the code in it; a backtick among the brackets says that one is open. */
  private skipTemplate(open: string[]): void {
    const start = this.at;
    this.at += 1;
    for (;;) {
      const character = this.next;
      if (character === "") this.fail("this text does not end", start);
      this.at += character === "\\" ? 2 : 1;
      if (character === "`") return;
      if (character === "$" && this.takes("{")) {
        open.push("`", "}");
        return;
      }
    }
  }

  private resumeTemplate(open: string[]): void {
    open.pop();
    this.skipTemplate(open);
  }
}
