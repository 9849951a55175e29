// Receivers of what the service sends, which keep every request and answer as a test tells them to, and ways to wait
// for what comes of it.

import assert from "node:assert/strict";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";

import type { Service } from "./support.ts";

/** The key that seals the secrets of the services of the tests. */
export const SECRETS_KEY = Buffer.alloc(32, 7).toString("base64");

/** A request that a sink received. */
export interface Delivery {
  method: string;
  path: string;
  headers: Record<string, string>;
  text: string;
  /** The text as JSON; undefined where it is none. */
  body: any;
  /** What the service says identifies it. */
  id: string;
  attempt: number;
}

/**
 * What a sink does with a request: answers it, closes the connection, never answers, accepts with a body that never ends,
 * fails with a body that stalls, or answers twice, of which the second is none that anybody asked for.
 */
export type Reply =
  | { status: number; headers?: Record<string, string>; body?: string }
  | "close"
  | "hang"
  | "endless"
  | "stalling"
  | "twice";

export const ACCEPTED: Reply = { status: 204 };

/** A server on the loopback that takes webhooks. */
export class Sink {
  /** What it received, in order. */
  readonly deliveries: Delivery[] = [];
  /** What it does with each; by default it accepts. */
  reply: (delivery: Delivery) => Reply | Promise<Reply> = () => ACCEPTED;
  readonly #server: Server;
  readonly #hanging = new Set<ServerResponse>();

