// The operations of the HTTP API as typed methods. The engine in this process and the client of a service both give them, with
// the same answers and the same errors.

import {
  type AnswerOf,
  type BodyOf,
  type Call,
  type CallAnswer,
  KEY_HEADER,
  type Method,
  type Operation,
  type ParamsOf,
  type PathsWith,
  type QueryOf,
  TENANT_HEADER,
} from "./call.ts";
import type { Definition, JsonDefinition } from "./definition.ts";
import { lineOf, optionsOf, textOf } from "./given.ts";
import { checkJson } from "./json.ts";
import { Listing, nextOf, type Page } from "./listing.ts";
import type { components, paths } from "./openapi.ts";
import { wrong } from "./wrong.ts";

type Schemas = components["schemas"];

export type { Definition, JsonDefinition } from "./definition.ts";
/** A registered machine: its definition, and what the service adds. */
export type Machine = Schemas["Machine"] & Omit<JsonDefinition, "machine_id">;
/** A revision of a machine. */
export type Revision = Omit<Schemas["Revision"], "definition"> & { readonly definition: JsonDefinition };
/** How many entities are in a state. */
export type Count = AnswerOf<Operation<"/api/machines/{machine_id}/counts", "get">>[number];
/** What a check of a definition found. */
export type Validation = Schemas["Validation"];
/** An entity: its state, its context, its version. */
export type Entity = Schemas["Entity"];
/** An entity in a list; where its rows cannot be read, its name and the error. */
export type ListedEntity = Schemas["ListedEntity"];
/** An entity to be made. */
export type NewEntity = Schemas["NewEntity"];
/** An event for an entity that its params name, which is made where it is missing. */
export type EvaluateRequest = Schemas["EvaluateRequest"];
/** An event for an entity that exists. */
export type TransitionRequest = Schemas["TransitionRequest"];
/** What an event did. */
export type TransitionResponse = Schemas["TransitionResponse"];
/** What the events of a batch did. */
export type BatchResponse = Schemas["BatchResponse"];
/** What an event would do, and why. */
export type Explanation = Schemas["Explanation"];
/** An event that an entity can take. */
export type PossibleEvent = Schemas["PossibleEvent"];
/** How many parked timers are tried again. */
export type Released = Schemas["Released"];
/** A row of an entity's history. */
export type HistoryRow = Schemas["HistoryRow"];
/** The name of a state record. */
export type RecordName = Schemas["RecordName"];
/** A state record to be made. */
export type NewRecord = Schemas["NewRecord"];
/** A move of a state record. */
export type RecordMove = Schemas["RecordMove"];
/** What the creation and a move of a state record answer. */
export type RecordAnswer = Schemas["RecordAnswer"];
/** What a look at a state record answers. */
export type RecordFound = Schemas["RecordFound"];
/** A secret, without its value. */
export type Secret = Schemas["Secret"];
/** A new value of a secret. */
export type SecretValue = Schemas["SecretValue"];
/** A secret that was written; with its value where the service made it up. */
export type KeptSecret = Schemas["KeptSecret"];
/** A subscription. */
export type Subscription = Schemas["Subscription"];
/** A subscription to be made. */
export type NewSubscription = Schemas["NewSubscription"];
/** A source of webhooks. */
export type Source = Schemas["Source"];
/** A source of webhooks to be made. */
export type NewSource = Schemas["NewSource"];
/** A webhook that a source might get. */
export type Trial = Schemas["Trial"];
/** What a webhook would become. */
export type Tried = Schemas["Tried"];
/** An effect in the outbox. */
export type OutboxItem = Schemas["OutboxItem"];
/** An effect with what is sent, and its attempts. */
export type OutboxEntry = Schemas["OutboxEntry"];
/** An effect that was called off. */
export type OutboxCancelled = Schemas["OutboxCancelled"];
/** Which effects are meant. */
export type OutboxFilter = Schemas["OutboxFilter"];
/** How many effects are sent again. */
export type Redriven = Schemas["Redriven"];
/** How many effects were called off. */
export type Cancelled = Schemas["Cancelled"];
/** What became of a request, or of an event. */
export type Receipt = Schemas["Receipt"];
/** Whether a service answers. */
export type Health = Schemas["Health"];
/** The last pass of the scanner, and timers in trouble. */
export type Scheduler = AnswerOf<Operation<"/api/scheduler", "get">>;

