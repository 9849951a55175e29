// What can be known of a deployment without one: wrangler takes the configuration, and its migrations make the
// schema that the Worker needs.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { open } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "statewright-deploy-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function wrangler(...args: string[]): string {
  const run = spawnSync(process.execPath, [join(ROOT, "node_modules", ".bin", "wrangler"), ...args], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" },
  });
  assert.equal(run.status, 0, `${run.stdout}${run.stderr}`);
  return run.stdout;
}

test("wrangler takes the configuration and bundles the Worker", () => {
  const output = wrangler("deploy", "--dry-run", "--outdir", join(folder, "bundle"));
  const size = Number(/gzip: ([\d.]+) KiB/.exec(output)?.[1]);
  assert.ok(size * 1024 < 600_000, output);
  assert.match(output, /env\.DB \(statewright\)/);
  assert.match(output, /env\.ENVIRONMENT \("production"\)/);
});

test("the migrations that wrangler applies make the schema that a Worker in production accepts", async () => {
  wrangler("d1", "migrations", "apply", "statewright", "--local", "--persist-to", folder);
  const config = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const database = /^database_id = "([^"]+)"/m.exec(config)?.[1];
  assert.ok(database !== undefined);
  const service = await open({ data: join(folder, "v3"), database, settings: { ENVIRONMENT: "production" } });
  try {
    assert.deepEqual(await service.expect(200, "GET", "/api/machines"), []);
    await service.runtime.sql("INSERT INTO schema_version (version) VALUES (999)");
  } finally {
    await service.runtime.stop();
  }
  // A database that a newer version wrote is refused, in development too.
  const older = await open({ data: join(folder, "v3"), database });
  try {
    const answer = await older.call("GET", "/api/machines");
    assert.equal(answer.status, 503);
    assert.equal(answer.body.error.code, "SCHEMA_MISMATCH");
    assert.match(answer.body.error.message, /999/);
  } finally {
    await older.runtime.stop();
  }
});

test("S0.54 to S0.64: wrangler.toml has every setting at its default, and the Worker takes them", async () => {
  const config = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const [, vars = ""] = /^\[vars\]\n([^]*?)^\[/m.exec(config) ?? [];
  const settings = Object.fromEntries(
    [...vars.matchAll(/^([A-Z_]+) = "(.*)"$/gm)].map(([, name, value]) => [name, value]),
  ) as Record<string, string>;
  const numbers = {
    STATE_PERIOD: 5,
    STATE_MAX_INFLIGHT: 32,
    STATE_ACCEPT_TIMEOUT: 30,
    STATE_RUN_TIMEOUT: 600,
    STATE_STALE_AFTER: 300,
    STATE_MAX_ATTEMPTS: 5,
    STATE_RETENTION: 2_592_000,
    STATE_MAX_DATA_BYTES: 65_536,
  };
  for (const [name, value] of Object.entries(numbers)) assert.equal(settings[name], String(value), name);
  assert.equal(settings["STATE_STORE"], "sqlite");
  assert.equal(settings["PERSONALITIES"], "state");
  const service = await open({ settings: { ...settings, ENVIRONMENT: "development" } });
  try {
    await service.expect(200, "GET", "/api/machines");
  } finally {
    await service.runtime.stop();
  }
});

test("who is not signed in is told so, and nothing is changed", () => {
  const before = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    WRANGLER_SEND_METRICS: "false",
    HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  delete env["CLOUDFLARE_API_TOKEN"];
  const run = spawnSync(process.execPath, [join(ROOT, "scripts", "deploy.ts")], {
    cwd: ROOT,
    encoding: "utf8",
    env,
  });
  assert.equal(run.status, 1, run.stdout);
  assert.match(run.stderr, /^deploy: you are not signed in to Cloudflare; run: npx wrangler login/);
  assert.equal(readFileSync(join(ROOT, "wrangler.toml"), "utf8"), before);
});
