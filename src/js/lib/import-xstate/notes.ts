// What an import could not carry over.

/** Something of an XState config that the definition does not say, or that behaves otherwise there. */
export interface NotCarried {
  /** Where it stands in the config, as a JSON path: `$.states.open.invoke`. */
  readonly path: string;
  /** What it is. */
  readonly what: string;
  /** Why it is not carried over, and what to do instead where there is something. */
  readonly why: string;
}

/** The list, in the order in which things were met, none twice. */
export class Notes {
  readonly list: NotCarried[] = [];
  private readonly met = new Set<string>();

  add(path: string, what: string, why: string): void {
    const key = JSON.stringify([path, what, why]);
    if (this.met.has(key)) return;
    this.met.add(key);
    this.list.push({ path, what, why });
  }
}

/** A value of a config in a few words: names as they are, functions by their names. */
export function shown(value: unknown): string {
  if (typeof value === "string") return `\`${value}\``;
  if (typeof value === "function") {
    const { type } = value as { type?: unknown };
    const name = typeof type === "string" ? type : value.name;
    return name === "" ? "a function" : `a function (\`${name}\`)`;
  }
  if (typeof value === "object" && value !== null && "type" in value && typeof value.type === "string") {
    return `\`${value.type}\``;
  }
  try {
    return `\`${JSON.stringify(value) ?? String(value)}\``;
  } catch {
    // It refers to itself, or holds what JSON has no form for.
    return typeof value === "object" ? "an object" : `\`${String(value)}\``;
  }
}