/** A page of the outbox. */
export interface OutboxPage extends Page<OutboxItem> {
  /** How many effects of the tenant have which status, each up to 10,000. */
  readonly counts: Schemas["OutboxCounts"];
  /** When the oldest one that is pending was made. */
  readonly oldestPending: number | null;
}

/** What can be said of any call. */
export interface CallOptions {
  /** Ends the wait for the answer; what was sent may be applied all the same. */
  readonly signal?: AbortSignal | undefined;
  /** Names the request; subscribers are told it. */
  readonly requestId?: string | undefined;
  /** Names what the request is a part of; subscribers are told it. */
  readonly runId?: string | undefined;
}

/** What can be said of a call that changes something. */
export interface WriteOptions extends CallOptions {
  /**
   * The request has one effect, however often it is sent with this key: 1 to 255 printable ASCII characters, kept for 7 days.
   * Over HTTP one is made for each call that has none; `null` sends none, and then nothing is sent twice.
   */
  readonly idempotencyKey?: string | null | undefined;
}

type Query<P extends keyof paths> = QueryOf<Operation<P, "get">>;

/** An operation on its way: what the path leaves open, the query and the body. */
interface Asked<O> {
  readonly params?: ParamsOf<O>;
  readonly query?: QueryOf<O> | undefined;
  readonly body?: BodyOf<O>;
}

type Unnamed<D> = D extends unknown ? Omit<D, "machine_id"> & { readonly machine_id?: string } : never;

/** A definition in a request. What it is made of says docs/machine.schema.json, and definition.ts after it; the document only names it. */
function asBody(definition: object): Schemas["Definition"] {
  return definition as Schemas["Definition"];
}

const REQUEST = "X-Request-Id";
const RUN = "X-Run-Id";

const OPTIONS = ["idempotencyKey", "requestId", "runId", "signal"];

/** Whether a text can be a segment of a path: a URL resolves the others away. */
export function standsInPath(text: string): boolean {
  return !["", ".", ".."].includes(text);
}

/** Refuses what a URL would resolve away, or cannot hold. */
function checked(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(params)) {
    const text = textOf(value, name);
    if (!standsInPath(text)) throw wrong(name, `it is \`${text}\``, "a name");
  }
  return params;
}

/** Refuses what is no key. */
function keyOf(value: unknown): string {
  const text = textOf(value, "idempotencyKey");
  if (/^[\x20-\x7e]+$/.test(text)) return text;
  const expected = "printable ASCII characters, or `null` for none";
  throw wrong("idempotencyKey", text === "" ? "it is empty" : "it has other characters", expected);
}

/** Refuses what JSON does not say. */
function bodyOf(body: unknown): unknown {
  if (body === undefined) throw wrong("body", "it is missing", "a JSON value");
  checkJson(body, "body");
  return body;
}

/** The methods that a tenant has. Each answers with the body of the route that it names. */
class Asker {
  readonly #call: Call;
  readonly #tenant: string | undefined;

  constructor(call: Call, tenant: string | undefined) {
    this.#call = call;
    this.#tenant = tenant;
  }

