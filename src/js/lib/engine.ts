// `statewright/engine`: the whole durable service in this process, over a database that the program brings.

import { engine as wasm } from "#engine-wasm";

import type { Call, CallRequest } from "./call.ts";
import { type Database, Runner } from "./database.ts";
import type { JsonDefinition } from "./definition.ts";
import { type ErrorBody, StatewrightError } from "./errors.ts";
import { jsonText } from "./json.ts";
import {
  checkedClock,
  checkedFetch,
  checkedOptions,
  checkedQueues,
  checkedRequest,
  checkedTenant,
} from "./lent.ts";
import {
  type EvaluateRequest,
  type Machine as Registered,
  type Operations,
  operations,
  standsInPath,
  type TransitionResponse,
} from "./operations.ts";
import { type Act, Acts, type PersistedOptions } from "./persisted.ts";
import { registered } from "./register.ts";
import { errorBody } from "./retry.ts";
import type { Machine, MachineTypes } from "./typed.ts";
import { Runs, type RunOptions, type Running, summed, type TickReport } from "./ticks.ts";
import { wrong } from "./wrong.ts";

export { betterSqlite3, type BetterSqlite3, type BetterSqlite3Statement } from "./adapters/better-sqlite3.ts";
export { d1, type D1Binding, type D1Prepared } from "./adapters/d1.ts";
export { durableObject, type DurableObjectStorage } from "./adapters/durable-object.ts";
export { libsql, type LibsqlClient } from "./adapters/libsql.ts";
export { memory, type SqlJs, type SqlJsDatabase, type SqlJsStatement } from "./adapters/memory.ts";
export {
  nodeSqlite,
  type NodeSqlite,
  type NodeSqliteOptions,
  type NodeSqliteStatement,
} from "./adapters/node-sqlite.ts";
export { ConstraintError, type Database, type Param, type Rows, type Statement } from "./database.ts";
export { type ErrorCode, StatewrightError } from "./errors.ts";
export type { Listing, Page } from "./listing.ts";
export type * from "./operations.ts";
export type { Act, Acting, PersistedOptions } from "./persisted.ts";
export type { EffectsReport, RunOptions, Running, TickReport, TimersReport } from "./ticks.ts";

/** What an engine is made of. */
export interface EngineOptions {
  /** Where everything is kept: `nodeSqlite("app.db")`, `d1(env.DB)`, …, or one of your own. */
  readonly database: Database;
  /** The tenant to work in, `default` when left out; {@link Engine.forTenant} gives others. */
  readonly tenant?: string | undefined;
  /** What an operator sets, by the names of docs/operations.md: `SECRETS_KEY`, `WEBHOOK_ALLOW`, `ACTION_RETRIES`, …. */
  readonly settings?: Readonly<Record<string, string | undefined>> | undefined;
  /** The queues that actions may send to, by their names. */
  readonly queues?: Readonly<Record<string, Queue>> | undefined;
  /** Sends effects in place of the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Gives the time in milliseconds since the epoch, in place of `Date.now`. */
  readonly clock?: (() => number) | undefined;
  /**
   * Takes what is logged, one JSON object a line, down to `settings.LOG_LEVEL`, which is `warn` when left out; the console does
   * otherwise.
   */
  readonly log?: ((level: "error" | "warn" | "info" | "debug", line: string) => void) | undefined;
  /** Keeps the runtime up until a delivery is over: `ctx.waitUntil` of a Worker. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** Whether an older database is brought to this version's schema when it is opened; true when left out. */
  readonly migrate?: boolean | undefined;
}

/** A queue that actions may send to. */
export interface Queue {
  send(message: unknown): Promise<unknown>;
}

/** What effects are sent with. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Opens an engine. The database is brought to this version's schema.
 *
 * @throws StatewrightError `SCHEMA_MISMATCH` where the database was written by a newer version, `MISCONFIGURED` where the settings
 *   contradict each other, `BAD_REQUEST` where an option is otherwise than it is documented, or the clock gives no whole milliseconds,
 *   `INTERNAL_ERROR` where it is no database.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const tenant = checkedTenant(checkedOptions(options).tenant ?? "default");
  const core = new Core(options);
  try {
    await core.open(options.migrate ?? true);
  } catch (error) {
    await core.close();
    throw error;
  }
  return new Engine(core, tenant);
}

/** The whole service in this process: the operations of one tenant, and what drives timers and effects. */
export class Engine {
  readonly #core: Core;
  readonly #acts: Acts;
  readonly machines: Operations["machines"];
  readonly entities: Operations["entities"];
  readonly records: Operations["records"];
  readonly secrets: Operations["secrets"];
  readonly subscriptions: Operations["subscriptions"];
  readonly sources: Operations["sources"];
  readonly outbox: Operations["outbox"];
  readonly evaluate: Operations["evaluate"];
  readonly evaluateBatch: Operations["evaluateBatch"];
  readonly receipts: Operations["receipts"];
  readonly scheduler: Operations["scheduler"];
  readonly health: Operations["health"];

