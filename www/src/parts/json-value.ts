// What is known of a JSON value before it is known what it is of.

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What stands under a key of a value; undefined where that has none. */
export function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
