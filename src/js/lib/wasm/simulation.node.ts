// The simulations' WebAssembly in Node, which reads it from the file beside. It is built as CommonJS; ES modules have it by
// simulation.required.ts.

import * as bindings from "#simulation-bindings";

import { compiled } from "./file.ts";
import { once } from "./once.ts";

/** The bindings of the simulations' WebAssembly, which is compiled and instantiated at the first call. */
export const simulation = once(() => {
  bindings.initSync({ module: compiled("simulation.wasm") });
  return bindings;
});
