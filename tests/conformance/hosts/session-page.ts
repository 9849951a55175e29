// What runs in the page: sessions, on which the tests play scripts.

import { simulation } from "simulation-wasm";

import { replay, type Script } from "./sessions.ts";

Object.assign(globalThis, {
  replay: (scripts: readonly Script[]) => replay(simulation().WasmSession, scripts),
  ready: true,
});
