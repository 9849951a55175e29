// `statewright/client`: the operations of a service over HTTP, with retries where a retry is safe.

import openapiFetch, { type Client as FetchClient, type Middleware } from "openapi-fetch";

import { type CallAnswer, type CallRequest, KEY_HEADER, TENANT_HEADER } from "./call.ts";
import { StatewrightError } from "./errors.ts";
import { lineOf, optionsOf, wholeOf } from "./given.ts";
import type { paths } from "./openapi.ts";
import { type Operations, operations } from "./operations.ts";
import { errorBody, type Patience, send } from "./retry.ts";
import { KEYED_ROUTES, READING_ROUTES } from "./routes.ts";
import { kindOf, wrong } from "./wrong.ts";

export { type ErrorCode, type ErrorDetails, StatewrightError } from "./errors.ts";
export type { Listing, Page } from "./listing.ts";
export type { components, paths } from "./openapi.ts";
export type * from "./operations.ts";

/** How a service is reached, and how patiently. */
export interface ClientOptions {
  /** Where the service is, with the path that it is mounted at: `https://statewright.example.com`. */
  readonly url: string;
  /** The deployment's API key; none where the service asks for none. */
  readonly apiKey?: string | undefined;
  /** The tenant to work in; {@link Client.forTenant} gives others. */
  readonly tenant?: string | undefined;
  /** Sends requests in place of the global `fetch`: a Worker's service binding, or a proxy. */
  readonly fetch?: ((request: Request, init?: RequestInit) => Promise<Response>) | undefined;
  /** How often a request is sent again at most, where that is safe: 3 when left out, 0 for never. */
  readonly retries?: number | undefined;
  /** How long one try may take, to the last byte of its answer, in milliseconds: 60,000 when left out. */
  readonly timeout?: number | undefined;
}

/** A service: its operations, and its raw HTTP API. */
export interface Client extends Operations {
  /**
   * The routes as openapi-fetch gives them, typed by the OpenAPI document: `client.http.GET("/api/machines")`. The key, the tenant, an
   * Idempotency-Key and the retries are seen to as for the operations. A refusal is no exception here: it is `error`.
   */
  readonly http: FetchClient<paths>;

  /** The same service with another tenant. */
  forTenant(tenant: string): Client;
}

/** Where CommonJS is read by Node's rules, what stands for a module's default is all of the module. */
const createFetch = ("default" in openapiFetch ? openapiFetch.default : openapiFetch) as typeof openapiFetch;

const DEFAULT_RETRIES = 3;
const DEFAULT_TIMEOUT = 60_000;

const AUTHORIZATION = "authorization";

/** Where CONFLICT says that what is to be made exists, or that what is to be deleted is in use. */
const EXISTING: ReadonlySet<string> = new Set([
  "POST /api/machines",
  "POST /api/machines/{machine_id}/entities",
  "DELETE /api/machines/{machine_id}",
]);

/** The routes as they are asked by templates that are known at run time only. */
type AnyRoute = Record<
  string,
  Record<
    "get" | "post" | "put" | "delete",
    {
      parameters: {
        path?: Readonly<Record<string, string>>;
        query?: Readonly<Record<string, string | number | boolean>>;
      };
      requestBody?: { content: { "application/json": unknown } };
      responses: { 200: { content: { "text/plain": string } } };
    }
  >
>;

const OPTIONS = ["url", "apiKey", "tenant", "fetch", "retries", "timeout"];
/** Timers take no more. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

function base(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const expected = "an absolute http or https URL without a query";
  if (
    parsed === undefined ||
    !/^https?:$/.test(parsed.protocol) ||
    parsed.search !== "" ||
    parsed.hash !== ""
  ) {
    throw wrong("url", typeof url === "string" ? `it is \`${url}\`` : `it is ${kindOf(url)}`, expected);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw wrong("url", "it has credentials", `${expected}; the key goes into \`apiKey\``);
  }
  return parsed.href;
}

/** Node and browsers take a header as bytes, as characters up to 255; workerd takes it as text, which it sends as UTF-8. */
function headerOf(text: string): string {
  try {
    return new Headers({ text: `${text}\u0100` }) && text;
  } catch {
    return String.fromCharCode(...new TextEncoder().encode(text));
  }
}

/** A key that no other call has. `crypto.randomUUID` is missing from pages that came without TLS. */
function newKey(): string {
  const parts = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(parts, (part) => part.toString(16).padStart(2, "0")).join("");
}

/** What a request that is ready to be sent may be sent again for. */
interface Kind {
  readonly safe: boolean;
  readonly exists: boolean;
}

