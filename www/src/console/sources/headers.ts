// Headers as they are written: one a line, its name, a colon, its value. Pure.

/** The headers of a text; throws where a line is none. */
export function readHeaders(text: string): Record<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).trim();
    if (colon < 0 || name === "")
      throw new Error(`\`${line.trim().slice(0, 80)}\` is no header: a name, a colon and a value`);
    headers.set(name.toLowerCase(), line.slice(colon + 1).trim());
  }
  return Object.fromEntries(headers);
}

/** Headers as a text. */
export function headersText(headers: ReadonlyMap<string, string>): string {
  return [...headers].map(([name, value]) => `${name}: ${value}`).join("\n");
}
