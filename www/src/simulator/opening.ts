// What the address asks the simulator to open: a shared link, or an entity that the console hands over.

import { handover } from "../console/fork/handover.ts";
import type { Model } from "./model.ts";
import { decode } from "./share/link.ts";

/** What was opened last, so that coming back from the console does not open it again. */
let opened: string | undefined;

/** Opens what the route names, if it names anything new. Gives why it cannot be opened. */
export async function open(model: Model, route: readonly string[]): Promise<unknown> {
  const [what, ...rest] = route;
  if (what === "fork") return openFork(model);
  if (what !== "s") return undefined;
  const payload = rest.join("/");
  if (payload === opened) return undefined;
  opened = payload;
  try {
    const content = await decode(payload);
    if (!model.load(content)) return takenFailure(model);
    return undefined;
  } catch (error) {
    return error;
  }
}

function openFork(model: Model): unknown {
  const { value } = handover;
  if (value === undefined) {
    const isThere = model.fork.value !== undefined;
    return isThere
      ? undefined
      : new Error("The console handed over nothing. Open the entity from there again.");
  }
  handover.value = undefined;
  return model.load({ ...value, fork: true }) ? undefined : takenFailure(model);
}

/** The failure of a load, which is told once. */
function takenFailure(model: Model): unknown {
  const { value } = model.failure;
  model.failure.value = undefined;
  return value;
}
