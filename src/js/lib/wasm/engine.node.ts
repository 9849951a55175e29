// The engine's WebAssembly in Node, which reads it from the file beside. It is built as CommonJS; ES modules have it by
// engine.required.ts.

import * as bindings from "#engine-bindings";

import { compiled } from "./file.ts";
import { once } from "./once.ts";

/** The bindings of the engine's WebAssembly, which is compiled and instantiated at the first call. */
export const engine = once(() => {
  bindings.initSync({ module: compiled("engine.wasm") });
  return bindings;
});
