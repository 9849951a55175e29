// The core's WebAssembly in workerd, which compiles modules when a Worker is deployed and never at run time.

import * as bindings from "#core-bindings";
import module from "../../wasm/core.wasm";

import { once } from "./once.ts";

/** The bindings of the core's WebAssembly, which is instantiated at the first call. */
export const core = once(() => {
  bindings.initSync({ module });
  return bindings;
});
