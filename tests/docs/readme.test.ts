// The README as a reader would run it: its commands are pasted against the service of `make run`.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { paste, printed, read, steps } from "./markdown.ts";

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

function service(port: number, data: string): Promise<ChildProcess> {
  const child = spawn("make", ["run"], {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      PORT: String(port),
      DATA: data,
      API_KEY: "dev_secret",
      TIMEOUT_INTERVAL_SECS: "1",
    },
  });
  let output = "";
  return new Promise((ready, failed) => {
    child.stdout.on("data", (part: Buffer) => {
      output += part.toString();
      if (output.includes("listens on")) ready(child);
    });
    child.once("exit", () => failed(new Error(`make run ended: ${output}`)));
  });
}

test("the README's tour works when it is pasted", { timeout: 600_000 }, async () => {
  const blocks = steps(read("README.md"));
  assert.ok(blocks.length >= 3, "the README has a tour");
  assert.ok(
    blocks.some((block) => block.shown !== undefined),
    "the tour shows what to expect",
  );
  const data = mkdtempSync(join(tmpdir(), "statewright-tour-"));
  const port = await freePort();
  const running = await service(port, data);
  try {
    const outputs = await paste("README.md", blocks, `http://127.0.0.1:${port}`);
    blocks.forEach((block, index) => printed(block, outputs[index] ?? "", "README.md"));
    console.log(`# ${blocks.length} blocks of the README were run`);
  } finally {
    if (running.pid !== undefined) process.kill(-running.pid, "SIGTERM");
    await new Promise((ended) => running.once("close", ended));
    rmSync(data, { recursive: true, force: true });
  }
});
