// What a program lends to the engine, held to what the engine's WebAssembly takes it for: there, what is otherwise would end the
// process.

import type { EngineOptions, Fetch, Queue } from "./engine.ts";
import { readable } from "./thrown.ts";
import { kindOf, wrong } from "./wrong.ts";

const OPTIONS: Readonly<Record<keyof EngineOptions, true>> = {
  database: true,
  tenant: true,
  settings: true,
  queues: true,
  fetch: true,
  clock: true,
  log: true,
  waitUntil: true,
  migrate: true,
};

/**
 * Options as they are documented.
 *
 * @throws StatewrightError `BAD_REQUEST` that names the first one that is otherwise.
 */
export function checkedOptions(options: EngineOptions): EngineOptions {
  if (typeof (options as unknown) !== "object" || (options as unknown) === null) {
    throw wrong("options", `it is ${kindOf(options)}`, "an object with a database");
  }
  for (const name in options) {
    if (!Object.hasOwn(OPTIONS, name)) {
      throw wrong(name, "there is no such option", `one of ${Object.keys(OPTIONS).join(", ")}`);
    }
  }
  for (const name of ["fetch", "clock", "log", "waitUntil"] as const) {
    const given: unknown = options[name];
    if (given !== undefined && typeof given !== "function") {
      throw wrong(name, `it is ${kindOf(given)}`, "a function");
    }
  }
  for (const name in options.settings) {
    const setting: unknown = options.settings[name];
    if (setting !== undefined && typeof setting !== "string") {
      throw wrong(`settings.${name}`, `it is ${kindOf(setting)}`, "a text");
    }
  }
  return options;
}

/** A tenant's name, which is a text; what else it may not be the service says. */
export function checkedTenant(tenant: string): string {
  if (typeof (tenant as unknown) !== "string") throw wrong("tenant", `it is ${kindOf(tenant)}`, "a text");
  return tenant;
}

/** A clock that gives whole milliseconds, or throws. */
export function checkedClock(clock: () => number): () => number {
  return () => {
    const now = read(clock);
    if (Number.isSafeInteger(now)) return now as number;
    throw wrong("clock", `it gave ${kindOf(now)}`, "whole milliseconds since the epoch");
  };
}

function read(clock: () => unknown): unknown {
  try {
    return clock();
  } catch (error) {
    throw wrong("clock", `it threw: ${readable(error).message}`, "whole milliseconds since the epoch");
  }
}

/** A `fetch` that gives an answer that can be read, and gives up when its signal does; what else it does is a failure. */
export function checkedFetch(given: Fetch | undefined): Fetch {
  return async (url, init) => {
    const fetch = given ?? (globalThis.fetch as Fetch);
    const asked = (async () => fetch(url, init))();
    try {
      return answerOf(await unlessOver(asked, init.signal), init.signal) as Response;
    } catch (error) {
      throw readable(error);
    }
  };
}

/** What the engine reads of an answer. */
interface Answer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): Reader } | undefined;
}

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value: Uint8Array }>;
  cancel(): Promise<unknown>;
}

function answerOf(given: unknown, signal: AbortSignal | null | undefined): Answer {
  const { status, headers, body } = (given ?? {}) as Partial<Response>;
  if (typeof status !== "number" || typeof headers?.get !== "function") {
    throw new TypeError(`fetch gave ${given === undefined ? "nothing" : kindOf(given)}; expected a Response`);
  }
  const retryAfter: unknown = headers.get("retry-after");
  const read = { get: () => (typeof retryAfter === "string" ? retryAfter : null) };
  // The body of an answer that was given before is read already.
  const isReadable = typeof body?.getReader === "function" && !body.locked;
  return {
    status,
    headers: read,
    body: isReadable ? { getReader: () => readerOf(body, signal) } : undefined,
  };
}

function readerOf(body: ReadableStream<unknown>, signal: AbortSignal | null | undefined): Reader {
  const reader = (async () => body.getReader())();
  // It is asked for when it is read.
  reader.catch(() => undefined);
  return {
    async read() {
      const part = await unlessOver(
        reader.then((reader) => reader.read()),
        signal,
      );
      const value = part.value instanceof Uint8Array ? part.value : new Uint8Array();
      return { done: part.done, value };
    },
    cancel: () =>
      unlessOver(
        reader.then((reader) => reader.cancel()),
        signal,
      ),
  };
}

/** What a work gives, unless the signal comes first: the work may not look at it. */
async function unlessOver<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (signal === null || signal === undefined) return work;
  let over = () => {};
  const late = new Promise<never>((_, reject) => {
    over = () => reject(signal.reason);
    signal.addEventListener("abort", over);
    if (signal.aborted) over();
  });
  // The signal's own timer does not keep the process up until it is over.
  const up = setInterval(() => undefined, 60_000);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(up);
    signal.removeEventListener("abort", over);
  }
}

/** Queues whose `send` gives a promise, whatever theirs gives. */
export function checkedQueues(queues: Readonly<Record<string, Queue>>): Record<string, Queue> {
  const checked: Record<string, Queue> = {};
  for (const name in queues) {
    const queue: unknown = queues[name];
    if (typeof (queue as Partial<Queue> | null | undefined)?.send !== "function") {
      throw wrong(`queues.${name}`, `it is ${kindOf(queue)}`, "a queue, which has `send`");
    }
    checked[name] = { send: (message) => sent(queue as Queue, message) };
  }
  return checked;
}

async function sent(queue: Queue, message: unknown): Promise<unknown> {
  try {
    return await queue.send(message);
  } catch (error) {
    throw readable(error);
  }
}

/**
 * A request as the runtime has it, whose body is still to be read.
 *
 * @throws StatewrightError `BAD_REQUEST` for all else.
 */
export function checkedRequest(request: Request): Request {
  const { method, url, headers, arrayBuffer, bodyUsed, body } = ((request as unknown) ??
    {}) as Partial<Request>;
  const isRequest =
    typeof method === "string" &&
    typeof url === "string" &&
    typeof headers?.get === "function" &&
    typeof arrayBuffer === "function";
  if (!isRequest) {
    throw wrong("request", `it is ${kindOf(request)}`, "a Request: `new Request(url, init)` makes one");
  }
  if (bodyUsed === true || body?.locked === true) {
    throw wrong(
      "request",
      "its body was read before",
      "one that nobody has read, as `request.clone()` gives",
    );
  }
  return request;
}
