// What a simulation runs on.

import { load as loadCore } from "./core.ts";
import { load as loadSimulation } from "./simulation.ts";

/** Loads the package's WebAssembly: nothing of `statewright` may be used before. */
export async function loadWasm(): Promise<void> {
  await Promise.all([loadCore(), loadSimulation()]);
}
