// A host of static files as simple as they come: it knows types by their endings, and sends no header of its own.

import { createReadStream, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { after } from "node:test";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Folders served under paths of one host. */
export class StaticFiles {
  readonly #server: Server;
  readonly #folders: Map<string, string>;

  private constructor(folders: Map<string, string>) {
    this.#folders = folders;
    this.#server = createServer(({ url = "/" }, response) => {
      const file = this.#file(decodeURIComponent(new URL(url, "http://host").pathname));
      if (file === undefined) {
        response.writeHead(404, { "content-type": "text/plain" }).end("not found");
        return;
      }
      const type = TYPES[extname(file)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type });
      createReadStream(file).pipe(response);
    });
  }

  /** Serves each folder under its path, which begins and ends with a slash, until the tests of the file are over. */
  static async of(folders: Readonly<Record<string, string>>): Promise<StaticFiles> {
    const files = new StaticFiles(new Map(Object.entries(folders)));
    await new Promise<void>((listening) => files.#server.listen(0, "127.0.0.1", listening));
    after(() => files.stop());
    return files;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** Serves another folder under a path. */
  replace(path: string, folder: string): void {
    this.#folders.set(path, folder);
  }

  /** Answers nobody any more. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  #file(path: string): string | undefined {
    for (const [prefix, folder] of this.#folders) {
      if (!path.startsWith(prefix)) continue;
      const file = join(folder, normalize(`/${path.slice(prefix.length)}`));
      const stat = statSync(file, { throwIfNoEntry: false });
      if (stat?.isFile() === true) return file;
      const index = join(file, "index.html");
      if (path.endsWith("/") && statSync(index, { throwIfNoEntry: false }) !== undefined) return index;
    }
    return undefined;
  }
}
