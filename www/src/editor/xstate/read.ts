// Reads the config of an XState machine out of a text of JavaScript, or of JSON, without running any of it.

import { calledCode, codeNamed, combination, isCombination } from "./code.ts";
import { type Position, Source } from "./source.ts";

/** Something that was left out of what was read. */
export interface LeftOut extends Position {
  readonly what: string;
}

/** A config that was read. */
interface ReadConfig {
  /** The config, and the delays that `setup` has beside it: what an import takes. */
  readonly machine: unknown;
  readonly leftOut: readonly LeftOut[];
}

/** How deep brackets are read. */
const DEEPEST = 200;
/** How long a text may be. */
const LONGEST = 2_000_000;
/** How many things that are left out are listed. */
const MOST_NOTED = 200;
/** Keys whose values are code by its name: a name that stands there without quotes is taken as that name. */
const NAMED = new Set(["guard", "actions", "entry", "exit", "src", "guards"]);

/** Reads the object of `createMachine(…)`, of `setup(…).createMachine(…)`, or one that stands alone. */
export function readXState(text: string): ReadConfig {
  if (text.length > LONGEST) throw new Error(`It is longer than ${LONGEST.toLocaleString("en")} characters`);
  const leftOut: LeftOut[] = [];
  const found = findObjects(text);
  const read = (at: number) => new Reader(text, at, leftOut).object();
  const config = read(found.config);
  const setup = found.setup === undefined ? undefined : read(found.setup);
  const delays = setup instanceof Object && "delays" in setup ? setup["delays"] : undefined;
  return { machine: { config, implementations: { delays: delays ?? {} } }, leftOut };
}

