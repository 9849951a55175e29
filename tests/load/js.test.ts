// That the benchmark of the package runs: that each library goes where the others go, and that every demand is named. What it measures
// means nothing in so short a time.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("the benchmark of the package runs and names every demand", () => {
  const script = fileURLToPath(new URL("js.ts", import.meta.url));
  const run = spawnSync(process.execPath, [script, "--quick"], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
  const demands = run.stdout.match(/^(ratio|value) \d+\.\d+.* demanded [≤≥] /gm) ?? [];
  assert.equal(demands.length, 13, run.stdout);
  assert.match(run.stdout, /^\| Statewright, `machine.send` \| \d+ ns \| \d+ ns \| 1 \|/m);
  assert.match(run.stdout, /^\| by hand \| \d+ ns \| \d+ ns \| [\d.]+ \/ [\d.]+ \| nothing else \|/m);
});
