// What the package weighs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { PACKAGE_DIR } from "../../scripts/paths.ts";

const gzipped = (path: string) => gzipSync(readFileSync(join(PACKAGE_DIR, path)), { level: 9 }).length;

test("the core's WebAssembly is under 300 KB gzipped, the engine's under 600 KB", () => {
  const core = gzipped("wasm/core.wasm");
  const engine = gzipped("wasm/engine.wasm");
  console.log(`# core.wasm ${core}, engine.wasm ${engine} bytes gzipped`);
  assert.ok(core < 300_000, `${core}`);
  assert.ok(engine < 600_000, `${engine}`);
});
