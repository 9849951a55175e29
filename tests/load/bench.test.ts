// That the benchmark runs. What it measures means nothing in so short a time.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("the benchmark of the service runs and names every demand", () => {
  const script = fileURLToPath(new URL("bench.ts", import.meta.url));
  const run = spawnSync(process.execPath, [script, "--quick"], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
  const demands = run.stdout.match(/^(ratio|value) -?\d+\.\d+.* demanded [≤≥] /gm) ?? [];
  assert.equal(demands.length, 9, run.stdout);
  assert.match(run.stdout, /^\| `evaluate`, 16 connections \| \d+ events\/s \| \d+ events\/s \|/m);
  assert.match(
    run.stdout,
    /^\| deliveries of a backlog for 100 sinks by one invocation \| \d+ deliveries\/s, /m,
  );
});
