// The conformance vectors of tests/vectors over HTTP: the Worker on its runtime, with D1, by their README's table.
//
// The clock is the vector's: the runtime's own `Date.now` is replaced in a module around the Worker, which also
// empties the database between two cases. That module also answers for whoever the Worker sends to, and holds it to those
// limits of D1 that the local one does not have.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { type Answer, type Service, serve } from "./support.ts";

const FOLDER = join(ROOT, "tests", "vectors");
const CONTRACTS = ["statewright.v1", "statemachine-e1e4.v1"];
const START = 1_700_000_000_000;

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

/** Cases that cannot be told over HTTP, and why. */
const EXCLUDED = new Map<string, string>([
  ["tenants-are-checked", "a header cannot hold a line break; routes.test.ts sends what it can hold"],
  [
    "a-sink-that-fails-is-tried-again",
    "it waits for a clock that stands; webhooks-out.test.ts has one that runs",
  ],
  ["after-five-attempts-a-presentation-is-dead", "as above"],
  ["the-most-attempts-are-a-setting", "as above"],
  ["a-dead-presentation-is-presented-again-by-hand", "as above"],
  ["an-action-that-fails-is-tried-again-until-it-is-dead", "as above"],
  ["an-action-that-is-dead-is-sent-again-by-hand", "as above"],
]);

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Fields = { [key: string]: Json };

interface Step {
  op?: string;
  send?: string;
  at?: number;
  tenant?: string | null;
  machine?: string;
  entity?: string;
  body?: Json;
  raw?: string;
  query?: Record<string, Json>;
  in_flight?: string;
  format?: string;
  repeat?: number;
  eventually?: boolean;
  headers?: Record<string, string>;
  capture?: Record<string, string>;
  expect?: { status?: number; headers?: Record<string, string | null>; body?: Json; absent?: string[] };
}

interface Case {
  name: string;
  contracts?: string[];
  start?: number;
  settings?: Record<string, string>;
  machines?: Fields[];
  steps: Step[];
}

/** What Node's own types leave out: numbers as they are written. */
const exactly = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: Json, context: { source?: string }) => Json): Json;
  rawJSON(text: string): Json;
  isRawJSON(value: unknown): value is { rawJSON: string };
};

/** JSON whose numbers stay as they are written, where a float would not say the same. */
function parse(text: string): Json {
  return exactly.parse(text, (_, value, { source }) =>
    typeof value === "number" && source !== undefined && String(value) !== source
      ? exactly.rawJSON(source)
      : value,
  );
}

/** A number to compare by value: 5 equals 5.0, and integers beyond 2^53 differ. */
function numeric(value: Json | undefined): number | bigint | undefined {
  if (typeof value === "number") return value;
  if (!exactly.isRawJSON(value)) return undefined;
  return /^-?\d+$/.test(value.rawJSON) ? BigInt(value.rawJSON) : Number(value.rawJSON);
}

function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !exactly.isRawJSON(value);
}

/** Writes the contract at hand into a definition that names none. */
function under(contract: string, definition: Json | undefined): Json | undefined {
  return isFields(definition) && !("contract" in definition) ? { ...definition, contract } : definition;
}

