// Runs the conformance vectors of tests/vectors, by their README, against any host that takes HTTP requests: a service, or
// an engine that answers them in-process. It uses nothing of Node.js, so that it runs where the engine does.

import { at, differs, type Fields, filled, isFields, type Json, parse } from "./matching.ts";

/** The contracts that a case runs under, unless it names its own. */
const CONTRACTS = ["statewright.v1", "statemachine-e1e4.v1"];
/** The clock at offset 0 of a case that names none. */
export const START = 1_700_000_000_000;

/** A step, as tests/vectors/README.md says. */
export interface Step {
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
  expect?: Expectation;
}

/** What must come back. */
export interface Expectation {
  status?: number;
  headers?: Record<string, string | null>;
  body?: Json;
  absent?: string[];
}

/** A case. */
export interface Case {
  name: string;
  contracts?: string[];
  start?: number;
  settings?: Record<string, string>;
  machines?: Fields[];
  steps: Step[];
}

/** What is sent to a host. */
export interface Request {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** None is named where it is null. */
  readonly tenant: string | null;
  /** Whether the key of the service goes with it. */
  readonly keyed: boolean;
  readonly body?: string;
}

/** What a host answers, read to its end. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Whoever runs the vectors. */
export interface Host {
  /** Begins a case: nothing is stored, and settings are these beside those of every case. */
  begin(settings: Readonly<Record<string, string>>, start: number): Promise<void>;
  /** Answers a request at that time. */
  send(request: Request, now: number): Promise<Answered>;
  /** One pass over timers and outbox at that time. */
  pass(now: number): Promise<void>;
}

/** What every case runs with: receivers that fail are asked again after the case is over. */
export const SETTINGS = {
  PERSONALITIES: "state",
  // 32 bytes of 7.
  SECRETS_KEY: "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
  ACTION_RETRIES: "3600",
};

/** Writes the contract at hand into a definition that names none. */
export function under(contract: string, definition: Json | undefined): Json | undefined {
  return isFields(definition) && !("contract" in definition) ? { ...definition, contract } : definition;
}

const CREATED = new Set(["register", "create"]);
const DELETED = new Set(["delete", "delete_machine"]);

/** What is wrong with an answer, or undefined; `headers` is null where there is no answer but a body. */
export function wrong(
  { expect = {}, op = "" }: Step,
  status: number | undefined,
  body: Json,
  headers: Headers | null,
): string | undefined {
  const success = CREATED.has(op) ? 201 : DELETED.has(op) ? 204 : 200;
  const expected = expect.status ?? success;
  if (status !== undefined && status !== expected)
    return `${status} instead of ${expected}: ${JSON.stringify(body)}`;
  const difference = expect.body === undefined ? undefined : differs(expect.body, body, "$");
  if (difference !== undefined) return `${difference}; expected ${JSON.stringify(expect.body ?? null)}`;
  for (const [name, value] of Object.entries(expect.headers ?? {})) {
    const actual = headers?.get(name) ?? null;
    if (actual !== value) return `header ${name} is ${actual} instead of ${value}`;
  }
  for (const key of expect.absent ?? []) {
    if (isFields(body) && key in body) return `${key} is there: ${JSON.stringify(body)}`;
  }
  return undefined;
}

/** Keeps what a step names of its answer; says what is not there. */
export function capture(step: Step, body: Json, captured: Fields): string | undefined {
  for (const [name, pointer] of Object.entries(step.capture ?? {})) {
    const found = at(pointer, body);
    if (found === undefined) return `there is nothing at ${pointer} to capture`;
    captured[name] = found;
  }
  return undefined;
}

