// The service that the user signed in to. The key is in memory alone, or in this tab's session storage when he asks for that: never
// in an address, in local storage or in a log.

import { type ReadonlySignal, signal } from "@preact/signals";
import { type Client, createClient } from "statewright/client";

import { answerTo } from "./answers/answers.ts";
import { handover } from "./fork/handover.ts";
import { holdNothing, holdUntil, refreshAll } from "./live.ts";
import { retryAfter } from "./live-schedule.ts";
import { forget, keep, kept } from "./service-session.ts";

/** How a service is reached. */
export interface Connection {
  readonly url: string;
  readonly tenant: string;
  readonly key: string;
}

const current = signal(kept());
/** Whether the connection outlives a reload of the tab. */
let keeps = current.peek() !== undefined;
let made: { readonly of: Connection; readonly client: Client } | undefined;

/** Where the user is signed in, if he is. */
export const connection: ReadonlySignal<Connection | undefined> = current;

/** Before the views that are there then read again after a change: one of what was deleted has been left. In milliseconds. */
const TIME_TO_LEAVE = 100;

/** Routes that change nothing though they are posted to. */
const READING = /\/(validate|explain|try|state\/get)$/;

/** Whether what was sent may have changed what the views show. */
function changes({ method, url }: Request): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return method !== "POST" || !READING.test(new URL(url).pathname);
}

/** What a client is told in place of an answer that its types do not allow: views are spared it. */
function badAnswer(message: string): Response {
  return Response.json({ error: { code: "BAD_ANSWER", message, retry: false } }, { status: 502 });
}

/** An answer, where it is what the API says of its route. */
async function checked(base: string, { method, url }: Request, response: Response): Promise<Response> {
  if (!response.ok) return response;
  const path = new URL(url).pathname.slice(new URL(base).pathname.replace(/\/$/, "").length);
  const known = answerTo(method, path);
  const read = known && (await bodyOf(response.clone()));
  const misfit = read && known.misfit(read.value);
  return misfit === undefined ? response : badAnswer(misfit);
}

/** A body as the client takes it; undefined where it will say that it cannot. */
async function bodyOf(response: Response): Promise<{ readonly value: unknown } | undefined> {
  const text = await response.text();
  if (response.status === 204) return { value: undefined };
  if ((response.headers.get("content-type") ?? "").startsWith("text/plain")) return { value: text };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Sends a request, and has the live views know what it means for them. */
async function send(of: Connection, request: Request, init?: RequestInit): Promise<Response> {
  if (current.peek() !== of && changes(request)) {
    throw new Error("it was not sent: you had left this tenant, or signed out");
  }
  const response = await fetch(request, init);
  const wait = retryAfter(response.headers.get("retry-after"), Date.now());
  // Another service, or one that was left meanwhile, says nothing of this one.
  if (wait > 0 && current.peek() === of) holdUntil(Date.now() + wait);
  if (response.ok && changes(request)) setTimeout(refreshAll, TIME_TO_LEAVE);
  return checked(of.url, request, response);
}

/** A client that tries once: a failure shows at once, and the live views try again by themselves. */
function clientOf(of: Connection): Client {
  const { url, tenant, key } = of;
  const fetch = (request: Request, init?: RequestInit) => send(of, request, init);
  return createClient({ url, tenant, ...(key === "" ? {} : { apiKey: key }), retries: 0, fetch });
}

/** What of a client changes nothing. */
export interface Reader {
  readonly machines: Pick<
    Client["machines"],
    "list" | "get" | "counts" | "revisions" | "diagram" | "validate"
  >;
  readonly entities: Pick<Client["entities"], "list" | "get" | "events" | "history" | "explain">;
  readonly outbox: Pick<Client["outbox"], "list" | "get">;
  readonly sources: Pick<Client["sources"], "list" | "get">;
  readonly receipts: Client["receipts"];
  readonly scheduler: Client["scheduler"];
}

/** The service, to read from; throws where nobody is signed in. What changes something is a deed: entity/acting.ts. */
export function client(): Reader {
  return writer();
}

/**
 * The client of the service and the tenant that the user is in now: what goes on after he was asked something goes on with the one that
 * it began with. Throws where nobody is signed in.
 */
export function writer(): Client {
  const at = current.value;
  if (at === undefined) throw new Error("not signed in");
  if (made?.of !== at) made = { of: at, client: clientOf(at) };
  return made.client;
}

/**
 * Signs in: asks the service for something that takes the key and the tenant, and keeps the connection where it answers.
 *
 * @param session whether it is kept for the session of this tab.
 * @throws what the service, or the way to it, says against it.
 */
export async function signIn(to: Connection, session: boolean): Promise<void> {
  await clientOf(to).machines.list({ limit: 1 });
  keeps = session;
  if (session) keep(to);
  else forget();
  holdNothing();
  leave();
  current.value = to;
}

/** Goes on with another tenant of the same service, with the same key. */
export async function switchTenant(tenant: string): Promise<void> {
  const at = current.peek();
  if (at !== undefined) await signIn({ ...at, tenant }, keeps);
}

/** Keeps nothing of the tenant that the user was in: neither its client nor what was forked of it. */
function leave(): void {
  made = undefined;
  handover.value = undefined;
}

/** Forgets the connection, wherever it is kept, and what came by it. */
export function signOut(): void {
  forget();
  keeps = false;
  leave();
  holdNothing();
  current.value = undefined;
}

/** Whether a Statewright service answers at an address; it needs no key. */
export async function answers(url: string): Promise<boolean> {
  try {
    const health = await createClient({ url, retries: 0, timeout: 5000 }).health();
    return health.status === "ok";
  } catch {
    return false;
  }
}