  async answer<M extends Method, P extends PathsWith<M>>(
    method: M,
    path: P,
    asked: Asked<Operation<P, M>>,
    options: WriteOptions,
  ): Promise<CallAnswer & { readonly data: AnswerOf<Operation<P, M>> }> {
    const { idempotencyKey: key, requestId, runId, signal } = optionsOf(options, OPTIONS);
    const headers: Record<string, string> = {};
    if (this.#tenant !== undefined && path.startsWith("/api/")) headers[TENANT_HEADER] = this.#tenant;
    if (key !== undefined && key !== null) headers[KEY_HEADER] = keyOf(key);
    if (requestId !== undefined) headers[REQUEST] = lineOf(requestId, "requestId");
    if (runId !== undefined) headers[RUN] = lineOf(runId, "runId");
    const query = Object.entries(asked.query ?? {}).filter(
      ([, value]) => value !== undefined && value !== null,
    );
    const answer = await this.#call({
      method: method.toUpperCase() as Uppercase<Method>,
      path,
      params: checked((asked.params ?? {}) as Readonly<Record<string, string>>),
      query: Object.fromEntries(query) as Readonly<Record<string, string | number | boolean>>,
      headers,
      body: "body" in asked ? bodyOf(asked.body) : undefined,
      unkeyed: key === null,
      signal,
    });
    // The service's answers are held against the document by its tests.
    return answer as CallAnswer & { readonly data: AnswerOf<Operation<P, M>> };
  }

  async ask<M extends Method, P extends PathsWith<M>>(
    method: M,
    path: P,
    asked: Asked<Operation<P, M>>,
    options: WriteOptions = {},
  ): Promise<AnswerOf<Operation<P, M>>> {
    return (await this.answer(method, path, asked, options)).data;
  }

  /** A list whose pages are plain arrays. */
  list<P extends PathsWith<"get">, T>(
    path: P,
    asked: Asked<Operation<P, "get">>,
    options: CallOptions | undefined,
    items: (body: AnswerOf<Operation<P, "get">>) => readonly T[],
  ): Listing<T> {
    return this.pages(path, asked, options, (body, next) => ({ items: items(body), next }));
  }

  pages<P extends PathsWith<"get">, T, G extends Page<T>>(
    path: P,
    asked: Asked<Operation<P, "get">>,
    options: CallOptions | undefined,
    page: (body: AnswerOf<Operation<P, "get">>, next: string | undefined) => G,
  ): Listing<T, G> {
    return new Listing(async (cursor) => {
      const query = cursor === undefined ? asked.query : { ...asked.query, cursor };
      const there = { ...asked, query: query as QueryOf<Operation<P, "get">> | undefined };
      const { data, headers } = await this.answer("get", path, there, options ?? {});
      return page(data, nextOf(headers.get("link")));
    });
  }
}

/** Machines and their revisions. */
export class Machines {
  readonly #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** Registers a machine; refused with `CONFLICT` where it exists. */
  create(definition: Definition | JsonDefinition, options?: WriteOptions): Promise<Machine> {
    const asked = { body: asBody(definition) };
    return this.#asker.ask("post", "/api/machines", asked, options) as Promise<Machine>;
  }

  /** A machine at its newest revision; `NOT_FOUND` where there is none. */
  get(machine_id: string, options?: CallOptions): Promise<Machine> {
    const asked = { params: { machine_id } };
    return this.#asker.ask("get", "/api/machines/{machine_id}", asked, options) as Promise<Machine>;
  }

  /** The machines in the order of their creation. */
  list(query?: Query<"/api/machines">, options?: CallOptions): Listing<Machine> {
    return this.#asker.list("/api/machines", { query }, options, (body) => body as readonly Machine[]);
  }

  /** Gives a machine a new revision. `in_flight` says what becomes of its entities: `follow`, the default, or `pin`. */
  replace(
    machine_id: string,
    definition: Unnamed<Definition | JsonDefinition>,
    query?: QueryOf<Operation<"/api/machines/{machine_id}", "put">>,
    options?: WriteOptions,
  ): Promise<Machine> {
    const asked = { params: { machine_id }, query, body: asBody(definition) };
    return this.#asker.ask("put", "/api/machines/{machine_id}", asked, options) as Promise<Machine>;
  }

  /** Deletes a machine that has no entities, and its revisions. */
  async delete(machine_id: string, options?: WriteOptions): Promise<void> {
    await this.#asker.ask("delete", "/api/machines/{machine_id}", { params: { machine_id } }, options);
  }

  /** Checks a definition as a registration would, and stores nothing. */
  validate(definition: object, options?: CallOptions): Promise<Validation> {
    return this.#asker.ask("post", "/api/machines/validate", { body: asBody(definition) }, options);
  }

  /** The revisions of a machine, the newest first. */
  revisions(
    machine_id: string,
    query?: Query<"/api/machines/{machine_id}/revisions">,
    options?: CallOptions,
  ): Listing<Revision> {
    const asked = { params: { machine_id }, query };
    const path = "/api/machines/{machine_id}/revisions";
    return this.#asker.list(path, asked, options, (body) => body as readonly object[] as readonly Revision[]);
  }

  /** How many entities are in each state of each region. */
  counts(machine_id: string, options?: CallOptions): Promise<readonly Count[]> {
    return this.#asker.ask("get", "/api/machines/{machine_id}/counts", { params: { machine_id } }, options);
  }

  /** The machine as text for Mermaid or Graphviz (`format: "dot"`); with `entity_id`, that entity's states are marked. */
  diagram(
    machine_id: string,
    query?: Query<"/api/machines/{machine_id}/diagram">,
    options?: CallOptions,
  ): Promise<string> {
    return this.#asker.ask(
      "get",
      "/api/machines/{machine_id}/diagram",
      { params: { machine_id }, query },
      options,
    );
  }
}

