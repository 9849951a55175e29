// `make run`: the service on this machine, on the Workers runtime with an embedded D1, and the simulator and the console beside it,
// until Ctrl-C.
//
//   PORT                   where to listen (3050)
//   API_KEY                the key that callers must send (dev_secret)
//   DATA                   the folder of the database, kept between runs (data)
//   TIMEOUT_INTERVAL_SECS  how often due timers are looked for (10)
//   STATE_PERIOD           how often the outbox is looked at (5)
//   SECRETS_KEY            what secrets are sealed with (made once, and kept in the folder of the database)
//   WEBHOOK_ALLOW          hosts that webhooks may go to whatever their address (localhost,127.0.0.1,[::1])
//   all other variables of docs/operations.md, as for the Worker
//
// The local runtime never fires a cron trigger, so the scheduled handler is driven from here.

import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";

import { buildWorker } from "./build.ts";
import { ROOT } from "./paths.ts";
import { type Runtime, startRuntime } from "./runtime.ts";
import { buildPackageForWww, buildWww } from "./www.ts";

const HOST = process.env["HOST"] ?? "127.0.0.1";

/** Variables that reach the Worker as they are. */
const PASSED = [
  "LOG_LEVEL",
  "CORS_ORIGINS",
  "PERSONALITIES",
  "STATE_STORE",
  "STATE_DB_PATH",
  "STATE_MAX_INFLIGHT",
  "STATE_ACCEPT_TIMEOUT",
  "STATE_RUN_TIMEOUT",
  "STATE_STALE_AFTER",
  "STATE_MAX_ATTEMPTS",
  "STATE_RETENTION",
  "STATE_MAX_DATA_BYTES",
  "EVENT_CORE_INGEST_URL",
  "PLATFORM_API_URL",
  "PLATFORM_API_KEY",
  "ACTION_RETRIES",
  "NODE_NAME",
];

/** A reason to stop that a person can act on. */
class Refusal extends Error {}

function whole(name: string, fallback: number, least: number, most: number): number {
  const text = process.env[name];
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new Refusal(`${name} is \`${text}\`; a whole number from ${least} to ${most} is needed`);
  }
  return value;
}

/** Says before the runtime starts that the port is taken: the runtime's own words for it are obscure. */
function portIsFree(port: number): Promise<void> {
  return new Promise((free, taken) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      const why =
        error.code === "EADDRINUSE" ? "is taken by another program" : `cannot be used (${error.code})`;
      taken(new Refusal(`port ${port} ${why}; choose another one: make run PORT=${port + 1}`));
    });
    probe.listen(port, HOST, () => probe.close(() => free()));
  });
}

/** The key that secrets are sealed with: the operator's, or one that is made once and kept beside the database. */
function secretsKey(data: string): string {
  const given = process.env["SECRETS_KEY"];
  if (given !== undefined && given !== "") return given;
  const file = join(data, "secrets.key");
  try {
    // Never over one that is there: what it sealed could not be opened again.
    writeFileSync(file, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw new Refusal(`the key of secrets cannot be kept in ${file}: ${String(error)}`);
    }
  }
  return readFileSync(file, "utf8").trim();
}

function log(line: string): void {
  console.log(line);
}

/** What a misconfigured service says of itself. */
function said(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { error: { code: string; message: string } };
    return error.code === "MISCONFIGURED" ? error.message : undefined;
  } catch {
    return undefined;
  }
}

/** Drives the scheduled handler, one pass after another, until `stopped`. */
async function scan(runtime: Runtime, seconds: number, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    try {
      await runtime.scheduled();
    } catch (error) {
      // Ctrl-C reaches the runtime as well, and may reach it first.
      await new Promise((wait) => setTimeout(wait, 200));
      if (!stopped.aborted) log(`the scheduled handler failed: ${String(error)}`);
    }
    await new Promise<void>((wake) => {
      const timer = setTimeout(wake, seconds * 1000);
      stopped.addEventListener("abort", () => (clearTimeout(timer), wake()), { once: true });
    });
  }
}

async function main(): Promise<void> {
  const port = whole("PORT", 3050, 1, 65_535);
  const seconds = whole("TIMEOUT_INTERVAL_SECS", 10, 1, 60);
  const period = whole("STATE_PERIOD", 5, 1, 60);
  const key = process.env["API_KEY"] ?? "dev_secret";
  const data = resolve(ROOT, process.env["DATA"] ?? join(ROOT, "data"));
  await portIsFree(port);
  try {
    mkdirSync(data, { recursive: true });
  } catch (error) {
    throw new Refusal(`the folder ${data} cannot be used: ${String(error)}`);
  }
  buildWorker();
  await buildPackageForWww();
  await buildWww();

  const stopping = new AbortController();
  const settings: Record<string, string> = {
    ENVIRONMENT: "development",
    API_KEY: key,
    TIMEOUT_INTERVAL_SECS: String(seconds),
    STATE_PERIOD: String(period),
    SECRETS_KEY: secretsKey(data),
    WEBHOOK_ALLOW: process.env["WEBHOOK_ALLOW"] ?? "localhost,127.0.0.1,[::1]",
  };
  for (const name of PASSED) {
    const value = process.env[name];
    if (value !== undefined) settings[name] = value;
  }
  const runtime = await startRuntime({ port, host: HOST, data, settings, onLog: log, www: true });

  // In development the Worker brings the database up to its schema with its first request.
  // Settings that contradict each other are said here as well.
  const first = await fetch(`${runtime.url}/api/machines`, {
    headers: { authorization: `Bearer ${key}`, "x-tenant-id": "statewright" },
  });
  if (!first.ok) {
    const body = await first.text();
    await runtime.stop();
    throw new Refusal(said(body) ?? `the database in ${data} cannot be used: ${body}`);
  }

  log(`Statewright listens on ${runtime.url} (database in ${data}; Ctrl-C stops it). Try:`);
  log(`  ${runtime.url}/ in a browser: the simulator and the console`);
  const authorization = key === "" ? "" : ` -H 'Authorization: Bearer ${key}'`;
  log(`  curl ${runtime.url}/api/machines${authorization} -H 'X-Tenant-Id: demo'`);

  // The runtime's own listeners would end the process before it has stopped.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.removeAllListeners(signal);
  const asked = new Promise<void>((stop) => {
    for (const signal of signals) process.once(signal, () => stop());
  });

  // A pass looks at both: timers that are looked for sooner than asked are no worse for it.
  const scanning = scan(runtime, Math.min(seconds, period), stopping.signal);
  await asked;
  log("stopping");
  stopping.abort();
  await Promise.race([scanning, new Promise((late) => setTimeout(late, 2000).unref())]);
  await runtime.stop();
}

try {
  await main();
} catch (error) {
  console.error(`run: ${error instanceof Refusal ? error.message : (error as Error).stack}`);
  process.exitCode = 1;
}
