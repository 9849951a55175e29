// `make deploy`: the Worker to Cloudflare, with its database made and migrated first. docs/deploy.md tells it in full.

import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "./paths.ts";

const CONFIG = join(ROOT, "wrangler.toml");
const NONE = "00000000-0000-0000-0000-000000000000";
const DATABASE = "statewright";

/** A reason to stop that a person can act on. */
class Refusal extends Error {}

function wrangler(args: string[], shown: boolean): { ok: boolean; output: string } {
  const run = spawnSync(process.execPath, [join(ROOT, "node_modules", ".bin", "wrangler"), ...args], {
    cwd: ROOT,
    encoding: "utf8",
    stdio: shown ? "inherit" : ["ignore", "pipe", "pipe"],
  });
  return { ok: run.status === 0, output: `${run.stdout ?? ""}${run.stderr ?? ""}` };
}

function step(what: string, args: string[]): void {
  console.log(`deploy: ${what}`);
  if (!wrangler(args, true).ok) throw new Refusal(`${what}: failed; what was done before stands`);
}

/** Gives the Worker a secret, which passes by no command line. */
function secret(name: string, value: string): void {
  const put = spawnSync(
    process.execPath,
    [join(ROOT, "node_modules", ".bin", "wrangler"), "secret", "put", name],
    { cwd: ROOT, encoding: "utf8", input: value, stdio: ["pipe", "inherit", "inherit"] },
  );
  if (put.status !== 0) throw new Refusal(`setting the secret ${name}: failed; what was done before stands`);
}

/** The id of the database, which is made where there is none. */
function database(): string {
  const config = readFileSync(CONFIG, "utf8");
  const configured = /^database_id = "([^"]*)"/m.exec(config)?.[1];
  if (configured !== undefined && configured !== NONE) return configured;
  const find = (): string | undefined => {
    const { output } = wrangler(["d1", "info", DATABASE, "--json"], false);
    return /"uuid":\s*"([0-9a-f-]{36})"/.exec(output)?.[1];
  };
  let id = find();
  if (id === undefined) {
    step(`making the database ${DATABASE}`, ["d1", "create", DATABASE]);
    id = find();
  }
  if (id === undefined)
    throw new Refusal(`the database ${DATABASE} was not found; see: npx wrangler d1 info ${DATABASE}`);
  writeFileSync(CONFIG, config.replace(NONE, id));
  console.log(`deploy: wrangler.toml now names the database ${id}; commit it`);
  return id;
}

function main(): void {
  // It says so and succeeds.
  const who = wrangler(["whoami"], false);
  if (!who.ok || who.output.includes("not authenticated")) {
    throw new Refusal(
      "you are not signed in to Cloudflare; run: npx wrangler login (or set CLOUDFLARE_API_TOKEN)",
    );
  }
  database();
  // The schema first: the Worker of the version before answers 503 for the moment between, and touches nothing.
  step("migrating the database", ["d1", "migrations", "apply", DATABASE, "--remote"]);
  step("deploying the Worker", ["deploy"]);
  const secrets = wrangler(["secret", "list"], false);
  const has = (name: string): boolean => new RegExp(`"name":\\s*"${name}"`).test(secrets.output);
  // Only where it is known that there is none: another key would leave every secret of before unreadable.
  if (secrets.ok && !has("SECRETS_KEY")) {
    secret("SECRETS_KEY", randomBytes(32).toString("base64"));
    console.log("deploy: SECRETS_KEY was made, which secrets of tenants are sealed with; it is nowhere else");
  }
  if (!has("API_KEY")) {
    console.log("deploy: no API key is set, so that every request is answered 401. Set one:");
    console.log("  npx wrangler secret put API_KEY");
  }
}

try {
  main();
} catch (error) {
  console.error(`deploy: ${error instanceof Refusal ? error.message : (error as Error).stack}`);
  process.exitCode = 1;
}
