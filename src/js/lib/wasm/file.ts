// Reads WebAssembly from the folder of the package. It is built as CommonJS, which knows where it stands.

import { readFileSync } from "node:fs";
import { join } from "node:path";

declare const __dirname: string;

/** The module in a file of the package's folder `wasm`. */
export function compiled(file: string): WebAssembly.Module {
  const path = join(__dirname, "..", "..", "wasm", file);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new Error(
      `statewright: ${path} cannot be read; where a bundler put the package into one file with others, leave it out of the bundle (external: ["statewright"])`,
      { cause },
    );
  }
  return new WebAssembly.Module(bytes);
}
