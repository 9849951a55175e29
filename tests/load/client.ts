// A load of HTTP requests from a fixed number of connections, each with one request in flight.

import { Agent, request } from "node:http";

/** Sends requests to one service over connections that stay open. */
export class Client {
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  readonly #agent = new Agent({ keepAlive: true, noDelay: true });

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = new URL(url);
    this.#headers = headers;
  }

  /** Sends one request; gives the body of its answer, which must be a success. */
  post(path: string, body: string, headers: Record<string, string> = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: this.#url.hostname,
          port: this.#url.port,
          agent: this.#agent,
          method: "POST",
          path,
          headers: {
            ...this.#headers,
            ...headers,
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
          },
        },
        (answer) => {
          const parts: Buffer[] = [];
          answer.on("data", (part: Buffer) => void parts.push(part));
          answer.on("error", reject);
          answer.on("end", () => {
            const text = Buffer.concat(parts).toString();
            const status = answer.statusCode ?? 0;
            if (status >= 200 && status < 300) resolve(text);
            else reject(new Error(`POST ${path} was answered with ${status}: ${text}`));
          });
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  }

  /** Closes its connections. */
  close(): void {
    this.#agent.destroy();
  }
}

/** What a load came to. */
export interface Load {
  /** Requests answered. */
  readonly count: number;
  /** Requests answered a second, and what follows from them done. */
  readonly rate: number;
  /** The time of each request, in milliseconds. */
  readonly times: number[];
}

/**
 * Runs `send` over `connections` for at least `millis`, each as soon as the one before it is answered. `settle` waits for
 * what follows from that many requests after their answers, and its time counts.
 */
export async function load(
  connections: number,
  millis: number,
  send: () => Promise<void>,
  settle: (count: number) => Promise<void> = async () => {},
): Promise<Load> {
  const times: number[] = [];
  const began = performance.now();
  const until = began + millis;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let now = performance.now(); now < until;) {
        await send();
        const after = performance.now();
        times.push(after - now);
        now = after;
      }
    }),
  );
  await settle(times.length);
  const seconds = (performance.now() - began) / 1000;
  return { count: times.length, rate: times.length / seconds, times };
}

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? NaN;
  return (lower + upper) / 2;
}
