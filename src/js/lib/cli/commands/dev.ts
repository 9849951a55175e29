// `statewright dev`: the service on this machine, with its database and its timers, until Ctrl-C.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, relative, resolve } from "node:path";

import type { Definition } from "../../definition.ts";
import { type Registration, registration } from "../../register.ts";
import { machineOf } from "../checking.ts";
import type { Command, Given } from "../command.ts";
import { readDefinitions } from "../files.ts";
import { type Runtime, startRuntime } from "../local-runtime.ts";
import { EXIT, messageOf, Refusal } from "../refusal.ts";
import { DEVELOPMENT } from "../service.ts";
import type { Output, Terminal } from "../terminal.ts";

const LARGEST_PORT = 65_535;
/** How it is told what a registration came to. */
const CAME: Readonly<Record<Registration["came"], string>> = {
  made: "registered",
  same: "there is already",
  replaced: "new revision of",
};

export const dev: Command = {
  name: "dev",
  summary: "runs the service on this machine, with a local D1 and its timers, until Ctrl-C",
  usage: ["dev [<file>...] [--port <port>] [--data <folder>]"],
  about: [
    "Runs the prebuilt Worker on the Workers runtime that wrangler brings, over a D1 in a folder; the simulator and the console are at `/`. The local runtime fires no cron triggers, so `dev` drives timers and outbox itself. Definitions that are named are registered at the start; where one has changed, it gets a new revision.",
    "Variables are those of the Worker. They are taken from `.dev.vars`, as wrangler does, and from --set. Webhooks may go to this machine. It runs the service alone: routes of your own are run by `wrangler dev`, which drives no timers.",
  ],
  options: {
    port: {
      type: "string",
      short: "p",
      value: "port",
      help: "where to listen (3050); 0 takes any free port",
    },
    host: { type: "string", value: "address", help: "on which address to listen (127.0.0.1)" },
    data: { type: "string", short: "d", value: "folder", help: "what keeps the database (.statewright)" },
    key: {
      type: "string",
      short: "k",
      value: "key",
      help: `the API key that callers send (${DEVELOPMENT.key})`,
    },
    tenant: {
      type: "string",
      short: "t",
      value: "tenant",
      help: `whose machines the files are (${DEVELOPMENT.tenant})`,
    },
    interval: { type: "string", short: "i", value: "seconds", help: "how often timers are looked at (5)" },
    set: {
      type: "string",
      multiple: true,
      value: "NAME=value",
      help: "a variable of the Worker; may be repeated",
    },
    quiet: { type: "boolean", short: "q", help: "does not show what the Worker logs" },
  },
  words: { least: 0, most: Infinity, what: "files of definitions" },
  examples: ["statewright dev", "statewright dev machines/*.json --port 8080 --data /tmp/shop"],
  async run(given, output, terminal) {
    const port = given.whole("port", 3050, 0, LARGEST_PORT);
    const host = given.text("host") ?? "127.0.0.1";
    const seconds = given.whole("interval", 5, 1, 60);
    const data = resolve(terminal.cwd, given.text("data") ?? ".statewright");
    const tenant = given.text("tenant") ?? DEVELOPMENT.tenant;
    const registered = await definitionsOf(given, output, terminal);
    const settings = settingsOf(given, terminal, data, seconds);
    if (port !== 0) await portIsFree(port, host);

    // Before the runtime sets its own, which end the process before it has stopped.
    const stop = new AbortController();
    const runtime = await startRuntime(terminal.cwd, {
      host,
      port,
      data,
      settings,
      onLog: (line) => void (given.flag("quiet") || output.note(line)),
    });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.removeAllListeners(signal);
      process.once(signal, () => stop.abort());
    }
    try {
      const key = settings["API_KEY"] ?? "";
      const { createClient } = await import("../../client.ts");
      const service = createClient({ url: runtime.url, tenant, apiKey: key, retries: 0 });
      // In development the Worker brings the database up to its schema with its first request.
      await service.machines.list({ limit: 1 }).catch((error: unknown) => {
        throw new Refusal(`the service cannot run: ${messageOf(error)}`, { exit: EXIT.faults });
      });
      for (const definition of registered) {
        const { came } = await registration(service, definition);
        output.line(`${CAME[came]} \`${definition.machine_id}\` for tenant \`${tenant}\``);
      }
      const { style } = output;
      const folder = relative(terminal.cwd, data);
      output.line(
        `Statewright listens on ${style.bold(runtime.url)} (database in ${folder.startsWith("..") ? data : folder}; Ctrl-C stops it). Try:`,
      );
      if (runtime.page !== undefined)
        output.line(`  ${runtime.page} in a browser: the simulator and the console`);
      const authorization = key === "" ? "" : ` -H 'Authorization: Bearer ${key}'`;
      output.line(`  curl ${runtime.url}/api/machines${authorization} -H 'X-Tenant-Id: ${tenant}'`);
      await drive(runtime, seconds, stop.signal, output);
      output.line("stopping");
      return EXIT.ok;
    } finally {
      await runtime.stop();
    }
  },
};

