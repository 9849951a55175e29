// What the package weighs.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { PACKAGE_DIR } from "../../scripts/paths.ts";

const gzipped = (path: string) => gzipSync(readFileSync(join(PACKAGE_DIR, path)), { level: 9 }).length;

test("the core's WebAssembly is under 230 KB gzipped, that of simulations under 235 KB, the engine's under 1.1 MB", () => {
  const core = gzipped("wasm/core.wasm");
  const simulation = gzipped("wasm/simulation.wasm");
  const engine = gzipped("wasm/engine.wasm");
  console.log(`# core ${core}, simulation ${simulation}, engine ${engine} bytes of WebAssembly, gzipped`);
  assert.ok(core < 230_000, `${core}`);
  // It also reads entities as services show them: 15 KB, most of it for what is to be said where one is wrong.
  assert.ok(simulation < 235_000, `${simulation}`);
  assert.ok(engine < 1_100_000, `${engine}`);
});

test("it brings the page, which packs to under 1.8 MB", () => {
  const { files } = JSON.parse(readFileSync(join(PACKAGE_DIR, "package.json"), "utf8")) as {
    files: string[];
  };
  assert.ok(files.includes("www"));
  const paths = readdirSync(join(PACKAGE_DIR, "www"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(PACKAGE_DIR, join(entry.parentPath, entry.name)));
  for (const path of ["www/index.html", "www/sw.js", "www/_headers"]) assert.ok(paths.includes(path), path);
  const page = paths.map(gzipped).reduce((sum, size) => sum + size);
  console.log(`# the page: ${page} bytes, gzipped, in ${paths.length} files`);
  assert.ok(page < 1_800_000, `${page}`);
});