/** The request that a step makes. */
function request(step: Step, contract: string, before: Answered | undefined, captured: Fields): Request {
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
  const make = (method: string, path: string, body?: Json): Request => {
    const raw = step.raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const hook = path.startsWith("/hooks/");
    return {
      method,
      path,
      headers: step.headers ?? {},
      tenant: hook ? null : step.tenant === undefined ? "t1" : step.tenant,
      keyed: !hook,
      ...(raw === undefined ? {} : { body: raw }),
    };
  };
  if (step.send !== undefined) {
    const [method = "", path = ""] = step.send.split(" ");
    const whole = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(captured[name])));
    return make(method, whole + search, step.body);
  }
  const definition = under(contract, step.body);
  switch (step.op) {
    case "register":
      return make("POST", "/api/machines", definition);
    case "validate":
      return make("POST", "/api/machines/validate", definition);
    case "replace":
      return make("PUT", `${machine}${search}`, definition);
    case "machine":
      return make("GET", machine);
    case "machines":
      return make("GET", `/api/machines${search}`);
    case "delete_machine":
      return make("DELETE", machine);
    case "revisions":
    case "counts":
    case "diagram":
      return make("GET", `${machine}/${step.op}${search}`);
    case "create":
      return make("POST", `${machine}/entities`, step.body);
    case "entity":
      return make("GET", `${entity}${search}`);
    case "entities":
      return make("GET", `${machine}/entities${search}`);
    case "delete":
      return make("DELETE", entity);
    case "evaluate":
      return make("POST", `${machine}/evaluate`, step.body);
    case "batch":
      return make("POST", `${machine}/evaluate/batch`, step.body);
    case "transition":
    case "explain":
      return make("POST", `${entity}/${step.op}`, step.body);
    case "events":
    case "history":
      return make("GET", `${entity}/${step.op}${search}`);
    case "release":
      return make("POST", `${entity}/release`);
    case "scheduler":
      return make("GET", "/api/scheduler");
    default:
      throw new Error(`there is no op ${step.op}`);
  }
}

/** One pass of the scanner; its report is in the scheduler's. */
async function tick(host: Host, now: number): Promise<Json> {
  await host.pass(now);
  const asked = { method: "GET", path: "/api/scheduler", headers: {}, tenant: "t1", keyed: true };
  const report = parse((await host.send(asked, now)).text);
  return isFields(report) ? (report["last_pass"] ?? null) : null;
}

/** What was answered, as a vector expects it. */
function told(answer: Answered): Json {
  if (answer.text === "") return null;
  const json = answer.headers.get("content-type")?.startsWith("application/json");
  return json === true ? parse(answer.text) : answer.text;
}

/** How often what comes about after an answer is looked at, and how long in between. */
const LOOKS = 100;
const BETWEEN_MS = 50;

/** Runs a case; says what is wrong, or nothing. */
export async function run(host: Host, test: Case, contract: string): Promise<string | undefined> {
  const start = test.start ?? START;
  let now = start;
  await host.begin(test.settings ?? {}, start);
  for (const definition of test.machines ?? []) {
    const step = { op: "register", body: definition };
    const answer = await host.send(request(step, contract, undefined, {}), now);
    if (answer.status !== 201) return `a machine was not registered: ${answer.text}`;
  }
  let before: Answered | undefined;
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
          body = await tick(host, now);
          problem = wrong(step, undefined, body, null);
        } else if (step.op === "deliver") {
          await host.pass(now);
        } else {
          before = await host.send(request(step, contract, before, captured), now);
          body = told(before);
          problem = wrong(step, before.status, body, before.headers);
        }
        if (problem === undefined) break;
      }
      problem ??= capture(step, body, captured);
      if (problem !== undefined) return `step ${index} (${step.op ?? step.send}): ${problem}`;
    }
  }
  return undefined;
}

/** The contracts of a case. */
export function contractsOf(one: Case): readonly string[] {
  return one.contracts ?? CONTRACTS;
}

/** Runs cases on a host, each under its contracts; says how many runs there were, and what is wrong. */
export async function runCases(
  host: Host,
  cases: readonly Case[],
): Promise<{ runs: number; failures: string[] }> {
  let runs = 0;
  const failures: string[] = [];
  for (const one of cases) {
    for (const contract of contractsOf(one)) {
      runs += 1;
      const failure = await run(host, one, contract);
      if (failure !== undefined) failures.push(`${one.name} (${contract}): ${failure}`);
    }
  }
  return { runs, failures };
}
