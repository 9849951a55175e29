// JSON as the vectors compare it: numbers by value and never altered on their way, objects in part.

/** A JSON value; a number that a float would not say the same stays as it is written. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** A JSON object. */
export type Fields = { [key: string]: Json };

/** What Node's own types leave out: numbers as they are written. */
const exactly = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: Json, context: { source?: string }) => Json): Json;
  rawJSON(text: string): Json;
  isRawJSON(value: unknown): value is { rawJSON: string };
};

/** JSON whose numbers stay as they are written, where a float would not say the same. */
export function parse(text: string): Json {
  return exactly.parse(text, (_, value, { source }) =>
    typeof value === "number" && source !== undefined && String(value) !== source
      ? exactly.rawJSON(source)
      : value,
  );
}

/** A number to compare by value: 5 equals 5.0, and integers beyond 2^53 differ. */
function numeric(value: Json | undefined): number | bigint | undefined {
  if (typeof value === "number") return value;
  if (!exactly.isRawJSON(value)) return undefined;
  return /^-?\d+$/.test(value.rawJSON) ? BigInt(value.rawJSON) : Number(value.rawJSON);
}

/** Whether it is an object. */
export function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !exactly.isRawJSON(value);
}

/** What is wrong with `actual`, or undefined. */
export function differs(
  expected: Json,
  actual: Json | undefined,
  path: string,
  whole = false,
): string | undefined {
  if (isFields(expected)) {
    if ("$any" in expected) return actual === undefined ? `${path} is missing` : undefined;
    if ("$absent" in expected)
      return actual === undefined ? undefined : `${path} is ${JSON.stringify(actual)}`;
    if ("$like" in expected) {
      const parts = String(expected["$like"])
        .split("*")
        .map((part) => part.replace(/[^a-zA-Z0-9]/g, "\\$&"));
      const holds = typeof actual === "string" && new RegExp(`^${parts.join("[^]+")}$`).test(actual);
      return holds ? undefined : `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
    }
    if ("$json" in expected) {
      if (typeof actual !== "string") return `${path} is no text`;
      return differs(expected["$json"] ?? null, parse(actual), path, whole);
    }
    if ("$not" in expected) {
      if (actual === undefined) return `${path} is missing`;
      const other = differs(expected["$not"] ?? null, actual, path);
      return other === undefined ? `${path} is ${JSON.stringify(actual)}` : undefined;
    }
    if ("$exact" in expected) return differs(expected["$exact"] ?? null, actual, path, true);
    if ("$contains" in expected) {
      const holds = typeof actual === "string" && actual.includes(String(expected["$contains"]));
      return holds ? undefined : `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
    }
    if (!isFields(actual)) return `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
    const keys = new Set([...Object.keys(expected), ...(whole ? Object.keys(actual) : [])]);
    for (const key of keys) {
      if (!(key in expected)) return `${path}.${key} is not expected`;
      const difference = differs(expected[key] ?? null, actual[key], `${path}.${key}`, whole);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) {
      return `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
    }
    for (const [index, item] of expected.entries()) {
      const difference = differs(item, actual[index], `${path}[${index}]`, whole);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  const [left, right] = [numeric(expected), numeric(actual)];
  // A float and a bigint are equal by value with == alone.
  const same = left !== undefined && right !== undefined ? left == right : expected === actual;
  return same ? undefined : `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
}

/** The same with what earlier steps captured, and with long texts written out. */
export function filled(value: Json, captured: Fields): Json {
  if (Array.isArray(value)) return value.map((item) => filled(item, captured));
  if (!isFields(value)) return value;
  const { $captured: name, $repeated: repeated } = value;
  if (typeof name === "string") {
    const found = captured[name];
    if (found === undefined) throw new Error(`nothing was captured as ${name}`);
    return found;
  }
  if (Array.isArray(repeated)) return String(repeated[0]).repeat(Number(repeated[1]));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, captured)]));
}

/** What a JSON pointer leads to. */
export function at(pointer: string, value: Json | undefined): Json | undefined {
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = value[Number(key)];
    else value = isFields(value) ? value[key] : undefined;
  }
  return value;
}

/** One text for all that is equal: keys in order, numbers by value, no spaces. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const number = numeric(value);
  // Minus zero is zero.
  if (number !== undefined) return String(number === 0 ? 0 : number);
  if (!isFields(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join(",")}}`;
}
