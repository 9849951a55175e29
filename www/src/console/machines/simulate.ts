// A machine into the simulator: by a link, so that a reload of the page has it still.

import type { JsonDefinition } from "statewright/client";

import { go } from "../../app/route.ts";
import { familyOf } from "./family.ts";

/** Goes to the simulator with a definition and those of its children. */
export async function openInSimulator(definition: JsonDefinition): Promise<void> {
  const [{ encode }, family] = await Promise.all([
    import("../../simulator/share/link.ts"),
    familyOf(definition),
  ]);
  go("s", await encode({ definitions: [definition, ...family] }));
}