/** Gives requests what they lack, and notes of each whether it may be sent again. */
function preparing(options: ClientOptions, kinds: WeakMap<Request, Kind>): Middleware {
  const { apiKey, tenant } = options;
  if (apiKey !== undefined) lineOf(apiKey, "apiKey");
  if (tenant !== undefined) lineOf(tenant, "tenant");
  return {
    onRequest({ request, schemaPath }) {
      const { headers, method } = request;
      const route = `${method} ${schemaPath}`;
      if (schemaPath.startsWith("/api/")) {
        if (apiKey !== undefined && apiKey !== "" && !headers.has(AUTHORIZATION)) {
          headers.set(AUTHORIZATION, headerOf(`Bearer ${apiKey}`));
        }
        if (tenant !== undefined && !headers.has(TENANT_HEADER)) headers.set(TENANT_HEADER, headerOf(tenant));
      }
      // An empty one is the caller's word that he wants none.
      const given = headers.get(KEY_HEADER);
      if (given === "") headers.delete(KEY_HEADER);
      else if (given === null && KEYED_ROUTES.has(route)) headers.set(KEY_HEADER, newKey());
      const reads = method === "GET" || method === "HEAD" || READING_ROUTES.has(route);
      const safe = reads || (KEYED_ROUTES.has(route) && headers.has(KEY_HEADER));
      kinds.set(request, { safe, exists: EXISTING.has(route) });
    },
  };
}

/** An answer of something else than a service: a proxy's page, or another program at this address. */
function unknown(response: Response, text: string, cause?: unknown): StatewrightError {
  const { status, headers } = response;
  const location = headers.get("location");
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  const what = location === null ? `\`${shown}\`` : `a redirect to ${location}; give that URL`;
  const message = `the answer is not Statewright's: ${status} with ${what}`;
  // Statuses that proxies answer when nobody is there.
  const retry = status === 429 || status >= 500;
  return new StatewrightError({ code: "UNKNOWN_ANSWER", message, retry }, status, { cause });
}

/** An answer as the operations take it. */
function read(response: Response, text: string): CallAnswer {
  const { status, headers } = response;
  if (!response.ok) {
    const error = errorBody(text);
    throw error === undefined ? unknown(response, text) : new StatewrightError(error, status);
  }
  if (status === 204) return { status, headers, data: undefined };
  if ((headers.get("content-type") ?? "").startsWith("text/plain")) return { status, headers, data: text };
  try {
    return { status, headers, data: JSON.parse(text) as unknown };
  } catch (cause) {
    throw unknown(response, text, cause);
  }
}

/**
 * A client of a service.
 *
 *     const client = createClient({ url, apiKey, tenant: "demo" });
 *     await client.entities.transition("order", "o-1", { event_type: "pay", params: { amount: 25 } });
 *
 * What changes something is sent with an Idempotency-Key, the same in all tries of one call, and so has one effect. Sent again is what
 * changes nothing or has a key: where no answer came in time, for 429, and for 5xx and 409 that say `retry`. It waits as long as
 * Retry-After asks, or a little longer from try to try.
 *
 * @throws StatewrightError where an option is wrong. So do all operations where they are refused, with the service's code; where no answer
 * comes, `NO_ANSWER`; and where something else than a service answers, `UNKNOWN_ANSWER`.
 */
export function createClient(options: ClientOptions): Client {
  const { fetch: given } = optionsOf(options, OPTIONS);
  if (given !== undefined && typeof given !== "function") {
    throw wrong("fetch", `it is ${kindOf(given)}`, "a function like the global `fetch`");
  }
  const baseUrl = base(options.url);
  const patience: Patience = {
    // Not the function itself: runtimes refuse to be called without their global, and tests replace it.
    fetch: given ?? ((request, init) => globalThis.fetch(request, init)),
    retries: wholeOf(options.retries ?? DEFAULT_RETRIES, "retries", 0, Number.MAX_SAFE_INTEGER),
    timeout: wholeOf(options.timeout ?? DEFAULT_TIMEOUT, "timeout", 1, LONGEST_TIMEOUT),
  };
  const kinds = new WeakMap<Request, Kind>();
  const fetch = (request: Request): Promise<Response> => {
    const { safe, exists } = kinds.get(request) ?? { safe: false, exists: false };
    return send(request, safe, exists, patience);
  };
  // A redirected POST would become a GET, and the key would go to a stranger.
  const settings = { baseUrl, fetch, redirect: "manual" } as const;
  const http = createFetch<paths>(settings);
  const byTemplate = createFetch<AnyRoute>(settings);
  const prepare = preparing(options, kinds);
  http.use(prepare);
  byTemplate.use(prepare);

  const call = async (asked: CallRequest): Promise<CallAnswer> => {
    const { path, params, query, body, signal } = asked;
    const given = Object.entries(asked.headers).map(([name, value]) => [name, headerOf(value)] as const);
    const headers = { ...Object.fromEntries(given), ...(asked.unkeyed === true ? { [KEY_HEADER]: "" } : {}) };
    const method = asked.method.toLowerCase() as Lowercase<typeof asked.method>;
    const init = {
      params: { path: params, query },
      headers,
      body,
      signal: signal ?? null,
      parseAs: "text",
    } as const;
    const { data, error, response } = await byTemplate.request(method, path, init);
    const text = data ?? error;
    return read(response, typeof text === "string" ? text : JSON.stringify(text ?? ""));
  };
  return {
    ...operations(call),
    http,
    forTenant: (other) => createClient({ ...options, tenant: other }),
  };
}