/** Living instances of machines, and the events that move them. */
export class Entities {
  readonly #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** Makes an entity in the initial state of the machine's newest revision; refused with `CONFLICT` where it exists. */
  create(machine_id: string, entity: NewEntity, options?: WriteOptions): Promise<Entity> {
    const asked = { params: { machine_id }, body: entity };
    return this.#asker.ask("post", "/api/machines/{machine_id}/entities", asked, options);
  }

  /** An entity; with `tree: true` everything below it too. `NOT_FOUND` where there is none. */
  get(
    machine_id: string,
    entity_id: string,
    query?: Query<"/api/machines/{machine_id}/entities/{entity_id}">,
    options?: CallOptions,
  ): Promise<Entity> {
    const asked = { params: { machine_id, entity_id }, query };
    return this.#asker.ask("get", "/api/machines/{machine_id}/entities/{entity_id}", asked, options);
  }

  /** The machine's entities by id; or by the time of their last write, with `updated_since` or `updated_before` and no `state`. */
  list(
    machine_id: string,
    query?: Query<"/api/machines/{machine_id}/entities">,
    options?: CallOptions,
  ): Listing<ListedEntity> {
    const asked = { params: { machine_id }, query };
    return this.#asker.list("/api/machines/{machine_id}/entities", asked, options, (body) => body);
  }

  /** Deletes an entity and everything below it, for good. A live managed child is refused: `INSTANCE_ACTIVE`. */
  async delete(machine_id: string, entity_id: string, options?: WriteOptions): Promise<void> {
    const asked = { params: { machine_id, entity_id } };
    await this.#asker.ask("delete", "/api/machines/{machine_id}/entities/{entity_id}", asked, options);
  }

  /** Applies an event to an entity that exists. */
  transition(
    machine_id: string,
    entity_id: string,
    event: TransitionRequest,
    options?: WriteOptions,
  ): Promise<TransitionResponse> {
    const asked = { params: { machine_id, entity_id }, body: event };
    const path = "/api/machines/{machine_id}/entities/{entity_id}/transition";
    return this.#asker.ask("post", path, asked, options);
  }

  /** What an event would do now, and why. Nothing is written. */
  explain(
    machine_id: string,
    entity_id: string,
    event: TransitionRequest,
    options?: CallOptions,
  ): Promise<Explanation> {
    const asked = { params: { machine_id, entity_id }, body: event };
    const path = "/api/machines/{machine_id}/entities/{entity_id}/explain";
    return this.#asker.ask("post", path, asked, options);
  }

  /** The events that an entity, and what lives below it, can take now. */
  events(machine_id: string, entity_id: string, options?: CallOptions): Promise<readonly PossibleEvent[]> {
    const path = "/api/machines/{machine_id}/entities/{entity_id}/events";
    return this.#asker.ask("get", path, { params: { machine_id, entity_id } }, options);
  }

  /** What moved an entity, by the events' times, with `order: "newest"` the newest first; with `order: "id"` in the order of the commits. */
  history(
    machine_id: string,
    entity_id: string,
    query?: Query<"/api/machines/{machine_id}/entities/{entity_id}/history">,
    options?: CallOptions,
  ): Listing<HistoryRow> {
    const asked = { params: { machine_id, entity_id }, query };
    const path = "/api/machines/{machine_id}/entities/{entity_id}/history";
    return this.#asker.list(path, asked, options, (body) => body);
  }

  /** Has timers that were parked tried again; says how many there were. */
  release(machine_id: string, entity_id: string, options?: WriteOptions): Promise<Released> {
    const path = "/api/machines/{machine_id}/entities/{entity_id}/release";
    return this.#asker.ask("post", path, { params: { machine_id, entity_id } }, options);
  }
}

/** State records: a state, a version and data, without a definition. */
export class Records {
  readonly #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** Makes a record at version 1; refused with `STATE_EXISTS` where it exists. */
  create(record: NewRecord, options?: WriteOptions): Promise<RecordAnswer> {
    return this.#asker.ask("post", "/api/state/create", { body: record }, options);
  }

  /** A record, if there is one: a miss is no error. */
  get(name: RecordName, options?: CallOptions): Promise<RecordFound> {
    return this.#asker.ask("post", "/api/state/get", { body: name }, options);
  }

