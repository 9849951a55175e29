// The adapter of better-sqlite3 passes the suite of databases (S4.7). better-sqlite3 is compiled for one version of Node.js, that of
// the machine, which need not be the one that runs the tests.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";

/** A Node.js of this machine that loads better-sqlite3. */
function itsNode(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = [process.execPath, ...folders.map((folder) => join(folder, "node"))];
  return found.filter(existsSync).find((node) => {
    const load = `new (require("better-sqlite3"))(":memory:")`;
    return spawnSync(node, ["-e", load], { cwd: ROOT }).status === 0;
  });
}

const node = itsNode();

describe("betterSqlite3", { skip: node === undefined && "no Node.js here loads better-sqlite3" }, () => {
  if (node === undefined) return;
  const text = execFileSync(node, [join(ROOT, "tests", "package", "better-sqlite3.mjs")], {
    encoding: "utf8",
  });
  const outcomes = JSON.parse(text) as { name: string; error?: string }[];
  for (const { name, error } of outcomes) test(name, () => assert.equal(error, undefined));
  test("the suite was run", () => assert.ok(outcomes.length > 40, String(outcomes.length)));
});

test(
  "without node:sqlite, nodeSqlite and memory say what is needed",
  { skip: node === undefined },
  (context) => {
    const program = `
    const { memory, nodeSqlite, StatewrightError } = require("statewright/engine");
    if (process.getBuiltinModule?.("node:sqlite") !== undefined) process.exit(9);
    for (const open of [() => memory(), () => nodeSqlite("a.db")]) {
      try { open(); process.exit(1); }
      catch (error) {
        if (!(error instanceof StatewrightError)) throw error;
        console.log(error.code + " " + error.message);
      }
    }`;
    const { status, stdout, stderr } = spawnSync(node ?? "", ["-e", program], {
      cwd: ROOT,
      encoding: "utf8",
    });
    if (status === 9) return context.skip("it has node:sqlite");
    assert.equal(status, 0, stderr);
    const lines = stdout.trim().split("\n");
    assert.equal(lines.length, 2);
    for (const line of lines)
      assert.match(
        line,
        /^UNSUPPORTED_RUNTIME node:sqlite needs Node\.js 22\.5 or newer, and this is Node\.js 2\d/,
      );
  },
);
