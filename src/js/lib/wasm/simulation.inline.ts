// The simulations' WebAssembly in browsers and wherever else there is no file to be read: its bytes are text of a JavaScript module.

import bytes from "#simulation-bytes";

import * as bindings from "#simulation-bindings";

import { decoded } from "./base64.ts";
import { once } from "./once.ts";

/** The bindings of the simulations' WebAssembly, which is compiled and instantiated at the first call. */
export const simulation = once(() => {
  bindings.initSync({ module: new WebAssembly.Module(decoded(bytes)) });
  return bindings;
});
