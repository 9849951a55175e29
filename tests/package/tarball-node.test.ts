// The packed package, installed and used in Node.js: by ES modules and by CommonJS, on this Node.js and on the machine's own.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { build, type BuildOptions } from "esbuild";

import { DURABLE, PURE } from "./answers.ts";
import { install, SHARED } from "./installed.ts";

const esm = install("node-esm");
const cjs = install("node-cjs");
copyFileSync(join(SHARED, "exercise.js"), join(esm.folder, "exercise.js"));
copyFileSync(join(SHARED, "exercise.js"), join(cjs.folder, "exercise.mjs"));
after(() => [esm, cjs].forEach((project) => project.remove()));

const version = (node: string) => spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
/** This Node.js, and what the machine runs npm with. */
const nodes = [...new Map([process.execPath, "node"].map((node) => [version(node), node]))];

const entries = { others: ["function", "function", "function"], one: true };

for (const [name, node] of nodes) {
  for (const [kind, project] of Object.entries({ "ES modules": esm, CommonJS: cjs })) {
    test(`the core, the client and the helpers of tests by ${kind} on Node.js ${name}, with no code made from text`, () => {
      const printed = project.run(node, "--disallow-code-generation-from-strings", "main.js");
      assert.deepEqual(JSON.parse(printed), { ...PURE, ...entries });
    });

    test(`the engine by ${kind} on Node.js ${name}`, () => {
      if (Number(name.slice(1).split(".")[0]) < 22) {
        // It has no node:sqlite, and is told so.
        assert.throws(() => project.run(node, "engine.js"), /UNSUPPORTED_RUNTIME|Node(\.js)? 22/);
        return;
      }
      const printed = project.run(
        node,
        "--no-warnings",
        "--disallow-code-generation-from-strings",
        "engine.js",
      );
      assert.deepEqual(JSON.parse(printed), DURABLE);
    });
  }
}

test("nothing is read before it is used, the core's WebAssembly once, and the engine's not at all by the core", () => {
  assert.deepEqual(JSON.parse(esm.run(process.execPath, "loaded.js")), {
    afterImport: 0,
    afterUse: ["core.wasm"],
    instances: 1,
    afterEngine: 0,
  });
});

test("a bundle that took the package in says that it must be left out", async () => {
  const outfile = join(esm.folder, "dist", "bundle.mjs");
  const whole: BuildOptions = { outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" };
  whole.entryPoints = [join(esm.folder, "main.js")];
  await build(whole);
  assert.throws(() => esm.run(process.execPath, outfile), /external: \["statewright"\]/);
  await build({ ...whole, external: ["statewright"] });
  assert.deepEqual(JSON.parse(esm.run(process.execPath, outfile)), { ...PURE, ...entries });
});

test("the core asks for no network", () => {
  assert.deepEqual(JSON.parse(esm.run(process.execPath, "silent.js")), []);
});

test("the command says what it can do", () => {
  const command = join(esm.folder, "node_modules", ".bin", "statewright");
  assert.match(esm.run(command, "--help"), /statewright/);
  assert.match(esm.run(command, "--version"), /^0\.1\.0/m);
});
