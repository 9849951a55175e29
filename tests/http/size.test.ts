// What the Worker weighs, and that its configuration is one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { ROOT, WORKER_DIR, WWW_DIR } from "../../scripts/paths.ts";
import { COMPATIBILITY_DATE, RUN_WORKER_FIRST, startRuntime } from "../../scripts/runtime.ts";

test("the script is under 600 KB gzipped", () => {
  const size = (file: string) => gzipSync(readFileSync(join(WORKER_DIR, file)), { level: 9 }).length;
  const wasm = size("index_bg.wasm");
  const glue = size("index.js");
  console.log(`# ${wasm} bytes of WebAssembly and ${glue} bytes of JavaScript, gzipped`);
  assert.ok(wasm + glue < 600_000, `${wasm + glue}`);
});

/** The part of it that is used here; Node's own types leave it out. */
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>;
  Module: { exports(module: object): unknown[] };
};

test("it is compiled and instantiated in under 50 ms of CPU", async () => {
  // What the runtime does at start-up: compile the module and run its start function. The same engine runs here.
  const bytes = readFileSync(join(WORKER_DIR, "index_bg.wasm"));
  const times: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    const before = process.cpuUsage();
    const module = await WebAssembly.compile(bytes);
    assert.ok(WebAssembly.Module.exports(module).length > 0);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  times.sort((a, b) => a - b);
  console.log(`# compiling the module takes ${times.map((time) => time.toFixed(1)).join(", ")} ms of CPU`);
  assert.ok((times[0] ?? Infinity) < 50, String(times));
});

test("its first request is answered at once", async () => {
  const runtime = await startRuntime({ settings: { ENVIRONMENT: "development" } });
  try {
    const began = performance.now();
    const response = await fetch(`${runtime.url}/health`);
    await response.text();
    const took = performance.now() - began;
    assert.equal(response.status, 200);
    assert.ok(took < 1000, `${took} ms`);
  } finally {
    await runtime.stop();
  }
});

test("the local runtime and wrangler.toml have one compatibility date, the same bindings and one migrations folder", () => {
  const config = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  assert.equal(/^compatibility_date = "([^"]+)"/m.exec(config)?.[1], COMPATIBILITY_DATE);
  const bindings = [...config.matchAll(/^binding = "([^"]+)"/gm)].map(([, name]) => name);
  assert.deepEqual(bindings, ["ASSETS", "DB"]);
  assert.equal(/^directory = "([^"]+)"/m.exec(config)?.[1], relative(ROOT, WWW_DIR));
  assert.deepEqual(JSON.parse(/^run_worker_first = (.*)$/m.exec(config)?.[1] ?? ""), RUN_WORKER_FIRST);
  assert.equal(/^migrations_dir = "([^"]+)"/m.exec(config)?.[1], "src/engine/migrations");
  assert.match(config, /^crons = \["\* \* \* \* \*"\]/m);
});
