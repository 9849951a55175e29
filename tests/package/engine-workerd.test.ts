// The adapters of D1 and of a Durable Object's storage pass the suite of databases on the Workers runtime (S4.7).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, describe, test } from "node:test";

import { build, type Plugin } from "esbuild";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

import { ROOT } from "../../scripts/paths.ts";
import { COMPATIBILITY_DATE } from "../../scripts/runtime.ts";

const files = new Map<string, string>();
/** WebAssembly stays beside the bundle, as the runtime wants it. */
const beside: Plugin = {
  name: "wasm",
  setup({ onResolve }) {
    onResolve({ filter: /\.wasm$/ }, ({ path, resolveDir }) => {
      const name = path.split("/").at(-1) ?? path;
      files.set(name, resolve(resolveDir, path));
      return { path: `./${name}`, external: true };
    });
  },
};

const { outputFiles } = await build({
  absWorkingDir: ROOT,
  entryPoints: [join(ROOT, "tests", "package", "workerd", "engine-contract.mjs")],
  bundle: true,
  write: false,
  format: "esm",
  target: "es2022",
  conditions: ["workerd", "worker"],
  external: ["cloudflare:workers", "node:*"],
  plugins: [beside],
  logLevel: "silent",
});

const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    name: "contract",
    rootPath: ROOT,
    modules: [
      { type: "ESModule", path: "index.js", contents: outputFiles[0]?.text ?? "" },
      ...[...files].map(
        ([path, file]) => ({ type: "CompiledWasm", path, contents: readFileSync(file) }) as const,
      ),
    ],
    compatibilityDate: COMPATIBILITY_DATE,
    host: "127.0.0.1",
    port: 0,
    d1Databases: { DB: "contract" },
    durableObjects: { BOXES: { className: "Box", useSQLite: true } },
    cf: false,
    telemetry: { enabled: false },
    logRequests: false,
    log: new Log(LogLevel.NONE),
    handleStructuredLogs: () => undefined,
  }),
);
after(() => miniflare.dispose());
const { origin } = await miniflare.ready;

async function asked(path: string): Promise<unknown> {
  const response = await fetch(origin + path);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

for (const adapter of ["d1", "durable-object"]) {
  const names = (await asked(`/${adapter}`)) as string[];
  describe(adapter, () => {
    names.forEach((name, place) => {
      test(name, async () => assert.deepEqual(await asked(`/${adapter}?case=${place}`), {}));
    });
    test("the suite was run", () => assert.ok(names.length > 40, String(names.length)));
  });
}
