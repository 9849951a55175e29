// What the address asks the simulator to open: a shared link, or an entity that the console hands over.

import { handover } from "../console/fork/handover.ts";
import type { Content } from "./model.ts";
import { decode } from "./share/link.ts";

/** What was opened last, so that coming back from the console does not open it again. */
let opened: unknown;

/** What was opened was not wanted: the next time it is asked for, it is opened again. */
export function forget(): void {
  opened = undefined;
}

/** Why the address could not be opened. */
export interface Unopened {
  readonly what: string;
  readonly error: unknown;
}

/** What an address names, and what is said where that cannot be loaded. */
export interface Named {
  readonly content?: Content;
  /** What it is, as a question names it. */
  readonly name: string;
  readonly what: string;
  /** Why there is nothing to load. */
  readonly error?: unknown;
}

/** What the route names, if it names anything new. */
export async function named(route: readonly string[]): Promise<Named | undefined> {
  const [kind, ...rest] = route;
  if (kind === "fork") return forkOf();
  if (kind === "s") return linked(rest.join("/"));
  return undefined;
}

async function linked(payload: string): Promise<Named | undefined> {
  if (payload === opened) return undefined;
  opened = payload;
  const [name, what] = ["what the link holds", "The link cannot be opened"];
  try {
    const content = await decode(payload);
    // Another one may have been asked for in the meantime.
    return opened === payload ? { name, what, content } : undefined;
  } catch (error) {
    return { name, what, error };
  }
}

function forkOf(): Named | undefined {
  const { value } = handover;
  const [name, what] = [`the fork of ${value?.name ?? "an entity"}`, "The fork cannot be opened"];
  if (value === undefined) {
    const error = new Error(
      "A fork is in memory alone, and this one is gone. Open it from the console again.",
    );
    return { name, what, error };
  }
  if (value === opened) return undefined;
  opened = value;
  return { name, what, content: { ...value, fork: true } };
}
