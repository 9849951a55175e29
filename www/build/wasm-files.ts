// The package's WebAssembly as files of their own: a browser compiles them while they come, beside the page's script. The package's
// own loader for browsers has them as text, for pages whose tools know no other way.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Plugin } from "vite";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const PACKAGE = join(HERE, "..", "..", "build", "package");

/** Gives the package the loaders of `src/wasm`, and them the package's bindings. */
export function wasmFiles(): Plugin {
  return {
    name: "wasm files",
    enforce: "pre",
    resolveId(id) {
      const [, crate, part] = /^#(core|simulation)-(wasm|bindings|file)$/.exec(id) ?? [];
      if (crate === undefined) return null;
      if (part === "wasm") return join(HERE, "..", "src", "wasm", `${crate}.ts`);
      if (part === "bindings") return join(PACKAGE, "esm", "wasm", `${crate}.bindings.js`);
      return `${join(PACKAGE, "wasm", `${crate}.wasm`)}?url`;
    },
  };
}
