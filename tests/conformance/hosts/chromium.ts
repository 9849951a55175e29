// Headless Chromium with one of this folder's modules in a page of its own, served from this machine.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

import { chromium, type Page } from "playwright-core";

import { findChromium } from "../../../scripts/chromium.mjs";
import { ROOT } from "../../../scripts/paths.ts";
import { bundle } from "./bundle.ts";

/** A page, and how it is closed. */
export interface Opened {
  readonly page: Page;
  close(): Promise<void>;
}

/** Whether a browser is here. */
export function hasChromium(): boolean {
  return findChromium() !== undefined;
}

/** Opens a page that runs a module, and waits until it is loaded. */
export async function openPage(entry: string): Promise<Opened> {
  const { code } = await bundle(entry, ["browser"]);
  const served = new Map<string, readonly [type: string, body: string | Buffer]>([
    ["/", ["text/html", '<!doctype html><script type="module" src="/page.js"></script>']],
    ["/page.js", ["text/javascript", code]],
    [
      "/sql-wasm.wasm",
      ["application/wasm", readFileSync(join(ROOT, "node_modules/sql.js/dist/sql-wasm-browser.wasm"))],
    ],
  ]);
  const server = createServer((request, response) => {
    const [type, body] = served.get(request.url ?? "") ?? ["text/plain", undefined];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": type }).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("there is no Chromium: node scripts/setup.mjs --browser");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => void problems.push(String(error)));
  await page.goto(`http://127.0.0.1:${address.port}/`);
  await page
    .waitForFunction("globalThis.ready === true", undefined, { timeout: 60_000 })
    .catch((error: unknown) => {
      throw new Error(`${entry} was not loaded: ${problems.join("; ")}`, { cause: error });
    });
  return {
    page,
    async close() {
      await browser.close();
      server.close();
    },
  };
}
