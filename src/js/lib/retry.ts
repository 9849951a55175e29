// Sends a request again where that is safe: where no answer came, or one came that asks for it.

import { type ErrorBody, StatewrightError } from "./errors.ts";

/** How a request is sent. */
export interface Patience {
  readonly fetch: (request: Request, init: RequestInit) => Promise<Response>;
  /** How often a request is sent again, at most. */
  readonly retries: number;
  /** How long an answer may take, to its last byte, in milliseconds. */
  readonly timeout: number;
}

/** The first wait, which doubles from try to try up to the longest one, in milliseconds. */
const FIRST_WAIT = 100;
const LONGEST_WAIT = 10_000;
/** A service that asks for more than this is not waited for. */
const LONGEST_RETRY_AFTER = 60_000;
/** A batch whose key is in flight is over, or given up by the service, within a minute. */
const LONGEST_FLIGHT = 75_000;

/**
 * The error of an answer in the one shape that a service has.
 *
 * @returns undefined where it has another.
 */
export function errorBody(text: string): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: Partial<ErrorBody> };
    const whole =
      typeof error?.code === "string" &&
      typeof error.message === "string" &&
      typeof error.retry === "boolean";
    return whole ? (error as ErrorBody) : undefined;
  } catch {
    return undefined;
  }
}

/** How long a Retry-After asks to wait, in milliseconds: seconds, or an HTTP date. */
function retryAfter(headers: Headers): number {
  const value = headers.get("retry-after");
  if (value === null) return 0;
  const seconds = Number(value);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(wait) ? 0 : Math.max(0, wait);
}

/** Waits, unless the caller gives up before. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((wake, reject) => {
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", over);
      if (signal.aborted) reject(signal.reason);
      else wake();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener("abort", over);
    if (signal.aborted) over();
  });
}

/** Reads an answer to its end: one that breaks off is none. */
async function whole(response: Response): Promise<Response> {
  const { arrayBuffer, status: given } = (response ?? {}) as { readonly [Key in keyof Response]?: unknown };
  if (typeof given !== "number" || typeof arrayBuffer !== "function") {
    throw new TypeError("`fetch` gave no Response");
  }
  // What a browser hides of a redirect cannot be made anew.
  if (response.type === "opaqueredirect") return response;
  const bytes = await response.arrayBuffer();
  const { status, statusText, headers } = response;
  const empty = status === 204 || status === 205 || status === 304;
  return new Response(empty ? null : bytes, { status, statusText, headers });
}

/** Sends a request once, and waits for the whole of its answer as long as a try may take. */
async function once(request: Request, { fetch, timeout }: Patience): Promise<Response> {
  const { signal } = request;
  signal.throwIfAborted();
  const trying = new AbortController();
  const give = () => trying.abort(signal.reason);
  signal.addEventListener("abort", give);
  const late = new DOMException(`no answer within ${timeout} ms`, "TimeoutError");
  const timer = setTimeout(() => trying.abort(late), timeout);
  try {
    const answer = Promise.resolve(fetch(request.clone(), { signal: trying.signal })).then(whole);
    // A fetch of the caller's own may not look at the signal.
    const over = new Promise<never>((_, reject) =>
      trying.signal.addEventListener("abort", () => reject(trying.signal.reason as Error)),
    );
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", give);
  }
}

/** What an answer that is no success says of itself. */
type Verdict = "stands" | "in-flight" | "again";

async function verdict(response: Response, exists: boolean): Promise<Verdict> {
  const { status } = response;
  if (status === 429) return "again";
  if (status !== 409 && status < 500) return "stands";
  const error = errorBody(await response.clone().text());
  // A proxy's word that there is no service now.
  if (error === undefined) return status >= 500 ? "again" : "stands";
  if (error.code === "IDEMPOTENCY_IN_FLIGHT") return "in-flight";
  // There, it says that something exists: it still will in a second.
  if (error.code === "CONFLICT" && exists) return "stands";
  return error.retry ? "again" : "stands";
}

/** That no answer came, with what the runtime says of it. */
function noAnswer(request: Request, cause: unknown): StatewrightError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = inner instanceof Error ? inner.message || inner.name : String(inner);
  const message = `${request.method} ${request.url}: no answer came: ${why}`;
  return new StatewrightError({ code: "NO_ANSWER", message, retry: true }, 0, { cause });
}

/**
 * Sends a request until there is an answer that stands, or patience ends.
 *
 * @param safe whether it may be sent more than once.
 * @param exists whether its CONFLICT says that something exists.
 * @returns the last answer, whatever its status.
 * @throws StatewrightError `NO_ANSWER` where the last try had none; the signal's reason where the caller gave up.
 */
export async function send(
  request: Request,
  safe: boolean,
  exists: boolean,
  patience: Patience,
): Promise<Response> {
  const { signal } = request;
  const most = safe ? patience.retries : 0;
  let left = most;
  let wait = FIRST_WAIT;
  let landed: number | undefined;
  for (;;) {
    let response: Response | undefined;
    let asked = 0;
    try {
      response = await once(request, patience);
      const says = await verdict(response, exists);
      if (says === "stands" || most === 0) return response;
      asked = retryAfter(response.headers);
      if (asked > LONGEST_RETRY_AFTER) return response;
      if (says === "in-flight") {
        // The try before is at work, and its answer will be given: that is worth more tries than a failure.
        landed ??= Date.now() + LONGEST_FLIGHT;
        if (Date.now() > landed) return response;
      } else if (left === 0) return response;
      else left -= 1;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (left === 0) throw noAnswer(request, error);
      left -= 1;
    }
    // Full jitter: callers that failed together do not come back together.
    await sleep(Math.max(asked, wait * (0.5 + Math.random() / 2)), signal);
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }
}
