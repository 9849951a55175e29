// The conformance vectors of tests/vectors over HTTP: the Worker on its runtime, with D1, by their README's table.
//
// The clock is the vector's: the runtime's own `Date.now` is replaced in a module around the Worker, which also
// empties the database between two cases. That module also answers for whoever the Worker sends to, and holds it to those
// limits of D1 that the local one does not have.

import assert from "node:assert/strict";
import { test } from "node:test";

import { OVER_HTTP } from "../conformance/exclusions.ts";
import { files, names } from "../conformance/files.ts";
import { type Host, type Request, runCases, SETTINGS } from "../conformance/vectors.ts";
import { type Service, serve } from "./support.ts";

const AROUND = `
import { WorkerEntrypoint } from "cloudflare:workers";
import Statewright from "./statewright.js";

let now = Date.now();
Date.now = () => now;

/** Every receiver is busy, but for one that fails: what is sent stays in the outbox. */
globalThis.fetch = async (input) => {
  const { hostname } = new URL(typeof input === "string" ? input : input.url);
  return hostname === "failing.example"
    ? new Response("", { status: 500 })
    : new Response("", { status: 429, headers: { "retry-after": "3600" } });
};

const bytes = (text) => new TextEncoder().encode(text).length;

/** D1 as production has it: what exceeds a limit fails the statement. */
class Limited {
  #inner;
  #statements = 0;
  constructor(inner) {
    this.#inner = inner;
  }
  prepare(sql) {
    if (bytes(sql) > 100_000) throw new Error("LIMIT: " + bytes(sql) + " bytes of SQL");
    const prepared = this.#inner.prepare(sql);
    return { prepared, bind: (...params) => this.#bind(prepared, params) };
  }
  #bind(prepared, params) {
    if (params.length > 100) throw new Error("LIMIT: " + params.length + " parameters");
    for (const param of params) {
      if (typeof param === "string" && bytes(param) > 2_000_000) throw new Error("LIMIT: a parameter of " + bytes(param));
      if (typeof param === "number" && !(Number.isInteger(param) && Math.abs(param) <= 2 ** 53)) throw new Error("LIMIT: the number " + param);
    }
    return { prepared: prepared.bind(...params) };
  }
  async batch(statements) {
    this.#statements += statements.length;
    if (this.#statements > 1000) throw new Error("LIMIT: " + this.#statements + " statements in an invocation");
    const answers = await this.#inner.batch(statements.map(({ prepared }) => prepared));
    for (const { results } of answers) {
      for (const row of results) {
        if (Object.keys(row).length !== 1) throw new Error("a row of " + Object.keys(row).length + " columns");
      }
    }
    return answers;
  }
}

export default class extends WorkerEntrypoint {
  #worker() {
    return new Statewright(this.ctx, { ...this.env, DB: new Limited(this.env.DB) });
  }
  async fetch(request) {
    now = Number(request.headers.get("x-test-now") ?? now);
    if (new URL(request.url).pathname === "/test/empty") {
      const { results } = await this.env.DB.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'" +
          " AND name NOT IN ('schema_version', 'violations')",
      ).all();
      await this.env.DB.batch(results.map(({ name }) => this.env.DB.prepare('DELETE FROM "' + name + '"')));
      return new Response("");
    }
    return this.#worker().fetch(request);
  }
  async scheduled(event) {
    now = event.scheduledTime + 60_000;
    return this.#worker().scheduled(event);
  }
}
`;

const services = new Map<string, Service>();

async function served(settings: Readonly<Record<string, string>>): Promise<Service> {
  const key = JSON.stringify(settings);
  const running = services.get(key);
  if (running !== undefined) return running;
  const started = await serve({ around: AROUND, settings: { ...SETTINGS, ...settings } });
  services.set(key, started);
  return started;
}

/** The service as a host: one for each settings, emptied between cases. */
class OverHttp implements Host {
  #service: Service | undefined;

  async begin(settings: Readonly<Record<string, string>>): Promise<void> {
    this.#service = await served(settings);
    await this.#service.call("POST", "/test/empty");
  }

  async send({ method, path, headers, tenant, keyed, body }: Request, now: number) {
    return this.#running().call(method, path, {
      headers: { ...headers, "x-test-now": String(now) },
      tenant,
      ...(keyed ? {} : { key: null }),
      ...(body === undefined ? {} : { raw: body }),
    });
  }

  async pass(now: number): Promise<void> {
    await this.#running().runtime.scheduled(new Date(now - 60_000));
  }

  #running(): Service {
    assert.ok(this.#service, "a case begins first");
    return this.#service;
  }
}

test("every vector holds over HTTP", { timeout: 900_000 }, async () => {
  const known = names();
  for (const [name, reason] of OVER_HTTP) {
    assert.ok(known.has(name), `${name} is excluded (${reason}) and does not exist`);
  }
  const cases = files().flatMap(({ cases }) => cases.filter(({ name }) => !OVER_HTTP.has(name)));
  const { runs, failures } = await runCases(new OverHttp(), cases);
  console.log(`# ${runs} runs of ${known.size} vectors, ${OVER_HTTP.size} excluded`);
  assert.ok(runs > 0);
  assert.equal(failures.length, 0, `${failures.length} failed:\n${failures.join("\n")}`);
});
