// Lays JSON out: what fits stands in one line, everything else is indented. Works on the text and not on values, so that numbers of any
// size, doubled keys and lone surrogates stay what they are.

/** Up to this column a list or an object stands in one line. */
const WIDTH = 100;
/** From this depth on nothing is indented further: deep brackets would fill the memory with blanks. */
const DEEPEST = 40;

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

/** The text, laid out; undefined where it is no JSON. */
export function formatJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const tokens = text.match(TOKEN) ?? [];
  return write(tokens, widths(tokens));
}

/** A value as JSON, laid out. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return formatJson(text) ?? text;
}

/** How wide each bracket's content is in one line, by the place of the opening bracket. */
function widths(tokens: readonly string[]): Map<number, number> {
  const of = new Map<number, number>();
  const open: { at: number; from: number }[] = [];
  let width = 0;
  tokens.forEach((token, at) => {
    if (token === "{" || token === "[") {
      open.push({ at, from: width });
      width += token === "{" ? 2 : 1;
    } else if (token === "}" || token === "]") {
      width += token === "}" ? 2 : 1;
      const begun = open.pop();
      if (begun !== undefined) of.set(begun.at, width - begun.from);
    } else {
      width += token.length + (token === "," || token === ":" ? 1 : 0);
    }
  });
  return of;
}

function write(tokens: readonly string[], widthOf: ReadonlyMap<number, number>): string {
  let out = "";
  /** For each open bracket, whether its content stands in lines of its own. */
  const open: boolean[] = [];
  let depth = 0;
  let column = 0;
  const add = (text: string) => {
    out += text;
    column += text.length;
  };
  const line = () => {
    const indent = depth * 2;
    out += `\n${" ".repeat(indent)}`;
    column = indent;
  };
  tokens.forEach((token, at) => {
    const before = tokens[at - 1];
    const closes = token === "}" || token === "]";
    if (closes) {
      const spread = open.pop() === true;
      if (spread) depth -= 1;
      if (before === "{" || before === "[") return add(token);
      if (spread) line();
      else if (token === "}") add(" ");
      return add(token);
    }
    if (before === "{" || before === "[") {
      if (open.at(-1) === true) line();
      else if (before === "{") add(" ");
    } else if (before === ",") {
      if (open.at(-1) === true) line();
      else add(" ");
    } else if (before === ":") {
      add(" ");
    }
    add(token);
    if (token !== "{" && token !== "[") return;
    const root = open.length === 0;
    const empty = tokens[at + 1] === "}" || tokens[at + 1] === "]";
    const fits = column - 1 + (widthOf.get(at) ?? 0) < WIDTH;
    const spread = !empty && (root || !fits) && depth < DEEPEST;
    if (spread) depth += 1;
    open.push(spread);
  });
  return `${out}\n`;
}