/** The definitions of the files, children before those that name them. Faults are told before anything is started. */
async function definitionsOf(given: Given, output: Output, terminal: Terminal): Promise<Definition[]> {
  const all: Definition[] = [];
  for (const file of given.words) {
    const definitions = await readDefinitions(file, terminal);
    machineOf(definitions, output);
    all.push(...[...definitions.list].reverse());
  }
  return all;
}

function settingsOf(given: Given, terminal: Terminal, data: string, seconds: number): Record<string, string> {
  const own = {
    ENVIRONMENT: "development",
    API_KEY: DEVELOPMENT.key,
    TIMEOUT_INTERVAL_SECS: String(seconds),
    STATE_PERIOD: String(seconds),
    WEBHOOK_ALLOW: "localhost,127.0.0.1,[::1]",
  };
  const set = given.texts("set").map((text): [string, string] => {
    const at = text.indexOf("=");
    if (at < 1) throw new Refusal(`--set is \`${text}\`; NAME=value is needed`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
  const key = given.text("key");
  const settings: Record<string, string> = {
    ...own,
    ...devVars(join(terminal.cwd, ".dev.vars")),
    ...Object.fromEntries(set),
    ...(key === undefined ? {} : { API_KEY: key }),
  };
  settings["SECRETS_KEY"] ??= secretsKey(data);
  return settings;
}

/** The variables of a file as wrangler reads it: NAME=value lines, perhaps in quotes. */
function devVars(path: string): Record<string, string> {
  if (!existsSync(path)) return {};
  const found: Record<string, string> = {};
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const match = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/.exec(line);
    if (match === null) continue;
    const [, name = "", value = ""] = match;
    found[name] = /^(["']).*\1$/s.test(value) ? value.slice(1, -1) : value.replace(/\s+#.*$/, "");
  }
  return found;
}

/** The key that secrets are sealed with: made once, and kept beside the database. */
function secretsKey(data: string): string {
  const file = join(data, "secrets.key");
  try {
    mkdirSync(data, { recursive: true });
    // Never over one that is there: what it sealed could not be opened again.
    writeFileSync(file, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw new Refusal(`the folder \`${data}\` cannot be used: ${messageOf(error)}`);
    }
  }
  return readFileSync(file, "utf8").trim();
}

/** Says before the runtime starts that the port is taken: the runtime's own words for it are obscure. */
function portIsFree(port: number, host: string): Promise<void> {
  return new Promise((free, taken) => {
    const probe = createServer();
    probe.once("error", ({ code }: NodeJS.ErrnoException) => {
      const why = code === "EADDRINUSE" ? "is taken by another program" : `cannot be used (${code})`;
      const hints = port < LARGEST_PORT ? [`Choose another one: --port ${port + 1}`] : [];
      taken(new Refusal(`port ${port} ${why}`, { exit: EXIT.faults, hints }));
    });
    probe.listen(port, host, () => probe.close(() => free()));
  });
}

/** Drives the scheduled handler, one pass after another, until it is told to stop. */
async function drive(runtime: Runtime, seconds: number, stopped: AbortSignal, output: Output): Promise<void> {
  const end = new Promise<void>((ended) => {
    stopped.addEventListener("abort", () => ended(), { once: true });
    if (stopped.aborted) ended();
  });
  while (!stopped.aborted) {
    try {
      await Promise.race([runtime.scheduled(), end]);
    } catch (error) {
      // Ctrl-C reaches the runtime as well, and may reach it first.
      await Promise.race([end, new Promise((wait) => setTimeout(wait, 200))]);
      if (!stopped.aborted) output.note(`a pass over the timers failed: ${messageOf(error)}`);
    }
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([end, new Promise((wait) => (timer = setTimeout(wait, seconds * 1000)))]);
    clearTimeout(timer);
  }
}
