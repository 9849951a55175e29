// The engine's WebAssembly in workerd, which compiles modules when a Worker is deployed and never at run time.

import * as bindings from "#engine-bindings";
import module from "../../wasm/engine.wasm";

import { once } from "./once.ts";

/** The bindings of the engine's WebAssembly, which is instantiated at the first call. */
export const engine = once(() => {
  bindings.initSync({ module });
  return bindings;
});
