// The engine's WebAssembly in browsers and wherever else there is no file to be read: its bytes are text of a JavaScript module.

import bytes from "#engine-bytes";

import * as bindings from "#engine-bindings";

import { decoded } from "./base64.ts";
import { once } from "./once.ts";

/** The bindings of the engine's WebAssembly, which is compiled and instantiated at the first call. */
export const engine = once(() => {
  bindings.initSync({ module: new WebAssembly.Module(decoded(bytes)) });
  return bindings;
});