  /** @internal */
  constructor(core: Core, tenant: string) {
    this.#core = core;
    const of = operations(core.call, tenant);
    this.machines = of.machines;
    this.entities = of.entities;
    this.records = of.records;
    this.secrets = of.secrets;
    this.subscriptions = of.subscriptions;
    this.sources = of.sources;
    this.outbox = of.outbox;
    // An event that nothing more is said of takes the short way; names that are none are refused on the other one.
    this.evaluate = (machine, event, options) =>
      options === undefined && event !== undefined && isName(machine) && isName(tenant)
        ? core.evaluate(tenant, machine, event)
        : of.evaluate(machine, event, options);
    this.evaluateBatch = of.evaluateBatch;
    this.receipts = of.receipts;
    this.scheduler = of.scheduler;
    this.health = of.health;
    this.#acts = new Acts({
      operations: of,
      now: core.now,
      write: (machine, id, body) => core.act(tenant, machine, id, body),
    });
  }

  /** The same engine with another tenant. */
  forTenant(tenant: string): Engine {
    return new Engine(this.#core, checkedTenant(tenant));
  }

  /**
   * Sees to it that a machine is registered as the program has it: it is made where it is missing, and gets a new revision where it was
   * defined otherwise, which its entities follow. The machines of its children come first.
   */
  register(machine: Machine | JsonDefinition): Promise<Registered> {
    return registered(this, machine);
  }

  /**
   * Loads an entity, lets `act` decide on it in this process, and writes what it decided at once: all of its events or, where it
   * throws or is refused, none of them. Where the entity was changed meanwhile, the act is done anew on what it is by then. Gives what
   * the act gave.
   *
   * What the act does beside sending events, it may do several times: calls to the outside belong into an action of the machine, or
   * into `afterCommit`. An act on an entity within an act on the same one is a part of it, where the runtime has AsyncLocalStorage.
   *
   * @throws StatewrightError `NOT_FOUND` where the entity is missing and is not to be made, `MACHINE_DRIFT` where the entity runs by another
   *   definition, `CONFLICT` with `details.attempts` where others were faster at every attempt.
   */
  persisted<T extends MachineTypes, Result>(
    machine: Machine<T>,
    id: string,
    act: Act<T, Result>,
    options?: PersistedOptions<T>,
  ): Promise<Result> {
    return this.#acts.persisted(machine, id, act, options);
  }

  /**
   * Answers a request as the service does over HTTP: mount it in a server to have the whole API. It asks for
   * `settings.API_KEY`; without one every request is refused, unless `settings.ENVIRONMENT` is `development`.
   */
  fetch(request: Request): Promise<Response> {
    return this.#core.fetch(request);
  }

  /**
   * Fires the timers that are due and delivers the effects that are, of all tenants: by the clock, or as if it were `now`
   * (milliseconds since the epoch). To be called again and again, or left to {@link Engine.run}.
   */
  tick(now?: number): Promise<TickReport> {
    return this.#core.tick(now);
  }

  /** Ticks at once and then after each `interval` (10,000 ms when left out), until it is stopped or the engine is closed. */
  run(options: RunOptions = {}): Running {
    return this.#core.run(options);
  }

  /** Ends the runs, waits for what is under way, and gives the database back. What is called afterwards is refused. */
  close(): Promise<void> {
    return this.#core.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** What all tenants of an engine share. */
class Core {
  readonly #engine: InstanceType<ReturnType<typeof wasm>["WasmEngine"]>;
  readonly #database: Database;
  /** What is under way, deliveries after an answer too. */
  readonly #underway = new Set<Promise<unknown>>();
  readonly #runs = new Runs((now) => this.tick(now));
  /** The time in milliseconds since the epoch. */
  readonly now: () => number;
  #closing: Promise<void> | undefined;

  constructor(options: EngineOptions) {
    const { database, settings = {}, queues = {}, clock, fetch, log, waitUntil } = options;
    if (typeof (database as Partial<Database> | undefined)?.batch !== "function") {
      throw wrong("database", "it is none", "what nodeSqlite(path), memory() or another adapter gives");
    }
    this.#database = database;
    this.now = clock === undefined ? Date.now : checkedClock(clock);
    this.now();
    const { WasmEngine } = wasm();
    const after = (work: Promise<unknown>) => {
      waitUntil?.(work);
      void this.#follow(work).catch(() => undefined);
    };
    const host = { fetch: checkedFetch(fetch), now: clock && this.now, log, after };
    const env = { LOG_LEVEL: "warn", ...settings, ...checkedQueues(queues) };
    this.#engine = new WasmEngine(new Runner(database), env, host);
  }

  open(migrate: boolean): Promise<void> {
    return answered(migrate ? this.#engine.migrate() : this.#engine.check());
  }

  readonly call: Call = async (request) => {
    const { method, body, signal } = request;
    signal?.throwIfAborted();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const lines =
      text === undefined ? headerLines(request) : `content-type\napplication/json\n${headerLines(request)}`;
    this.#open();
    // Over a database that answers at once it is here at once.
    const asked = this.#engine.call(method, pathOf(request), lines, text) as string | Promise<string>;
    const {
      status,
      headers,
      body: answer,
    } = read(typeof asked === "string" ? asked : await this.#wait(asked, signal));
    if (status >= 400) throw failure(answer, status);
    const isJson = headers.get("content-type") === "application/json";
    return {
      status,
      headers,
      data: isJson ? JSON.parse(answer) : answer === "" ? undefined : answer,
    };
  };

  async evaluate(tenant: string, machine: string, event: EvaluateRequest): Promise<TransitionResponse> {
    this.#open();
    const text = jsonText(event, "body");
    const asked = this.#engine.evaluate(tenant, machine, text) as string | Promise<string>;
    const answer = typeof asked === "string" ? asked : await answered(this.#follow(asked));
    return JSON.parse(answer) as TransitionResponse;
  }

  async act(tenant: string, machine: string, id: string, body: object): Promise<void> {
    const text = JSON.stringify(body);
    this.#open();
    const asked = this.#engine.act(tenant, machine, id, text) as string | Promise<string>;
    if (typeof asked !== "string") await answered(this.#follow(asked));
  }

  async fetch(request: Request): Promise<Response> {
    this.#open();
    return this.#follow<Response>(this.#engine.fetch(checkedRequest(request)));
  }

  run(options: RunOptions): Running {
    this.#open();
    return this.#runs.start(options);
  }

  async tick(now: number | undefined): Promise<TickReport> {
    if (now !== undefined && !Number.isSafeInteger(now)) {
      throw wrong("now", `it is ${String(now)}`, "whole milliseconds since the epoch");
    }
    this.#open();
    return summed(await answered(this.#follow<string>(this.#engine.tick(now))));
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await this.#runs.stop();
    while (this.#underway.size > 0) await Promise.allSettled(this.#underway);
    this.#engine.free();
    await this.#database.close?.();
  }

  #open(): void {
    if (this.#closing === undefined) return;
    throw new StatewrightError({ code: "CLOSED", message: "the engine is closed", retry: false }, 0);
  }

  #wait<T>(asked: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const followed = this.#follow(asked);
    return signal === undefined ? followed : abandoned(followed, signal);
  }

  async #follow<T>(work: Promise<T>): Promise<T> {
    this.#underway.add(work);
    try {
      return await work;
    } finally {
      this.#underway.delete(work);
    }
  }
}

/** What fails with a status and the text of an answer fails with the error that it tells of. */
async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (typeof error !== "string") throw error;
    const [, status, text = error] = /^(\d{3})\n([^]*)$/.exec(error) ?? [];
    throw failure(text, Number(status ?? 500));
  }
}

function failure(text: string, status: number): StatewrightError {
  const unknown: ErrorBody = { code: "UNKNOWN_ANSWER", message: text, retry: false };
  return new StatewrightError(errorBody(text) ?? unknown, status);
}

function isName(name: string): boolean {
  return typeof name === "string" && name.isWellFormed() && standsInPath(name);
}

/** Gives up on an answer when the caller does; what was asked goes on. */
function abandoned<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((answer, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    asked.then(answer, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Paths as the document writes them, at their braces: by turns what stands there, and the name of what is left open. */
const PARTS = new Map<string, readonly string[]>();

function pathOf({ path, params, query }: CallRequest): string {
  let parts = PARTS.get(path);
  if (parts === undefined) PARTS.set(path, (parts = path.split(/[{}]/)));
  let filled = "";
  parts.forEach((part, at) => (filled += at % 2 === 0 ? part : encodeURIComponent(params[part] ?? "")));
  let separator = "?";
  for (const name in query) {
    filled += `${separator}${encodeURIComponent(name)}=${encodeURIComponent(String(query[name]))}`;
    separator = "&";
  }
  return filled;
}

function headerLines({ headers }: CallRequest): string {
  let lines = "";
  for (const name in headers) {
    const value = headers[name] ?? "";
    // A line break would begin another header.
    if (/[\r\n]/.test(value)) throw wrong(name, "it has a line break", "one line");
    lines += `${name.toLowerCase()}\n${value}\n`;
  }
  return lines;
}

/** An answer of the WebAssembly in its parts: a line with the status, headers in lines, an empty line, the body. */
function read(answer: string): {
  status: number;
  headers: Lines;
  body: string;
} {
  const begin = answer.indexOf("\n") + 1;
  // No header is empty.
  const end = answer.indexOf("\n\n", begin - 1);
  return {
    status: Number(answer.slice(0, begin)),
    headers: new Lines(answer.slice(begin, end + 1)),
    body: answer.slice(end + 2),
  };
}

/** Headers in lines, by turns a name in lower case and its value. */
class Lines {
  readonly #lines: string;

  constructor(lines: string) {
    this.#lines = lines;
  }

  get(name: string): string | undefined {
    const lines = this.#lines.split("\n");
    for (let at = 0; at + 1 < lines.length; at += 2) if (lines[at] === name) return lines[at + 1];
    return undefined;
  }
}
