// The core's WebAssembly in browsers and wherever else there is no file to be read: its bytes are text of a JavaScript module.

import bytes from "#core-bytes";

import * as bindings from "#core-bindings";

import { decoded } from "./base64.ts";
import { once } from "./once.ts";

/** The bindings of the core's WebAssembly, which is compiled and instantiated at the first call. */
export const core = once(() => {
  bindings.initSync({ module: new WebAssembly.Module(decoded(bytes)) });
  return bindings;
});
