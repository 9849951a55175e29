// Runs the README as a reader would: every `sh` block is pasted in order into one shell, while the service of
// `make run` answers. What the README shows after a block, in a `json` block, must be what the block's last line of
// output is: names and values alike, where "…" stands for any value and names that are not shown may be there too.
//
// Blocks that set the machine up, run or test the service are not pasted here: the test has done so already, or is
// part of it. They must be these very commands.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";

const DONE_ALREADY = [
  /^git clone \S+( \S+)?$/,
  /^cd \S+$/,
  /^make( (run|test|check|bench|deploy|help))?( [A-Z_]+=\S+)*$/,
];

interface Step {
  line: number;
  commands: string;
  shown: unknown;
}

/** The blocks of a Markdown text that are to be pasted. */
function steps(markdown: string): Step[] {
  const blocks = [...markdown.matchAll(/^```(\w+)\n([^]*?)^```$/gm)];
  const found: Step[] = [];
  blocks.forEach((block, index) => {
    const [, language, commands = ""] = block;
    const line = markdown.slice(0, block.index).split("\n").length;
    if (language !== "sh") return;
    const lines = commands.split("\n").map((text) => text.replace(/\s+#.*$/, "").trim());
    const rest = lines.filter((text) => text !== "" && !text.startsWith("#"));
    if (rest.every((text) => DONE_ALREADY.some((known) => known.test(text)))) return;
    const next = blocks[index + 1];
    const shown = next?.[1] === "json" ? (JSON.parse(next[2] ?? "") as unknown) : undefined;
    found.push({ line, commands, shown });
  });
  return found;
}

/** Asserts that what is shown is there. */
function shows(shown: unknown, actual: unknown, path: string): void {
  if (shown === "…") {
    assert.notEqual(actual, undefined, `${path} is missing`);
  } else if (Array.isArray(shown)) {
    assert.ok(Array.isArray(actual) && actual.length === shown.length, `${path}: ${JSON.stringify(actual)}`);
    shown.forEach((item, index) => shows(item, actual[index], `${path}[${index}]`));
  } else if (typeof shown === "object" && shown !== null) {
    assert.ok(typeof actual === "object" && actual !== null, `${path}: ${JSON.stringify(actual)}`);
    for (const [key, value] of Object.entries(shown)) {
      shows(value, (actual as Record<string, unknown>)[key], `${path}.${key}`);
    }
  } else {
    assert.deepEqual(actual, shown, path);
  }
}

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
    env: { ...process.env, PORT: String(port), DATA: data, TIMEOUT_INTERVAL_SECS: "1" },
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

/** Runs all blocks in one shell; gives what each printed. */
function paste(blocks: Step[], port: number): Promise<string[]> {
  const mark = "-- the end of a block --";
  const script = blocks.map((block) => `${block.commands}\nprintf '\\n%s\\n' '${mark}'\n`).join("");
  const shell = spawn("bash", ["-eu", "-o", "pipefail"], { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  shell.stdout.on("data", (part: Buffer) => (output += part.toString()));
  // The README's service listens on the port that is free for this one.
  shell.stdin.end(script.replaceAll(/\b(localhost|127\.0\.0\.1):3050\b/g, `127.0.0.1:${port}`));
  return new Promise((done, failed) => {
    shell.once("close", (code) => {
      const printed = output.split(`\n${mark}\n`);
      const next = blocks[printed.length - 1];
      if (code !== 0)
        failed(new Error(`the block in line ${next?.line} failed:\n${next?.commands}\n${printed.at(-1)}`));
      done(printed.slice(0, -1));
    });
  });
}

test("the README's tour works when it is pasted", { timeout: 120_000 }, async () => {
  const blocks = steps(readFileSync(join(ROOT, "README.md"), "utf8"));
  assert.ok(blocks.length >= 3, "the README has a tour");
  assert.ok(
    blocks.some((block) => block.shown !== undefined),
    "the tour shows what to expect",
  );
  const data = mkdtempSync(join(tmpdir(), "statewright-tour-"));
  const port = await freePort();
  const running = await service(port, data);
  try {
    const printed = await paste(blocks, port);
    blocks.forEach((block, index) => {
      if (block.shown === undefined) return;
      const last = printed[index]?.trim().split("\n").at(-1) ?? "";
      let actual: unknown;
      try {
        actual = JSON.parse(last);
      } catch {
        assert.fail(`the block in line ${block.line} printed no JSON: ${last}`);
      }
      shows(block.shown, actual, `the answer of line ${block.line}`);
    });
    console.log(`# ${blocks.length} blocks of the README were run`);
  } finally {
    if (running.pid !== undefined) process.kill(-running.pid, "SIGTERM");
    await new Promise((ended) => running.once("close", ended));
    rmSync(data, { recursive: true, force: true });
  }
});
