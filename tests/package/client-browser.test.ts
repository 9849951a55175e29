// The client in a page of another origin than the service, in Chromium.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import { chromium } from "playwright-core";

import { findChromium } from "../../scripts/chromium.mjs";
import { ROOT } from "../../scripts/paths.ts";
import type * as library from "../../src/js/lib/client.ts";
import { KEY, order, serve } from "../http/support.ts";

const executablePath = findChromium();
const skip = executablePath === undefined && process.env["CI"] !== "true" ? "there is no Chromium" : false;

/** A page with the client as `client`, and its origin. */
async function page(): Promise<{ origin: string; script: string }> {
  const built = await build({
    entryPoints: [join(ROOT, "src", "js", "lib", "client.ts")],
    bundle: true,
    format: "iife",
    globalName: "client",
    minify: true,
    write: false,
  });
  const bytes = gzipSync(built.outputFiles[0]?.contents ?? "").length;
  assert.ok(bytes < 8500, `docs/client.md says 8 KB; it is ${bytes} bytes`);
  const server = createServer((_, response) => void response.setHeader("content-type", "text/html").end(" "));
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, script: built.outputFiles[0]?.text ?? "" };
}

test(
  "a page of an allowed origin calls, lists page by page, and is told what is refused",
  { skip },
  async () => {
    const { origin, script } = await page();
    const service = await serve({ settings: { CORS_ORIGINS: origin } });
    const browser = await chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });
    after(() => browser.close());
    const tab = await browser.newPage();
    await tab.goto(origin);
    await tab.addScriptTag({ content: script });
    const seen = await tab.evaluate(
      async ([url, apiKey, definition]) => {
        const { createClient, StatewrightError } = (globalThis as unknown as { client: typeof library })
          .client;
        const { machines, entities } = createClient({ url, apiKey, tenant: "Zoë 日本" });
        await machines.create(definition);
        for (const entity_id of ["a b", "b/ü", "c"]) await entities.create("order", { entity_id });
        const { transition } = await entities.transition("order", "b/ü", {
          event_type: "pay",
          params: { amount: 1 },
        });
        const listed: string[] = [];
        for await (const { entity_id } of entities.list("order", { limit: 1 })) listed.push(entity_id);
        await entities.delete("order", "c");
        const refused = await entities.get("order", "c").catch((error: unknown) => error);
        const code = refused instanceof StatewrightError ? refused.code : String(refused);
        const unreachable = await createClient({ url: "http://127.0.0.1:1", retries: 1 })
          .health()
          .catch((error: unknown) => (error instanceof StatewrightError ? error.code : String(error)));
        return { transition, listed, code, unreachable };
      },
      [service.runtime.url, KEY, order] as const,
    );
    assert.deepEqual(seen, {
      transition: "pending → paid",
      listed: ["a b", "b/ü", "c"],
      code: "NOT_FOUND",
      unreachable: "NO_ANSWER",
    });
    assert.deepEqual((await service.expect(200, "GET", "/api/machines", { tenant: "Zoë 日本" })).length, 1);
  },
);
