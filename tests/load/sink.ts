// Where effects go: a local HTTP server that accepts whatever it gets, or takes it and never answers.

import { createServer, type Server, type ServerResponse } from "node:http";

/** A sink on a port of its own. */
export class Sink {
  /** Whether it answers no more. */
  dead = false;
  /** How many requests it accepted. */
  accepted = 0;
  /** When it accepted the last one, by `performance.now()`. */
  last = 0;
  readonly #server: Server;
  readonly #held = new Set<ServerResponse>();

  private constructor() {
    this.#server = createServer((request, response) => {
      request.resume();
      request.on("end", () => {
        if (this.dead) {
          this.#held.add(response);
          return;
        }
        this.accepted += 1;
        this.last = performance.now();
        response.writeHead(204).end();
      });
    });
    // A connection that is closed as it is used again would be a failure of nobody's.
    this.#server.keepAliveTimeout = 600_000;
  }

  /** Opens sinks on free ports. */
  static open(count: number): Promise<Sink[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        const sink = new Sink();
        await new Promise<void>((listens) => sink.#server.listen(0, "127.0.0.1", listens));
        return sink;
      }),
    );
  }

  /** Its address. */
  get url(): string {
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the sink does not listen");
    return `http://127.0.0.1:${address.port}/told`;
  }

  /** How many requests it holds without an answer. */
  get holding(): number {
    return this.#held.size;
  }

  /** Breaks the connections of the requests that it never answered. */
  release(): void {
    for (const response of this.#held) response.destroy();
    this.#held.clear();
  }

  /** Closes it with all its connections. */
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