/** What is wrong with `actual`, or undefined. */
function differs(expected: Json, actual: Json | undefined, path: string, whole = false): string | undefined {
  if (isFields(expected)) {
    if ("$any" in expected) return actual === undefined ? `${path} is missing` : undefined;
    if ("$absent" in expected)
      return actual === undefined ? undefined : `${path} is ${JSON.stringify(actual)}`;
    if ("$like" in expected) {
      const parts = String(expected["$like"])
        .split("*")
        .map((part) => part.replace(/[^a-zA-Z0-9]/g, "\\$&"));
      const holds = typeof actual === "string" && new RegExp(`^${parts.join("[^]+")}$`).test(actual);
      return holds ? undefined : `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
    }
    if ("$json" in expected) {
      if (typeof actual !== "string") return `${path} is no text`;
      return differs(expected["$json"] ?? null, parse(actual), path, whole);
    }
    if ("$not" in expected) {
      if (actual === undefined) return `${path} is missing`;
      const other = differs(expected["$not"] ?? null, actual, path);
      return other === undefined ? `${path} is ${JSON.stringify(actual)}` : undefined;
    }
    if ("$exact" in expected) return differs(expected["$exact"] ?? null, actual, path, true);
    if ("$contains" in expected) {
      const holds = typeof actual === "string" && actual.includes(String(expected["$contains"]));
      return holds ? undefined : `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
    }
    if (!isFields(actual)) return `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
    const keys = new Set([...Object.keys(expected), ...(whole ? Object.keys(actual) : [])]);
    for (const key of keys) {
      if (!(key in expected)) return `${path}.${key} is not expected`;
      const difference = differs(expected[key] ?? null, actual[key], `${path}.${key}`, whole);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) {
      return `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
    }
    for (const [index, item] of expected.entries()) {
      const difference = differs(item, actual[index], `${path}[${index}]`, whole);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  const [left, right] = [numeric(expected), numeric(actual)];
  // A float and a bigint are equal by value with == alone.
  const same = left !== undefined && right !== undefined ? left == right : expected === actual;
  return same ? undefined : `${path} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
}

/** The same with what earlier steps captured, and with long texts written out. */
function filled(value: Json, captured: Fields): Json {
  if (Array.isArray(value)) return value.map((item) => filled(item, captured));
  if (!isFields(value)) return value;
  const { $captured: name, $repeated: repeated } = value;
  if (typeof name === "string") {
    const found = captured[name];
    if (found === undefined) throw new Error(`nothing was captured as ${name}`);
    return found;
  }
  if (Array.isArray(repeated)) return String(repeated[0]).repeat(Number(repeated[1]));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, captured)]));
}

/** What a JSON pointer leads to. */
function at(pointer: string, value: Json | undefined): Json | undefined {
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = value[Number(key)];
    else value = isFields(value) ? value[key] : undefined;
  }
  return value;
}

/** What every case runs with: receivers that fail are asked again after the case is over. */
const SETTINGS = {
  PERSONALITIES: "state",
  SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
  ACTION_RETRIES: "3600",
};

const services = new Map<string, Service>();

async function served(settings: Record<string, string> = {}): Promise<Service> {
  const key = JSON.stringify(settings);
  const running = services.get(key);
  if (running !== undefined) return running;
  const started = await serve({ around: AROUND, settings: { ...SETTINGS, ...settings } });
  services.set(key, started);
  return started;
}

let service = await served();
let now = START;

function send(method: string, path: string, step: Step, body?: Json): Promise<Answer> {
  const raw = step.raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return service.call(method, path, {
    headers: { ...step.headers, "x-test-now": String(now) },
    ...(step.tenant === undefined ? {} : { tenant: step.tenant }),
    ...(path.startsWith("/hooks/") ? { tenant: null, key: null } : {}),
    ...(raw === undefined ? {} : { raw }),
  });
}

function ask(step: Step, contract: string, before: Answer | undefined, captured: Fields): Promise<Answer> {
  const machine = `/api/machines/${encodeURIComponent(step.machine ?? "")}`;
  const entity = `${machine}/entities/${encodeURIComponent(step.entity ?? "")}`;
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(step.query ?? {})) {
    if (isFields(value)) {
      const next = /[?&]cursor=([^&>]*)/.exec(before?.headers.get("link") ?? "")?.[1];
      if (next !== undefined) query.set(key, decodeURIComponent(next));
    } else {
      query.set(key, typeof value === "string" ? value : JSON.stringify(value));
    }
  }
  if (step.in_flight !== undefined) query.set("in_flight", step.in_flight);
  if (step.format !== undefined) query.set("format", step.format);
  if (step.op === "diagram" && step.entity !== undefined) query.set("entity_id", step.entity);
  const search = query.size === 0 ? "" : `?${query.toString()}`;
  if (step.send !== undefined) {
    const [method = "", path = ""] = step.send.split(" ");
    const whole = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(captured[name])));
    return send(method, whole + search, step, step.body);
  }
  const definition = under(contract, step.body);
  switch (step.op) {
    case "register":
      return send("POST", "/api/machines", step, definition);
    case "validate":
      return send("POST", "/api/machines/validate", step, definition);
    case "replace":
      return send("PUT", `${machine}${search}`, step, definition);
    case "machine":
      return send("GET", machine, step);
    case "machines":
      return send("GET", `/api/machines${search}`, step);
    case "delete_machine":
      return send("DELETE", machine, step);
    case "revisions":
    case "counts":
    case "diagram":
      return send("GET", `${machine}/${step.op}${search}`, step);
    case "create":
      return send("POST", `${machine}/entities`, step, step.body);
    case "entity":
      return send("GET", `${entity}${search}`, step);
    case "entities":
      return send("GET", `${machine}/entities${search}`, step);
    case "delete":
      return send("DELETE", entity, step);
    case "evaluate":
      return send("POST", `${machine}/evaluate`, step, step.body);
    case "batch":
      return send("POST", `${machine}/evaluate/batch`, step, step.body);
    case "transition":
    case "explain":
      return send("POST", `${entity}/${step.op}`, step, step.body);
    case "events":
    case "history":
      return send("GET", `${entity}/${step.op}${search}`, step);
    case "release":
      return send("POST", `${entity}/release`, step);
    case "scheduler":
      return send("GET", "/api/scheduler", step);
    default:
      throw new Error(`there is no op ${step.op}`);
  }
}

/** One pass of the scanner; its report is in the scheduler's. */
async function tick(step: Step): Promise<Json> {
  await service.runtime.scheduled(new Date(now - 60_000));
  const answer = await send("GET", "/api/scheduler", step);
  const report = parse(answer.text);
  return isFields(report) ? (report["last_pass"] ?? null) : null;
}

/** What was answered, as a vector expects it. */
function told(answer: Answer): Json {
  if (answer.text === "") return null;
  const json = answer.headers.get("content-type")?.startsWith("application/json");
  return json === true ? parse(answer.text) : answer.text;
}

/** How often what comes about after an answer is looked at, and how long in between. */
const LOOKS = 100;
const BETWEEN_MS = 50;

const CREATED = new Set(["register", "create"]);
const DELETED = new Set(["delete", "delete_machine"]);

/** What is wrong with an answer, or undefined. */
function wrong(step: Step, answer: Answer | undefined, body: Json): string | undefined {
  const { expect = {}, op = "" } = step;
  const success = CREATED.has(op) ? 201 : DELETED.has(op) ? 204 : 200;
  const status = expect.status ?? success;
  if (answer !== undefined && answer.status !== status)
    return `${answer.status} instead of ${status}: ${answer.text}`;
  const difference = expect.body === undefined ? undefined : differs(expect.body, body, "$");
  if (difference !== undefined) return `${difference}; expected ${JSON.stringify(expect.body ?? null)}`;
  for (const [name, value] of Object.entries(expect.headers ?? {})) {
    const actual = answer?.headers.get(name) ?? null;
    if (actual !== value) return `header ${name} is ${actual} instead of ${value}`;
  }
  for (const key of expect.absent ?? []) {
    if (isFields(body) && key in body) return `${key} is there: ${JSON.stringify(body)}`;
  }
  return undefined;
}

/** What is wrong with the case, or undefined. */
async function run(test: Case, contract: string): Promise<string | undefined> {
  const start = test.start ?? START;
  now = start;
  service = await served(test.settings);
  await service.call("POST", "/test/empty");
  for (const definition of test.machines ?? []) {
    const answer = await send("POST", "/api/machines", { op: "register" }, under(contract, definition));
    if (answer.status !== 201) return `a machine was not registered: ${answer.text}`;
  }
  let before: Answer | undefined;
  const captured: Fields = {};
  for (const [index, written] of test.steps.entries()) {
    now = start + (written.at ?? now - start);
    const times = written.repeat ?? 1;
    for (let time = 0; time < times; time += 1) {
      const step = filled(written as unknown as Json, captured) as unknown as Step;
      let body: Json = null;
      let problem: string | undefined;
      for (let look = 0; look < (step.eventually === true ? LOOKS : 1); look += 1) {
        if (look > 0) await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
        if (step.op === "tick") {
          body = await tick(step);
          problem = wrong(step, undefined, body);
        } else if (step.op === "deliver") {
          await service.runtime.scheduled(new Date(now - 60_000));
        } else {
          before = await ask(step, contract, before, captured);
          body = told(before);
          problem = wrong(step, before, body);
        }
        if (problem === undefined) break;
      }
      if (problem !== undefined) return `step ${index} (${step.op ?? step.send}): ${problem}`;
      for (const [name, pointer] of Object.entries(step.capture ?? {})) {
        const found = at(pointer, body);
        if (found === undefined) return `step ${index}: there is nothing at ${pointer} to capture`;
        captured[name] = found;
      }
    }
  }
  return undefined;
}

test("every vector holds over HTTP", { timeout: 900_000 }, async () => {
  const only = process.env["VECTOR"];
  const known = new Set<string>();
  const failures: string[] = [];
  let runs = 0;
  for (const file of readdirSync(FOLDER).sort()) {
    if (!file.endsWith(".json")) continue;
    const cases = parse(readFileSync(join(FOLDER, file), "utf8")) as unknown as Case[];
    for (const one of cases) {
      known.add(one.name);
      const asked = only === undefined || one.name.includes(only) || file === `${only}.json`;
      if (EXCLUDED.has(one.name) || !asked) continue;
      for (const contract of one.contracts ?? CONTRACTS) {
        runs += 1;
        const failure = await run(one, contract);
        if (failure !== undefined) failures.push(`${one.name} (${contract}): ${failure}`);
      }
    }
  }
  for (const [name, reason] of EXCLUDED) {
    assert.ok(known.has(name), `${name} is excluded (${reason}) and does not exist`);
  }
  console.log(`# ${runs} runs of ${known.size} vectors, ${EXCLUDED.size} excluded`);
  assert.ok(runs > 0);
  assert.equal(failures.length, 0, `${failures.length} failed:\n${failures.join("\n")}`);
});
