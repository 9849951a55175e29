// What the address asks the simulator to open: a shared link, or an entity that the console hands over.

import { handover } from "../console/fork/handover.ts";
import type { Model } from "./model.ts";
import { decode } from "./share/link.ts";

/** What was opened last, so that coming back from the console does not open it again. */
let opened: unknown;

/** Why the address could not be opened. */
export interface Unopened {
  readonly what: string;
  readonly error: unknown;
}

/** Opens what the route names, if it names anything new. Gives what cannot be opened. */
export async function open(model: Model, route: readonly string[]): Promise<Unopened | undefined> {
  const [kind, ...rest] = route;
  if (kind === "fork") return openFork(model);
  if (kind === "s") return openLink(model, rest.join("/"));
  return undefined;
}

async function openLink(model: Model, payload: string): Promise<Unopened | undefined> {
  if (payload === opened) return undefined;
  opened = payload;
  const what = "The link cannot be opened";
  try {
    const content = await decode(payload);
    // Another one may have been asked for in the meantime.
    if (opened !== payload || model.load(content)) return undefined;
    return { what, error: takenFailure(model) };
  } catch (error) {
    return { what, error };
  }
}

function openFork(model: Model): Unopened | undefined {
  const { value } = handover;
  const what = "The fork cannot be opened";
  if (value === undefined) {
    const error = new Error(
      "A fork is in memory alone, and this one is gone. Open it from the console again.",
    );
    return { what, error };
  }
  if (value === opened) return undefined;
  opened = value;
  return model.load({ ...value, fork: true }) ? undefined : { what, error: takenFailure(model) };
}

/** The failure of a load, which is told once. */
function takenFailure(model: Model): unknown {
  const { value } = model.failure;
  model.failure.value = undefined;
  return value;
}
