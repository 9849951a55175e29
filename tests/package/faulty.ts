// A server that fails as it is told to, and notes what it was asked.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** A request as it came. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly at: number;
}

/** What becomes of one request. */
export type Turn = (response: ServerResponse, seen: Seen) => void;

/** Answers with a JSON text. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Turn {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Answers with an error of the one shape. */
export function problem(
  status: number,
  code: string,
  retry: boolean,
  headers?: Record<string, string>,
): Turn {
  return json(status, { error: { code, message: `it is ${code}`, retry } }, headers);
}

/** Closes the connection without a word. */
export const drop: Turn = (response) => void response.socket?.destroy();

/** Breaks off in the middle of an answer. */
export const tear: Turn = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
  response.write('{"half":', () => response.socket?.destroy());
};

/** Never answers. */
export const silent: Turn = () => undefined;

/** A server that does with each request what is next in `turns`; with the last turn all that come after. It stops with the test. */
export async function faulty(test: TestContext, ...turns: Turn[]) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part: string) => (body += part));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, path: url, headers, body, at: Date.now() };
      seen.push(one);
      turns[Math.min(seen.length, turns.length) - 1]?.(response, one);
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  test.after(stop);
  return { url: `http://127.0.0.1:${port}`, seen, stop };
}