  /** Moves a record that is in `from` at `expected_version`; refused with `STATE_CONFLICT` otherwise. */
  transition(move: RecordMove, options?: WriteOptions): Promise<RecordAnswer> {
    return this.#asker.ask("post", "/api/state/transition", { body: move }, options);
  }
}

/** What requests are signed and verified with. */
export class Secrets {
  readonly #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** The secrets by name, without their values. */
  list(options?: CallOptions): Listing<Secret> {
    return this.#asker.list("/api/secrets", {}, options, (body) => body);
  }

  /** Puts a value. Without one it is made up, and told this once: a request that had to be sent again does not tell it. */
  put(name: string, value: SecretValue = {}, options?: WriteOptions): Promise<KeptSecret> {
    return this.#asker.ask("put", "/api/secrets/{name}", { params: { name }, body: value }, options);
  }

  /** As `put`, for a secret that exists: the value before stays live beside the new one. */
  rotate(name: string, value: SecretValue = {}, options?: WriteOptions): Promise<KeptSecret> {
    return this.#asker.ask("post", "/api/secrets/{name}/rotate", { params: { name }, body: value }, options);
  }

  /** Deletes a secret. What names it fails from then on. */
  async delete(name: string, options?: WriteOptions): Promise<void> {
    await this.#asker.ask("delete", "/api/secrets/{name}", { params: { name } }, options);
  }

  /** Ends the value before. */
  async deletePrevious(name: string, options?: WriteOptions): Promise<void> {
    await this.#asker.ask("delete", "/api/secrets/{name}/previous", { params: { name } }, options);
  }
}

/** Who is told of transitions. */
export class Subscriptions {
  readonly #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** Makes a subscription, whose id is made up. */
  create(subscription: NewSubscription, options?: WriteOptions): Promise<Subscription> {
    return this.#asker.ask("post", "/api/subscriptions", { body: subscription }, options);
  }

  /** A subscription; `NOT_FOUND` where there is none. */
  get(subscription_id: string, options?: CallOptions): Promise<Subscription> {
    const asked = { params: { subscription_id } };
    return this.#asker.ask("get", "/api/subscriptions/{subscription_id}", asked, options);
  }

  /** The subscriptions. */
  list(query?: Query<"/api/subscriptions">, options?: CallOptions): Listing<Subscription> {
    return this.#asker.list("/api/subscriptions", { query }, options, (body) => body);
  }

  /** Makes a subscription of that id, or replaces it. */
  put(subscription_id: string, subscription: NewSubscription, options?: WriteOptions): Promise<Subscription> {
    const asked = { params: { subscription_id }, body: subscription };
    return this.#asker.ask("put", "/api/subscriptions/{subscription_id}", asked, options);
  }

  /** Deletes a subscription. What it was to be told and has not been ends as `skipped`. */
  async delete(subscription_id: string, options?: WriteOptions): Promise<void> {
    const asked = { params: { subscription_id } };
    await this.#asker.ask("delete", "/api/subscriptions/{subscription_id}", asked, options);
  }
}

/** Webhooks that come in. */
export class Sources {
  readonly #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** The sources by id. */
  list(options?: CallOptions): Listing<Source> {
    return this.#asker.list("/api/sources", {}, options, (body) => body);
  }

  /** A source with what came to it; `NOT_FOUND` where there is none. */
  get(source_id: string, options?: CallOptions): Promise<Source> {
    return this.#asker.ask("get", "/api/sources/{source_id}", { params: { source_id } }, options);
  }

  /** Makes a source of that id, or replaces it. */
  put(source_id: string, source: NewSource, options?: WriteOptions): Promise<Source> {
    const asked = { params: { source_id }, body: source };
    return this.#asker.ask("put", "/api/sources/{source_id}", asked, options);
  }

  /** Deletes a source and its counts. */
  async delete(source_id: string, options?: WriteOptions): Promise<void> {
    await this.#asker.ask("delete", "/api/sources/{source_id}", { params: { source_id } }, options);
  }

  /** What a webhook would become. Nothing is applied or counted, and no signature is needed. */
  try(source_id: string, trial: Trial, options?: CallOptions): Promise<Tried> {
    const asked = { params: { source_id }, body: trial };
    return this.#asker.ask("post", "/api/sources/{source_id}/try", asked, options);
  }
}

