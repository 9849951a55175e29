// `make run`: the service on this machine, on the Workers runtime with an embedded D1, until Ctrl-C.
//
//   PORT                   where to listen (3050)
//   API_KEY                the key that callers must send (dev_secret)
//   DATA                   the folder of the database, kept between runs (data)
//   TIMEOUT_INTERVAL_SECS  how often due timers are looked for (10)
//   LOG_LEVEL, CORS_ORIGINS  as for the Worker
//
// The local runtime never fires a cron trigger, so the scheduled handler is driven from here.

import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";

import { buildWorker } from "./build.ts";
import { ROOT } from "./paths.ts";
import { type Runtime, startRuntime } from "./runtime.ts";

const HOST = process.env["HOST"] ?? "127.0.0.1";

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

function log(line: string): void {
  console.log(line);
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
  const key = process.env["API_KEY"] ?? "dev_secret";
  const data = resolve(ROOT, process.env["DATA"] ?? join(ROOT, "data"));
  await portIsFree(port);
  try {
    mkdirSync(data, { recursive: true });
  } catch (error) {
    throw new Refusal(`the folder ${data} cannot be used: ${String(error)}`);
  }
  buildWorker();

  const stopping = new AbortController();
  const settings: Record<string, string> = {
    ENVIRONMENT: "development",
    API_KEY: key,
    TIMEOUT_INTERVAL_SECS: String(seconds),
  };
  for (const name of ["LOG_LEVEL", "CORS_ORIGINS"]) {
    const value = process.env[name];
    if (value !== undefined) settings[name] = value;
  }
  const runtime = await startRuntime({ port, host: HOST, data, settings, onLog: log });

  // In development the Worker brings the database up to its schema with its first request.
  const first = await fetch(`${runtime.url}/api/machines`, {
    headers: { authorization: `Bearer ${key}`, "x-tenant-id": "statewright" },
  });
  if (!first.ok) {
    const body = await first.text();
    await runtime.stop();
    throw new Refusal(`the database in ${data} cannot be used: ${body}`);
  }

  log(`Statewright listens on ${runtime.url} (database in ${data}; Ctrl-C stops it). Try:`);
  const authorization = key === "" ? "" : ` -H 'Authorization: Bearer ${key}'`;
  log(`  curl ${runtime.url}/api/machines${authorization} -H 'X-Tenant-Id: demo'`);

  // The runtime's own listeners would end the process before it has stopped.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.removeAllListeners(signal);
  const asked = new Promise<void>((stop) => {
    for (const signal of signals) process.once(signal, () => stop());
  });

  const scanning = scan(runtime, seconds, stopping.signal);
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
