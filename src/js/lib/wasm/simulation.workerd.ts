// The simulations' WebAssembly in workerd, which compiles modules when a Worker is deployed and never at run time.

import * as bindings from "#simulation-bindings";
import module from "../../wasm/simulation.wasm";

import { once } from "./once.ts";

/** The bindings of the simulations' WebAssembly, which is instantiated at the first call. */
export const simulation = once(() => {
  bindings.initSync({ module });
  return bindings;
});
