// A service for a test: the built Worker on the real runtime, with a database of its own.

import assert from "node:assert/strict";
import { after } from "node:test";

import { type Runtime, type RuntimeOptions, startRuntime } from "../../scripts/runtime.ts";

/** The key of the services of the tests. */
export const KEY = "test-key";

/** An answer, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The text as JSON; undefined where it is none. */
  body: any;
}

/** What is sent beside method and path. */
export interface Sent {
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  raw?: string | Uint8Array | ReadableStream;
  headers?: Record<string, string>;
  /** `null` sends no tenant. */
  tenant?: string | null;
  /** `null` sends no key. */
  key?: string | null;
}

/** A service and a way to call it. */
export class Service {
  readonly runtime: Runtime;
  /** What the Worker logged. */
  readonly log: string[];

  constructor(runtime: Runtime, log: string[]) {
    this.runtime = runtime;
    this.log = log;
  }

  /** Sends a request with the key and the tenant `t1`, unless told otherwise. */
  async call(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const headers = new Headers(sent.headers);
    const { key = KEY, tenant = "t1" } = sent;
    if (key !== null && !headers.has("authorization")) headers.set("authorization", `Bearer ${key}`);
    // A header is bytes, which fetch takes as characters up to 255.
    if (tenant !== null) headers.set("x-tenant-id", Buffer.from(tenant).toString("latin1"));
    const init: RequestInit & { duplex?: "half" } = { method, headers, redirect: "manual" };
    if (sent.raw !== undefined) {
      init.body = sent.raw as NonNullable<RequestInit["body"]>;
      if (sent.raw instanceof ReadableStream) init.duplex = "half";
      // A text would otherwise be declared as text/plain.
      if (typeof sent.raw === "string" && !headers.has("content-type"))
        headers.set("content-type", "application/json");
    } else if (sent.body !== undefined) {
      init.body = JSON.stringify(sent.body);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
    }
    const response = await fetch(`${this.runtime.url}${path}`, init);
    const text = await response.text();
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      body = undefined;
    }
    return { status: response.status, headers: response.headers, text, body };
  }

  /** Sends a request that must be answered with `status`; gives the body. */
  async expect(status: number, method: string, path: string, sent: Sent = {}): Promise<Answer["body"]> {
    const answer = await this.call(method, path, sent);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }

  /** Registers a machine. */
  async register(definition: object, tenant = "t1"): Promise<void> {
    await this.expect(201, "POST", "/api/machines", { body: definition, tenant });
  }
}

/** Starts a service that the caller stops. */
export async function open(options: RuntimeOptions = {}): Promise<Service> {
  const log: string[] = [];
  const settings = { ENVIRONMENT: "development", API_KEY: KEY, LOG_LEVEL: "warn", ...options.settings };
  const runtime = await startRuntime({ ...options, settings, onLog: (line) => void log.push(line) });
  return new Service(runtime, log);
}

/** Starts a service that is stopped when the tests of the file are over. */
export async function serve(options: RuntimeOptions = {}): Promise<Service> {
  const service = await open(options);
  after(() => service.runtime.stop());
  return service;
}

/** Asserts that an answer is an error of the one shape (S2.262). */
export function refused(answer: Answer, status: number, code: string, retry = false): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/json\b/);
  assert.equal(answer.body?.error?.code, code, answer.text);
  assert.equal(answer.body.error.retry, retry, answer.text);
  assert.equal(typeof answer.body.error.message, "string");
  assert.notEqual(answer.body.error.message, "");
}

/** A flat machine: pending, paid, shipped. */
export const order = {
  machine_id: "order",
  states: ["pending", "paid", "shipped"],
  initial_state: "pending",
  transitions: [
    { from: "pending", to: "paid", on: "pay", guard: { field: "amount", op: "gt", value: 0 } },
    { from: "paid", to: "shipped", on: "ship" },
  ],
};

/** A machine that counts: each event turns it once more. */
export const wheel = {
  machine_id: "wheel",
  states: ["here", "there"],
  initial_state: "here",
  transitions: [
    { from: "here", to: "there", on: "turn" },
    { from: "there", to: "here", on: "turn" },
  ],
};
