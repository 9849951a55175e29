/** What was thrown, as an error of this realm that can be read: anything can be thrown, and a getter of it may throw once more. */
export function readable(thrown: unknown): Error {
  const error = new Error(
    textIn(thrown, "message") ?? (typeof thrown === "string" ? thrown : kindThrown(thrown)),
  );
  error.name = textIn(thrown, "name") ?? "Error";
  return error;
}

function textIn(thrown: unknown, name: "message" | "name"): string | undefined {
  try {
    const text = (thrown as { readonly [Name in typeof name]?: unknown } | null | undefined)?.[name];
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

function kindThrown(thrown: unknown): string {
  return `${typeof thrown === "object" && thrown !== null ? "an object" : String(thrown)} was thrown`;
}
