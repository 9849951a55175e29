// What the package weighs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { PACKAGE_DIR } from "../../scripts/paths.ts";

const gzipped = (path: string) => gzipSync(readFileSync(join(PACKAGE_DIR, path)), { level: 9 }).length;

test("the core's WebAssembly is under 230 KB gzipped, that of simulations too, the engine's under 1.1 MB", () => {
  const core = gzipped("wasm/core.wasm");
  const simulation = gzipped("wasm/simulation.wasm");
  const engine = gzipped("wasm/engine.wasm");
  console.log(`# core ${core}, simulation ${simulation}, engine ${engine} bytes of WebAssembly, gzipped`);
  assert.ok(core < 230_000, `${core}`);
  assert.ok(simulation < 230_000, `${simulation}`);
  assert.ok(engine < 1_100_000, `${engine}`);
});
