// `make run` as a person meets it (S2.7 to S2.9, S2.22, R21).

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { order } from "./support.ts";

const data = mkdtempSync(join(tmpdir(), "statewright-run-"));
after(() => rmSync(data, { recursive: true, force: true }));

interface Running {
  child: ChildProcess;
  output: () => string;
  /** Waits until a text is printed. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<number | null>;
}

function make(settings: Record<string, string>): Running {
  // In a group of its own, as a terminal has it: Ctrl-C reaches make and all that it started.
  const child = spawn("make", ["run"], {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...settings },
  });
  let text = "";
  const heard = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (part: Buffer) => {
      text += part.toString();
      for (const hear of heard) hear();
    });
  }
  const ended = new Promise<number | null>((end) => child.once("close", (code) => end(code)));
  after(() => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, "SIGKILL");
  });
  return {
    child,
    output: () => text,
    ended,
    says(pattern) {
      return new Promise((found, missing) => {
        const deadline = setTimeout(
          () => missing(new Error(`never said ${pattern}; it said:\n${text}`)),
          30_000,
        );
        const hear = () => {
          const match = pattern.exec(text);
          if (match === null) return;
          clearTimeout(deadline);
          heard.delete(hear);
          found(match);
        };
        heard.add(hear);
        hear();
      });
    },
  };
}

/** A port that is free now. */
function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

const LISTENS = /listens on (http:\/\/\S+)/;

async function stop(running: Running, signal: NodeJS.Signals): Promise<void> {
  assert.ok(running.child.pid !== undefined);
  const began = Date.now();
  process.kill(-running.child.pid, signal);
  await running.ended;
  assert.ok(Date.now() - began < 5000, "it stops at once");
  assert.match(running.output(), /stopping/);
  assert.doesNotMatch(running.output(), /Error|at .*\.ts:\d+/);
}

test("it starts in under 10 s, scans for timers, stops on Ctrl-C, and keeps its data", async () => {
  const settings = {
    PORT: String(await freePort()),
    DATA: data,
    API_KEY: "mine",
    TIMEOUT_INTERVAL_SECS: "1",
  };
  let signature = (_: string): void => undefined;
  const heard = new Promise<string>((hear) => (signature = hear));
  const sink = createHttpServer((request, response) => {
    signature(String(request.headers["webhook-signature"]));
    response.writeHead(204).end();
  });
  await new Promise<void>((listening) => sink.listen(0, "127.0.0.1", listening));
  after(() => sink.close());
  const sinkPort = (sink.address() as AddressInfo).port;
  const headers = { authorization: "Bearer mine", "x-tenant-id": "t", "content-type": "application/json" };
  const began = Date.now();
  const first = make(settings);
  const [, url] = await first.says(LISTENS);
  assert.ok(Date.now() - began < 10_000, `${Date.now() - began} ms`);
  await first.says(/curl http/);
  assert.equal(url, `http://127.0.0.1:${settings.PORT}`);
  assert.ok(first.output().includes(`  ${url}/ in a browser`));
  assert.match(await (await fetch(`${url}/`)).text(), /<title>Statewright<\/title>/);

  const blink = {
    machine_id: "blink",
    states: ["on", "off"],
    initial_state: "on",
    transitions: [] as object[],
  };
  blink.transitions = [{ from: "on", to: "off", on: "$timeout", guard: { timeout_seconds: 1 } }];
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal((await post("/api/machines", order)).status, 201);
  assert.equal((await post("/api/machines", blink)).status, 201);
  assert.equal((await post("/api/machines/blink/entities", { entity_id: "b" })).status, 201);
  await new Promise((wait) => setTimeout(wait, 3500));
  const history = await fetch(`${url}/api/machines/blink/entities/b/history`, { headers });
  assert.equal(((await history.json()) as object[]).length, 1, "the scanner ran without being asked");
  const file = join(data, "secrets.key");
  assert.equal(statSync(file).mode & 0o777, 0o600, "nobody else reads the key of secrets");
  const key = readFileSync(file, "utf8");
  assert.equal(Buffer.from(key.trim(), "base64").length, 32);
  const put = (name: string, body: object) =>
    fetch(`${url}/api/secrets/${name}`, { method: "PUT", headers, body: JSON.stringify(body) });
  assert.equal((await put("webhook-signing", { value: "whsec_c2VjcmV0" })).status, 201);
  const subscription = { source: "records", sink: { type: "webhook", url: `http://localhost:${sinkPort}/` } };
  assert.equal((await post("/api/subscriptions", subscription)).status, 201, "localhost may be called");
  const record = { machine: "wallet", id: "w", state: "open" };
  const move = { machine: "wallet", id: "w", from: "open", to: "shut", expected_version: 1 };
  assert.equal((await post("/api/state/create", record)).status, 201);
  assert.equal((await post("/api/state/transition", move)).status, 200);
  assert.match(await heard, /^v1,/, "its presentation is signed");
  await stop(first, "SIGINT");

  const second = make(settings);
  await second.says(LISTENS);
  const kept = await fetch(`${url}/api/machines/order`, { headers });
  assert.equal(kept.status, 200);
  assert.equal(readFileSync(file, "utf8"), key, "the key is made once");
  await stop(second, "SIGTERM");
});

test("a taken port and a bad setting are said plainly", async () => {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  try {
    const taken = make({ PORT: String(address.port), DATA: data });
    assert.notEqual(await taken.ended, 0);
    assert.match(taken.output(), new RegExp(`port ${address.port} is taken`));
    assert.doesNotMatch(taken.output(), /at .*\.ts:\d+/, "no stack trace");
  } finally {
    server.close();
  }
  const wrong = make({ PORT: "many", DATA: data });
  assert.notEqual(await wrong.ended, 0);
  assert.match(wrong.output(), /PORT is `many`; a whole number from 1 to 65535 is needed/);
  const against = make({ PORT: String(await freePort()), DATA: data, STATE_STALE_AFTER: "20" });
  assert.notEqual(await against.ended, 0);
  assert.match(against.output(), /STATE_STALE_AFTER is 20 and STATE_ACCEPT_TIMEOUT is 30/);
  assert.doesNotMatch(against.output(), /at .*\.ts:\d+/, "no stack trace");
});