/** Effects on their way out. */
export class Outbox {
  readonly #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** Effects, the newest first; with `status: "pending"` the oldest first. A page may have fewer than `limit`. */
  list(query?: Query<"/api/outbox">, options?: CallOptions): Listing<OutboxItem, OutboxPage> {
    return this.#asker.pages("/api/outbox", { query }, options, (body, next) => {
      return { items: body.items, next, counts: body.counts, oldestPending: body.oldest_pending };
    });
  }

  /** An effect with what is sent, and its last attempts; `NOT_FOUND` where there is none. */
  get(outbox_id: string, options?: CallOptions): Promise<OutboxEntry> {
    return this.#asker.ask("get", "/api/outbox/{outbox_id}", { params: { outbox_id } }, options);
  }

  /** Has an effect sent again that is dead or cancelled; refused with `OUTBOX_STATUS` where it is not. */
  redrive(outbox_id: string, options?: WriteOptions): Promise<OutboxItem> {
    return this.#asker.ask("post", "/api/outbox/{outbox_id}/redrive", { params: { outbox_id } }, options);
  }

  /** Calls off an effect that is pending; refused with `OUTBOX_STATUS` where it is not. */
  cancel(outbox_id: string, options?: WriteOptions): Promise<OutboxCancelled> {
    return this.#asker.ask("post", "/api/outbox/{outbox_id}/cancel", { params: { outbox_id } }, options);
  }

  /** Redrives effects that fit, up to 1,000; where the answer says `more`, go on with its `cursor` in the filter. */
  redriveAll(filter: OutboxFilter = {}, options?: WriteOptions): Promise<Redriven> {
    return this.#asker.ask("post", "/api/outbox/redrive", { body: filter }, options);
  }

  /** Calls off pending effects that fit, likewise. */
  cancelAll(filter: OutboxFilter = {}, options?: WriteOptions): Promise<Cancelled> {
    return this.#asker.ask("post", "/api/outbox/cancel", { body: filter }, options);
  }
}

/** All operations of a tenant. Fields are named as in the HTTP API; docs/http-api.md says what each means. */
export interface Operations {
  readonly machines: Machines;
  readonly entities: Entities;
  readonly records: Records;
  readonly secrets: Secrets;
  readonly subscriptions: Subscriptions;
  readonly sources: Sources;
  readonly outbox: Outbox;

  /** Applies an event to the entity that a param names, which is made first where it is missing. */
  evaluate(machine_id: string, event: EvaluateRequest, options?: WriteOptions): Promise<TransitionResponse>;

  /** Applies up to 1,000 events, each a commit of its own; their failures are in the answer, as `CODE: message`. */
  evaluateBatch(
    machine_id: string,
    events: readonly EvaluateRequest[],
    options?: WriteOptions,
  ): Promise<BatchResponse>;

  /** What became of the requests with an Idempotency-Key; or of an event by its identity, with `machine` and `entity`. */
  receipts(
    key: string,
    query?: Query<"/api/receipts/{key}">,
    options?: CallOptions,
  ): Promise<readonly Receipt[]>;

  /** The last pass of the scanner, and the tenant's timers that are late or in trouble. */
  scheduler(options?: CallOptions): Promise<Scheduler>;

  /** Whether the service answers. It needs no key, and does not touch the database. */
  health(options?: CallOptions): Promise<Health>;
}

/** The operations of a tenant over `call`; without one, those that need none. */
export function operations(call: Call, tenant?: string): Operations {
  const asker = new Asker(call, tenant);
  return {
    machines: new Machines(asker),
    entities: new Entities(asker),
    records: new Records(asker),
    secrets: new Secrets(asker),
    subscriptions: new Subscriptions(asker),
    sources: new Sources(asker),
    outbox: new Outbox(asker),
    evaluate(machine_id, event, options) {
      const asked = { params: { machine_id }, body: event };
      return asker.ask("post", "/api/machines/{machine_id}/evaluate", asked, options);
    },
    evaluateBatch(machine_id, events, options) {
      const asked = { params: { machine_id }, body: { events } };
      return asker.ask("post", "/api/machines/{machine_id}/evaluate/batch", asked, options);
    },
    receipts(key, query, options) {
      return asker.ask("get", "/api/receipts/{key}", { params: { key }, query }, options);
    },
    scheduler: (options) => asker.ask("get", "/api/scheduler", {}, options),
    health: (options) => asker.ask("get", "/health", {}, options),
  };
}
