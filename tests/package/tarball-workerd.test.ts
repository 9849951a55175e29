// The packed package on workerd: bundled by wrangler as a user's Worker is, and the prebuilt Worker of a project that
// `statewright init` wrote.

import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

import { ROOT } from "../../scripts/paths.ts";
import { COMPATIBILITY_DATE } from "../../scripts/runtime.ts";
import { DURABLE, PURE } from "./answers.ts";
import { install, type Project, SHARED } from "./installed.ts";

const WRANGLER = join(ROOT, "node_modules", ".bin", "wrangler");

/** What wrangler would upload: the script, and the WebAssembly beside it. */
interface Bundle {
  readonly script: string;
  readonly wasm: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /** What wrangler said. */
  readonly said: string;
}

function bundled(project: Project): Bundle {
  const said = project.run(process.execPath, WRANGLER, "deploy", "--dry-run", "--outdir", "out");
  const out = join(project.folder, "out");
  const wasm = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const name of readdirSync(out).filter((name) => name.endsWith(".wasm")))
    wasm.set(name, readFileSync(join(out, name)));
  return { script: readFileSync(join(out, "index.js"), "utf8"), wasm, said };
}

function run({ script, wasm }: Bundle, bindings: Record<string, string>, objects: boolean): Miniflare {
  return new Miniflare(
    convertV4MiniflareOptions({
      name: "consumer",
      modules: [
        { type: "ESModule", path: "index.js", contents: script },
        ...[...wasm].map(([path, contents]) => ({ type: "CompiledWasm", path, contents }) as const),
      ],
      compatibilityDate: COMPATIBILITY_DATE,
      host: "127.0.0.1",
      port: 0,
      bindings,
      d1Databases: { DB: "consumer" },
      ...(objects ? { durableObjects: { BOXES: { className: "Box", useSQLite: true } } } : {}),
      cf: false,
      telemetry: { enabled: false },
      logRequests: false,
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: () => undefined,
    }),
  );
}

test("the core, and the engine over D1 and in a Durable Object", { timeout: 120_000 }, async () => {
  const project = install("workerd");
  copyFileSync(join(SHARED, "exercise.js"), join(project.folder, "src", "exercise.js"));
  const miniflare = run(bundled(project), {}, true);
  try {
    const url = (await miniflare.ready).origin;
    const asked = async (path: string) => {
      const response = await fetch(`${url}${path}`);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      return JSON.parse(text) as unknown;
    };
    assert.deepEqual(await asked("/core"), PURE);
    assert.deepEqual(await asked("/d1"), DURABLE);
    assert.deepEqual(await asked("/object"), DURABLE);
  } finally {
    await miniflare.dispose();
    project.remove();
  }
});

test("a project of `statewright init` deploys the prebuilt Worker", { timeout: 120_000 }, async () => {
  const project = install("empty");
  try {
    const command = join(project.folder, "node_modules", ".bin", "statewright");
    project.run(command, "init", "shop");
    const shop = join(project.folder, "shop");
    assert.ok(readdirSync(shop).includes("wrangler.toml"));
    // As if its own `npm install` had been run.
    mkdirSync(join(shop, "node_modules"));
    symlinkSync(
      join(project.folder, "node_modules", "statewright"),
      join(shop, "node_modules", "statewright"),
    );
    const inside: Project = { ...project, ...within(project, shop) };
    const bundle = bundled(inside);
    const gzipped = Number(/gzip: ([\d.]+) KiB/.exec(bundle.said)?.[1]);
    assert.ok(gzipped * 1024 < 610_000, bundle.said);
    assert.match(bundle.said, /env\.DB/);
    const applied = inside.run(process.execPath, WRANGLER, "d1", "migrations", "apply", "DB", "--local");
    assert.match(applied, /0001_initial\.sql/);

    const miniflare = run(bundle, { ENVIRONMENT: "development" }, false);
    try {
      const url = (await miniflare.ready).origin;
      const headers = { "x-tenant-id": "t1", "content-type": "application/json" };
      const definition = { machine_id: "m", states: ["a", "b"], initial_state: "a" };
      const body = JSON.stringify({ ...definition, transitions: [{ from: "a", to: "b", on: "go" }] });
      const made = await fetch(`${url}/api/machines`, { method: "POST", headers, body });
      assert.equal(made.status, 201, await made.text());
      const health = await fetch(`${url}/health`);
      assert.equal(health.status, 200, await health.text());
    } finally {
      await miniflare.dispose();
    }
  } finally {
    project.remove();
  }
});

/** A folder of a project, as a project. */
function within(project: Project, folder: string): Pick<Project, "folder" | "run"> {
  return {
    folder,
    run: (command, ...args) => project.run("sh", "-c", 'cd "$0" && exec "$@"', folder, command, ...args),
  };
}