/** Where the objects begin, past the brackets and names in front of them. */
function findObjects(text: string): { config: number; setup: number | undefined } {
  const source: Source = new Source(text);
  source.skipSpace();
  if (source.next === "{") return { config: source.at, setup: undefined };
  if (source.next === "") source.fail("there is nothing here; paste a config or a call of createMachine");
  const plain = outside(text);
  const begins = (call: RegExp, from: number) => {
    for (const match of plain.slice(from).matchAll(call)) {
      const at = new Source(text);
      at.at = from + match.index + match[0].length;
      at.skipSpace();
      if (at.next === "{") return at.at;
    }
    return undefined;
  };
  const setup = begins(/\bsetup\s*\(/g, 0);
  const [, name] = /\bcreateMachine\s*(?:<[^(){}]*>)?\s*\(\s*([\w$]+)/.exec(plain) ?? [];
  const config =
    begins(/\bcreateMachine\s*(?:<[^(){}]*>)?\s*\(/g, setup ?? 0) ??
    (name === undefined
      ? undefined
      : begins(new RegExp(`\\b(?:const|let|var)\\s+${name.replaceAll("$", "\\$")}\\b[^={};]*=`, "g"), 0)) ??
    begins(/(?:\bexport\s+default\b|\bmodule\.exports\s*=|\b(?:const|let|var)\s+[\w$]+[^={};]*=)/g, 0);
  if (config === undefined)
    source.fail("there is no call of createMachine with an object here, and no object");
  return { config, setup };
}

/** The text with comments and texts blanked, for a search that shall not look into them. */
function outside(text: string): string {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, (found) =>
    " ".repeat(found.length),
  );
}

class Reader {
  private readonly source: Source;
  private readonly leftOut: LeftOut[];
  private depth = 0;

  constructor(text: string, at: number, leftOut: LeftOut[]) {
    this.source = new Source(text);
    this.source.at = at;
    this.leftOut = leftOut;
  }

  object(): Record<string, unknown> {
    const { source } = this;
    const start = source.at;
    this.deeper();
    source.at += 1;
    const read: Record<string, unknown> = {};
    for (;;) {
      source.skipSpace();
      if (source.takes("}")) break;
      if (source.next === "") source.fail("this `{` is not closed", start);
      this.member(read);
      this.separated("}");
    }
    this.depth -= 1;
    return read;
  }

  private list(close = "]"): unknown[] {
    const { source } = this;
    const start = source.at;
    this.deeper();
    source.at += 1;
    const read: unknown[] = [];
    for (;;) {
      source.skipSpace();
      if (source.takes(close)) break;
      if (source.next === "") source.fail(`this \`${close === "]" ? "[" : "("}\` is not closed`, start);
      if (source.text.startsWith("...", source.at)) this.skip("spread");
      else read.push(this.value(""));
      this.separated(close);
    }
    this.depth -= 1;
    return read;
  }

  /** Past the comma between two; none is needed before the end. */
  private separated(close: string): void {
    this.source.skipSpace();
    if (!this.source.takes(",") && this.source.next !== close) {
      const { next } = this.source;
      this.source.fail(
        next === ""
          ? `\`${close}\` is missing`
          : `\`${next}\` is not expected here; a comma or \`${close}\` is`,
      );
    }
  }

  private member(read: Record<string, unknown>): void {
    const { source } = this;
    const start = source.at;
    if (source.text.startsWith("...", start)) return this.skip("spread");
    const key = this.key();
    if (key === undefined) return this.skip("a key that is computed");
    source.skipSpace();
    if (source.takes(":")) {
      source.skipSpace();
      return put(read, key, this.value(key));
    }
    if (source.next === "," || source.next === "}") {
      // `{ isPaid }` stands for `{ isPaid: isPaid }`.
      return put(read, key, this.named(key, key, start));
    }
    if (source.next !== "(" && source.next !== "<" && !/^(?:async|get|set|\*)$/.test(key)) {
      source.fail(`\`:\` is missing after \`${key}\``);
    }
    this.note(`function \`${key}\``, start);
    source.skipExpression();
    put(read, key, codeNamed(key));
  }

  private key(): string | undefined {
    const { source } = this;
    if (source.next === '"' || source.next === "'") return source.quoted();
    if (source.next === "[") {
      const before = source.at;
      const found = source.take(/\[\s*(?:\d+|"[^"\\\n]*"|'[^'\\\n]*')\s*\]/y);
      source.at = found === undefined ? before : source.at;
      return found?.replace(/^\[\s*['"]?|['"]?\s*\]$/g, "");
    }
    const number = source.take(/0[xX][\da-fA-F]+|\d[\d_]*(?:\.\d+)?/y);
    if (number !== undefined) return String(Number(number.replaceAll("_", "")));
    if (source.takes("*")) return "*";
    return source.word() ?? source.fail(`\`${source.next}\` is no name of a key`);
  }

  private value(key: string): unknown {
    const { source } = this;
    const start = source.at;
    const noted = this.leftOut.length;
    const value = this.plain(key);
    if (source.at === start) return this.code(key, start);
    this.skipTypes();
    if (source.next === "" || ",;]})".includes(source.next)) return value;
    // Another value behind this one: a comma is missing, which is told where it is looked for.
    if (BEGINS.test(source.text.slice(source.at, source.at + 12))) return value;
    // Whatever else goes on makes it a part of some code: `count + 1`, `isPaid || isFree`, `a => b`.
    this.leftOut.length = noted;
    return this.code(key, start);
  }

  private plain(key: string): unknown {
    const { source } = this;
    switch (source.next) {
      case "{":
        return this.object();
      case "[":
        return this.list();
      case '"':
      case "'":
        return source.quoted();
      case "`":
        return this.template(key);
      case "(":
      case "":
        return undefined;
      default:
    }
    const number = this.product();
    if (number !== undefined) return number;
    const start = source.at;
    const word = source.word();
    if (word === undefined) return undefined;
    if (WORDS.has(word)) return WORDS.get(word);
    return this.reference(word, key, start);
  }

  /** A number, or a product of some: `24 * 60 * 60 * 1000` is how delays are written. */
  private product(): number | undefined {
    const { source } = this;
    let product = this.number();
    while (product !== undefined) {
      const before = source.at;
      source.skipSpace();
      if (source.next !== "*" || source.text[source.at + 1] === "*") {
        source.at = before;
        return product;
      }
      source.at += 1;
      source.skipSpace();
      const factor = this.number();
      if (factor === undefined) {
        source.at = before;
        return product;
      }
      product *= factor;
    }
    return undefined;
  }

  private number(): number | undefined {
    const found = this.source.take(
      /[+-]?\s*(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?|Infinity\b)/y,
    );
    if (found === undefined) return undefined;
    const plain = found.replaceAll(/[\s_+]/g, (one) => (one === "+" ? "+" : ""));
    return plain.startsWith("-") ? -Number(plain.slice(1)) : Number(plain.replace(/^\+/, ""));
  }

  private template(key: string): unknown {
    const { source } = this;
    const start = source.at;
    const text = source.take(/`(?:[^`\\$]|\\[\s\S]|\$(?!\{))*`/y);
    if (text === undefined) return this.code(key, start);
    source.at = start;
    return source.quoted();
  }

  /** A name, a member of something, or a call. */
  private reference(word: string, key: string, start: number): unknown {
    const { source } = this;
    if (["function", "async", "new", "class", "typeof", "await", "void"].includes(word))
      return this.code(key, start);
    let name = word;
    while (source.take(/\s*\??\.\s*(?=[\p{ID_Start}$_])/uy) !== undefined) name = source.word() ?? name;
    source.take(/\s*<[^(){}=;]*>(?=\s*\()/y);
    source.skipSpace();
    if (source.next !== "(") {
      return source.text.startsWith("=>", source.at) ? undefined : this.named(name, key, start);
    }
    if (isCombination(name)) return combination(name, this.list(")")[0]);
    this.skipArguments();
    const call = excerpt(source.text.slice(start, source.at));
    this.note(`call of \`${name}\`${key === "" ? "" : ` at \`${key}\``}: \`${call}\``, start);
    return calledCode(name);
  }

  private skipArguments(): void {
    const { source } = this;
    source.at += 1;
    while (!source.takes(")")) {
      const before = source.at;
      source.skipExpression();
      if (!source.takes(",") && source.at === before && source.next !== ")") source.fail("`)` is missing");
    }
  }

  /** A name without quotes: as the name of a guard or an action; elsewhere it is code. */
  private named(name: string, key: string, start: number): unknown {
    if (NAMED.has(key) || key === "") {
      this.note(`\`${name}\` is code; it is taken as a name`, start);
      return name;
    }
    this.note(`\`${name}\` at \`${key}\``, start);
    return codeNamed(name);
  }

  private code(key: string, start: number): unknown {
    const { source } = this;
    source.at = start;
    source.skipExpression();
    if (source.at === start)
      source.fail(
        source.next === "" ? "a value is missing" : `\`${source.next}\` is not expected here; a value is`,
      );
    const text = source.text.slice(start, source.at).trim();
    const isFunction = /^(?:async\s+)?function\b|=>/.test(text);
    this.note(
      `${isFunction ? "function" : "code"}${key === "" ? "" : ` at \`${key}\``}: \`${excerpt(text)}\``,
      start,
    );
    return codeNamed(key);
  }

  private skip(what: string): void {
    const start = this.source.at;
    if (this.source.text.startsWith("...", start)) this.source.at += 3;
    this.source.skipExpression();
    this.note(`${what} \`${excerpt(this.source.text.slice(start, this.source.at))}\``, start);
  }

  /** Past `as const`, `satisfies Config` and `!`, which say nothing at run time. */
  private skipTypes(): void {
    const { source } = this;
    source.skipSpace();
    while (source.take(/!(?!=)/y) !== undefined) source.skipSpace();
    if (source.take(/(?:as|satisfies)\b(?!\s*[,:)}\]])/y) === undefined) return;
    source.skipType();
  }

  private note(what: string, at: number): void {
    if (this.leftOut.length >= MOST_NOTED) return;
    this.leftOut.push({ what, ...this.source.position(at) });
  }

  private deeper(): void {
    this.depth += 1;
    if (this.depth > DEEPEST) this.source.fail(`brackets are more than ${DEEPEST} deep`);
  }
}

/** What a value, or a key with its value, begins with. */
const BEGINS = /^(?!(?:in|instanceof)\b)[\p{ID_Start}$_"'`\d:]/u;

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["undefined", undefined],
  ["NaN", Number.NaN],
]);

function excerpt(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ");
  return flat.length <= 60 ? flat : `${flat.slice(0, 60)}…`;
}

/** As an own property, whatever its name. */
function put(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
