// Reads WebAssembly from the folder of the package. It is built as CommonJS, which knows where it stands.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { unread } from "./unread.ts";

declare const __dirname: string;

/** The module in a file of the package's folder `wasm`. */
export function compiled(file: string): WebAssembly.Module {
  const path = join(__dirname, "..", "..", "wasm", file);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw unread(path, cause);
  }
  return new WebAssembly.Module(bytes);
}