  private constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => void parts.push(part));
      request.on("end", () => {
        const text = Buffer.concat(parts).toString();
        const headers = request.headers as Record<string, string>;
        const delivery: Delivery = {
          method: request.method ?? "",
          path: request.url ?? "",
          headers,
          text,
          body: json(text),
          id: headers["webhook-id"] ?? "",
          attempt: Number(headers["webhook-attempt"]),
        };
        this.deliveries.push(delivery);
        void this.#answer(delivery, response);
      });
    });
  }

  /** Starts one, on any free port unless told which, that is stopped when the tests of the file are over. */
  static async open(port = 0): Promise<Sink> {
    const sink = new Sink();
    await new Promise<void>((listening, failed) => {
      sink.#server.once("error", failed);
      sink.#server.listen(port, "127.0.0.1", listening);
    });
    after(() => sink.close());
    return sink;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The host as WEBHOOK_ALLOW names it. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** How many requests wait for an answer that does not come. */
  get hanging(): number {
    return this.#hanging.size;
  }

  /** What came for a path. */
  at(path: string): Delivery[] {
    return this.deliveries.filter((delivery) => delivery.path === path);
  }

  /** Answers all that hang. */
  release(status = 204): void {
    for (const response of this.#hanging) response.writeHead(status).end();
    this.#hanging.clear();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(delivery: Delivery, response: ServerResponse): Promise<void> {
    const reply = await this.reply(delivery);
    if (reply === "close") {
      response.socket?.destroy();
    } else if (reply === "hang") {
      this.#hanging.add(response);
      response.once("close", () => this.#hanging.delete(response));
    } else if (reply === "endless") {
      response.writeHead(200, { "content-type": "text/plain" });
      const more = setInterval(() => response.write("more"), 50);
      response.once("close", () => clearInterval(more));
    } else if (reply === "stalling") {
      response.writeHead(500, { "content-length": "100" }).write("so far");
    } else if (reply === "twice") {
      const once = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
      response.socket?.write(once + once);
      response.socket?.end();
    } else {
      response.writeHead(reply.status, reply.headers).end(reply.body);
    }
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function later(millis: number): Promise<void> {
  return new Promise((wait) => setTimeout(wait, Math.max(0, millis)));
}

/** What a probe finds when it finds something. */
export type Found<T> = Exclude<Awaited<T>, false | null | undefined>;

/** Waits until a probe finds something, and gives that. The limit is for what never comes. */
export async function until<T>(what: string, probe: () => T, limit = 45_000): Promise<Found<T>> {
  const deadline = Date.now() + limit;
  for (;;) {
    const found = await probe();
    if (found) return found as Found<T>;
    if (Date.now() > deadline) assert.fail(`never: ${what}`);
    await later(20);
  }
}

/** Waits until a probe finds something, while the cron handler makes pass after pass. */
export async function delivered<T>(
  service: Service,
  what: string,
  probe: () => T,
  limit = 45_000,
): Promise<Found<T>> {
  const pump = pumped(service);
  try {
    return await until(what, probe, limit);
  } finally {
    await pump.stop();
  }
}

/** Makes pass after pass until it is stopped. */
export function pumped(service: Service): { stop(): Promise<void> } {
  let stopped = false;
  const passes = (async () => {
    while (!stopped) {
      await service.runtime.scheduled();
      await later(20);
    }
  })();
  // It is waited for in `stop`, and must not end the process before.
  passes.catch(() => undefined);
  return {
    stop() {
      stopped = true;
      return passes;
    },
  };
}

/** A row of the outbox, as the list shows it. */
export interface Item {
  id: string;
  event_id: string;
  kind: string;
  status: string;
  phase: string | null;
  machine_id: string;
  entity_id: string;
  version: number;
  attempt: number;
  sink: string;
  created_at: number;
  due_at: number | null;
  finished_at: number | null;
  error: string | null;
}

/** The rows of a tenant's outbox that match a query, oldest first. */
export async function outbox(service: Service, query = "", tenant = "t1"): Promise<Item[]> {
  const list = await service.expect(200, "GET", `/api/outbox?limit=1000${query}`, { tenant });
  return (list.items as Item[]).sort(
    (one, other) =>
      one.created_at - other.created_at || one.version - other.version || (one.id < other.id ? -1 : 1),
  );
}

/** One row of the outbox, with what is sent and how it went. */
export function row(service: Service, id: string, tenant = "t1"): Promise<any> {
  return service.expect(200, "GET", `/api/outbox/${encodeURIComponent(id)}`, { tenant });
}

export function redrive(service: Service, id: string, tenant = "t1"): Promise<any> {
  return service.expect(200, "POST", `/api/outbox/${encodeURIComponent(id)}/redrive`, { tenant });
}

/** How many rows there are in each status. */
export async function counted(service: Service, tenant = "t1"): Promise<Record<string, number>> {
  return (await service.expect(200, "GET", "/api/outbox", { tenant })).counts;
}

/** Waits until nothing of a tenant waits to be sent. */
export async function settled(service: Service, tenant = "t1"): Promise<void> {
  await delivered(
    service,
    "the outbox is empty",
    async () => (await counted(service, tenant))["pending"] === 0,
  );
}

/** Generates a secret of a tenant; gives its value, which is told this once. */
export async function secret(service: Service, name = "webhook-signing", tenant = "t1"): Promise<string> {
  const made = await service.call("PUT", `/api/secrets/${name}`, { body: {}, tenant });
  assert.ok(made.status === 201 || made.status === 200, made.text);
  return made.body.value;
}

/** Whether a delivery bears a signature by a secret, in the eyes of two libraries that must agree. */
export function signedBy(delivery: Delivery, value: string): boolean {
  // Without the prefix it is the bytes of the text.
  const options = value.startsWith("whsec_") ? undefined : ({ format: "raw" } as const);
  const opinions = [new StandardWebhook(value, options), new SvixWebhook(value, options)].map((library) => {
    try {
      library.verify(delivery.text, delivery.headers);
      return true;
    } catch {
      return false;
    }
  });
  assert.equal(opinions[0], opinions[1], "standardwebhooks and svix agree");
  return opinions[0] === true;
}

/** Sends an event to an entity, which is made where it is missing. */
export function send(
  service: Service,
  machine: string,
  id: string,
  event_type: string,
  params: Record<string, unknown> = {},
  sent: { tenant?: string; timestamp?: number; dispatch?: boolean; headers?: Record<string, string> } = {},
): Promise<any> {
  const { tenant = "t1", headers = {}, ...more } = sent;
  return service.expect(200, "POST", `/api/machines/${machine}/evaluate`, {
    body: { event_type, entity_key: "id", params: { ...params, id }, ...more },
    tenant,
    headers,
  });
}

/** The Worker with a clock that `/test/ahead?millis` puts forward. */
export const CLOCK = `
import Worker from "./statewright.js";
const real = Date.now;
let ahead = 0;
Date.now = () => real() + ahead;
export default {
  fetch(request, env, context) {
    const { pathname, search } = new URL(request.url);
    if (pathname !== "/test/ahead") return new Worker(context, env).fetch(request);
    ahead = Number(search.slice(1));
    return new Response("");
  },
  scheduled(event, env, context) {
    return new Worker(context, env).scheduled(event);
  },
};`;

/** A flat machine that goes around, `here` and `there`, and calls for these actions on each entering. */
export function turning(machine_id: string, ...actions: object[]): object {
  return {
    machine_id,
    states: ["here", "there"],
    initial_state: "here",
    transitions: [
      { from: "here", to: "there", on: "turn" },
      { from: "there", to: "here", on: "turn" },
    ],
    actions: actions.flatMap((action) => ["here", "there"].map((on_enter) => ({ on_enter, action }))),
  };
}

/** The states of a record at its versions, as many as a test has moves. */
const STATES = Array.from({ length: 12 }, (_, index) => `s${index + 1}`);

/** Makes a record in the first state. */
export async function createRecord(at: Service, id: string): Promise<void> {
  await at.expect(201, "POST", "/api/state/create", { body: { machine: "task", id, state: STATES[0] } });
}

/** Moves a record on from a version to the next. */
export function moveRecord(at: Service, id: string, version: number): Promise<any> {
  const [from, to] = [STATES[version - 1], STATES[version]];
  return at.expect(200, "POST", "/api/state/transition", {
    body: { machine: "task", id, from, to, expected_version: version },
  });
}

/** What the receiver of a webhook of `turning` or of a presentation is told of the order. */
export const ORDERED = { id: { $from: "/entity_id" }, version: { $from: "/state_version" } };

/** Whose transition a delivery tells of, and which. */
export function told(delivery: Delivery): { id: string; version: number } {
  return delivery.body.data ?? delivery.body;
}
