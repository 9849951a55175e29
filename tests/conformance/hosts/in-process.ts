// `statewright/engine` as a host of the vectors, in whatever runtime this module is loaded: each case has a new engine over
// an empty database. It uses nothing of Node.js.

import { createEngine, type Database, type Engine, type Statement } from "statewright/engine";

import { type Answered, type Host, type Request as Asked, SETTINGS } from "../vectors.ts";

/** The key that requests bring. */
const KEY = "test-key";

/** Every receiver is busy, but for one that fails: what is sent stays in the outbox. */
async function receiver(url: string): Promise<Response> {
  return new URL(url).hostname === "failing.example"
    ? new Response("", { status: 500 })
    : new Response("", { status: 429, headers: { "retry-after": "3600" } });
}

const TABLES =
  "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'" +
  " AND name NOT IN ('schema_version', 'violations')";

/** An engine of some settings, with its database. */
interface Running {
  readonly engine: Engine;
  readonly database: Database;
  readonly emptying: readonly Statement[];
}

/** An engine for each settings, over a database that is emptied between cases. */
export class InProcess implements Host {
  readonly #database: (settings: string) => Database | Promise<Database>;
  readonly #engines = new Map<string, Running>();
  #running: Running | undefined;
  #now = 0;
  #deliveries: Promise<unknown>[] = [];

  /** `database` gives an empty database for each settings, which it is told as a text. */
  constructor(database: (settings: string) => Database | Promise<Database>) {
    this.#database = database;
  }

  /** Begins a case. */
  async begin(settings: Readonly<Record<string, string>>, start: number): Promise<void> {
    this.#now = start;
    const key = JSON.stringify(settings);
    this.#running = this.#engines.get(key) ?? (await this.#open(settings, key));
    await this.#running.database.batch(this.#running.emptying);
  }

  async #open(settings: Readonly<Record<string, string>>, key: string): Promise<Running> {
    const database = await this.#database(key);
    const engine = await createEngine({
      database,
      settings: { ENVIRONMENT: "development", API_KEY: KEY, ...SETTINGS, ...settings },
      clock: () => this.#now,
      fetch: receiver,
      log: () => undefined,
      waitUntil: (work) => void this.#deliveries.push(work),
    });
    const [names = []] = await database.batch([{ sql: TABLES, params: [] }]);
    const emptying = names.map((name) => ({ sql: `DELETE FROM "${name}"`, params: [] }));
    const running = { engine, database, emptying };
    this.#engines.set(key, running);
    return running;
  }

  /** Answers a request; what is delivered after it is delivered before the next. */
  async send({ method, path, headers, tenant, keyed, body }: Asked, now: number): Promise<Answered> {
    this.#now = now;
    const all = new Headers(headers);
    if (keyed && !all.has("authorization")) all.set("authorization", `Bearer ${KEY}`);
    if (tenant !== null) all.set("x-tenant-id", inLatin1(tenant));
    if (body !== undefined && !all.has("content-type")) all.set("content-type", "application/json");
    const init = { method, headers: all, ...(body === undefined ? {} : { body }) };
    const response = await this.#begun().engine.fetch(new Request(`https://engine.test${path}`, init));
    const text = await response.text();
    await this.#settled();
    return { status: response.status, headers: response.headers, text };
  }

  /** One pass over timers and outbox. */
  async pass(now: number): Promise<void> {
    this.#now = now;
    await this.#begun().engine.tick(now);
    await this.#settled();
  }

  async #settled(): Promise<void> {
    await Promise.allSettled(this.#deliveries);
    this.#deliveries = [];
  }

  #begun(): Running {
    if (this.#running === undefined) throw new Error("a case begins first");
    return this.#running;
  }
}

/** The bytes of a text in UTF-8, each as a character: the form in which headers take them. */
function inLatin1(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
