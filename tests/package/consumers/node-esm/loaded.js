// Which files of WebAssembly are read, and how often a module is instantiated: by importing, by use, and by both kinds of modules.

import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";

const read = [];
let instances = 0;
const { readFileSync } = fs;
fs.readFileSync = (path, ...rest) => {
  if (String(path).endsWith(".wasm")) read.push(String(path).split("/").pop());
  return readFileSync(path, ...rest);
};
syncBuiltinESMExports();
const { Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(...args) {
    super(...args);
    instances += 1;
  }
};

const definition = { machine_id: "a", states: ["s"], initial_state: "s", transitions: [] };
const require = createRequire(import.meta.url);
const esm = await import("statewright");
const cjs = require("statewright");
const afterImport = read.length;
esm.defineMachine(definition).create("1");
cjs.defineMachine(definition).create("2");
const afterUse = [...read];
const inUse = instances;
await import("statewright/engine");
require("statewright/engine");
console.log(
  JSON.stringify({ afterImport, afterUse, instances: inUse, afterEngine: read.length - afterUse.length }),
);
