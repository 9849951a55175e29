// The package as it is packed: what it offers, and what it does without.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { transform } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

import { PACKAGE_DIR, ROOT } from "../../scripts/paths.ts";
import { pack } from "./installed.ts";

const tarball = pack();
after(() => tarball.remove());

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Record<string, unknown>;
  readonly imports: Record<string, unknown>;
  readonly dependencies: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { optional: boolean }>;
  readonly bin: Record<string, string>;
}

const manifest = JSON.parse(readFileSync(join(PACKAGE_DIR, "package.json"), "utf8")) as Manifest;

const read = (path: string) => readFileSync(join(PACKAGE_DIR, path), "utf8");

/** The package's own JavaScript, without the texts of its WebAssembly. */
const scripts = readdirSync(PACKAGE_DIR, { recursive: true, encoding: "utf8" }).filter(
  (path) => /\.[cm]?js$/.test(path) && !path.endsWith(".bytes.js"),
);

/** Every path that an entry of `exports` or `imports` may lead to. */
function targets(entry: unknown): string[] {
  if (typeof entry === "string") return [entry];
  return Object.values(entry as object).flatMap(targets);
}

test("it offers these entry points, and each of its targets is there", () => {
  assert.deepEqual(Object.keys(manifest.exports), [
    ".",
    "./engine",
    "./client",
    "./worker",
    "./testing",
    "./import-xstate",
    "./openapi.json",
    "./machine.schema.json",
    "./migrations/*",
    "./package.json",
  ]);
  const all = targets([manifest.exports, manifest.imports, manifest.bin]);
  const missing = all.filter((path) => !path.includes("*") && !existsSync(join(PACKAGE_DIR, path)));
  assert.deepEqual(missing, []);
  assert.deepEqual(Object.keys(manifest.bin), ["statewright"]);
  assert.deepEqual(
    readdirSync(join(PACKAGE_DIR, "migrations")),
    readdirSync(join(ROOT, "src/engine/migrations")),
  );
});

test("it depends on one package, and on what is of a user's choice only if the user has it", () => {
  assert.deepEqual(Object.keys(manifest.dependencies), ["openapi-fetch"]);
  for (const name of Object.keys(manifest.peerDependencies))
    assert.equal(manifest.peerDependenciesMeta[name]?.optional, true, name);
});

test("publint finds nothing", async () => {
  const { messages } = await publint({ pkgDir: PACKAGE_DIR, strict: true, pack: "npm" });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, manifest)),
    [],
  );
});

test("attw finds nothing", () => {
  // The resolution of Node before 12 knows no `exports`.
  const attw = join(ROOT, "node_modules", ".bin", "attw");
  const args = [attw, tarball.file, "--profile", "node16", "--format", "json"];
  const run = spawnSync(process.execPath, args, { encoding: "utf8" });
  const { analysis } = JSON.parse(run.stdout) as {
    analysis: { problems: { kind: string; entrypoint?: string; resolutionKind?: string }[] };
  };
  const found = analysis.problems.filter(({ resolutionKind }) => resolutionKind !== "node10");
  assert.deepEqual(
    found.map(({ kind, entrypoint }) => `${kind} ${entrypoint}`),
    [],
  );
});

test("no module awaits at its top level", async () => {
  // CommonJS has none, and esbuild refuses what it cannot say.
  for (const path of scripts) await transform(read(path), { format: "cjs", logLevel: "silent" });
});

test("nothing is evaluated from text", () => {
  for (const path of scripts)
    assert.doesNotMatch(read(path), /\beval\s*\(|\bnew\s+Function\b|[^`\w]Function\s*\(/, path);
});

test("the types say nothing of the WebAssembly's bindings, and name files that are there", () => {
  const types = readdirSync(PACKAGE_DIR, { recursive: true, encoding: "utf8" }).filter((path) =>
    /\.d\.c?ts$/.test(path),
  );
  assert.ok(types.length > 10);
  for (const path of types) {
    const text = read(path);
    assert.doesNotMatch(text, /["']#/, path);
    for (const [, , imported = ""] of text.matchAll(/(from|import\()\s*"(\.[^"]*\.c?js)"/g)) {
      const file = join(PACKAGE_DIR, path, "..", imported.replace(/\.(c?)js$/, ".d.$1ts"));
      assert.ok(existsSync(file), `${path}: ${imported}`);
    }
  }
});
