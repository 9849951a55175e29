// Loads one of the loaders that are CommonJS from an ES module. It is required, when it is first used: to import it costs Node ten times
// as long, since it reads the text first for the names that it exports.

import { createRequire } from "node:module";

import { unread } from "./unread.ts";

/** The exports of the package's `cjs/wasm/<name>.node.cjs`. */
export function required<Loader>(name: string): Loader {
  const path = `../../cjs/wasm/${name}.node.cjs`;
  let require: NodeJS.Require;
  try {
    require = createRequire(import.meta.url);
    require.resolve(path);
  } catch (cause) {
    throw unread(path, cause);
  }
  return require(path) as Loader;
}
