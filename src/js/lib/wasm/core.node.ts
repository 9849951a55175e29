// The core's WebAssembly in Node, which reads it from the file beside. It is built as CommonJS; ES modules have it by
// core.required.ts.

import * as bindings from "#core-bindings";

import { compiled } from "./file.ts";
import { once } from "./once.ts";

/** The bindings of the core's WebAssembly, which is compiled and instantiated at the first call. */
export const core = once(() => {
  bindings.initSync({ module: compiled("core.wasm") });
  return bindings;
});
