// Numbers of JSON that a page can hold: it has 53 bits for them, where a service has 64. What would become another number is refused
// where it is typed, so that nothing is sent that was not written. Pure.

/** A number of a text that would become another one. */
export interface Inexact {
  /** Where it stands: `$.params.id`. */
  readonly path: string;
  /** As it is written. */
  readonly literal: string;
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** A decimal number in one way of writing it: `1.50e2` is `15e1`. Undefined of what is none. */
function plain(text: string): string | undefined {
  const [, sign, whole = "", part = "", exponent = "0"] = DECIMAL.exec(text) ?? [];
  if (sign === undefined || whole + part === "") return undefined;
  const digits = (whole + part).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  if (short === "") return "0";
  const scale = BigInt(exponent) - BigInt(part.length) + BigInt(digits.length - short.length);
  return `${sign === "-" ? "-" : ""}${short}e${scale}`;
}

/** Whether a text is a decimal number, as people type one. */
export function isDecimal(text: string): boolean {
  return plain(text) !== undefined && Number.isFinite(Number(text));
}

/** Whether a decimal number stays the number that is written. */
export function isExact(text: string): boolean {
  const value = Number(text);
  return Number.isFinite(value) && plain(text) === plain(String(value));
}

/** What is wrong with a number that does not stay what is written. */
export function inexactText(literal: string): string {
  const shown = literal.length <= 40 ? literal : `${literal.slice(0, 39)}…`;
  const value = Number(literal);
  const becomes = Number.isFinite(value) ? `would become ${value}` : "is too large";
  return `${shown} ${becomes}: numbers have about 16 digits here. Write it as a text, or send it by the API.`;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;
/** What a number that is not exact has: many digits, or an exponent. */
const SUSPECT = /[\d.]{16}|\d[eE]/;

function stepText(step: string | number): string {
  if (typeof step === "number") return `[${step}]`;
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}

/**
 * The numbers of a JSON text that are not what they say, as far as `fits` tells.
 *
 * @param text JSON that can be parsed.
 */
export function numbersOf(text: string, fits: (literal: string) => boolean): Inexact[] {
  const found: Inexact[] = [];
  const path: (string | number)[] = [];
  let key: string | undefined;
  for (const [token] of text.matchAll(TOKEN)) {
    const last = path.length - 1;
    const step = path[last];
    if (token === "{") path.push("");
    else if (token === "[") path.push(0);
    else if (token === "}" || token === "]") path.pop();
    else if (token === "," && typeof step === "number") path[last] = step + 1;
    else if (token === ":" && key !== undefined) path[last] = JSON.parse(key) as string;
    else if (/^[-\d]/.test(token) && !fits(token)) {
      found.push({ path: `$${path.map(stepText).join("")}`, literal: token });
    }
    key = token.startsWith('"') ? token : undefined;
  }
  return found;
}

/** The numbers of a JSON text that would become other ones. */
export function inexactIn(text: string): Inexact[] {
  return SUSPECT.test(text) ? numbersOf(text, isExact) : [];
}

/**
 * Reads JSON that is typed.
 *
 * @throws SyntaxError where it is none; RangeError where a number in it would become another one.
 */
export function exactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const [first] = inexactIn(text);
  if (first !== undefined) throw new RangeError(inexactText(first.literal));
  return value;
}

/** The numbers of a value that was read which may have been others: whole ones beyond 2^53. */
export function roundedIn(value: unknown): ReadonlySet<number> {
  const found = new Set<number>();
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "number" && Number.isInteger(next) && !Number.isSafeInteger(next)) found.add(next);
    else if (typeof next === "object" && next !== null)
      for (const each of Object.values(next)) open.push(each);
  }
  return found;
}
