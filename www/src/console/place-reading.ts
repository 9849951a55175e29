// Reads a fragment of the console.

/** A place in the console. */
export interface Place {
  readonly path: readonly string[];
  readonly filters: URLSearchParams;
}

/** What a fragment says: names in it are percent-encoded, so that the first question mark is the one before the filters. */
export function readPlace(hash: string): Place {
  const text = hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const [path, query] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
  const named = path.split("/").filter((part) => part !== "");
  return { path: named.slice(1).map(decoded), filters: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A fragment that was cut off or written by hand.
    return part;
  }
}
