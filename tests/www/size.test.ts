// What a browser fetches before the page can be used, and what it leaves for later.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import type { Page } from "playwright-core";

import { WWW_DIR } from "../../scripts/paths.ts";
import { skip, type Stage, stage } from "./support.ts";

const MOST_SCRIPT = 500_000;
/** What only the layout engine's script has. */
const LAYOUT_ENGINE = "org.eclipse.elk.alg.layered";

let on: Stage;
if (skip === false) on = await stage();

/** The files that a page asks for, by their paths; each once. */
function asked(page: Page): Set<string> {
  const paths = new Set<string>();
  page.on("request", (request) => {
    const { origin, pathname } = new URL(request.url());
    if (origin === on.url) paths.add(pathname);
  });
  return paths;
}

function read(path: string): Buffer {
  return readFileSync(join(WWW_DIR, path));
}

function weigh(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + gzipSync(read(path), { level: 9 }).length, 0);
}

/** The files with an ending, and what they weigh; the layout engine's script is no part of it. */
function weighed(paths: ReadonlySet<string>, ending: string): { files: string[]; bytes: number } {
  const files = [...paths].filter((path) => path.endsWith(ending) && !read(path).includes(LAYOUT_ENGINE));
  return { files, bytes: weigh(files) };
}

test(
  "the simulator's first load is under 500 KB of script, gzipped, without the layout engine",
  { skip },
  async () => {
    const page = await on.browser.newPage({ serviceWorkers: "block" });
    const paths = asked(page);
    const inWorkers: string[] = [];
    page.on("worker", (worker) => inWorkers.push(new URL(worker.url()).pathname));
    await page.goto(`${on.url}/`);
    await page.getByRole("button", { name: /^ship\b/ }).waitFor();
    await page.locator("svg text", { hasText: /^delivered$/ }).waitFor();

    const script = weighed(paths, ".js");
    const style = weighed(paths, ".css");
    const wasm = weighed(paths, ".wasm");
    const engine = [...paths].filter((path) => path.endsWith(".js") && !script.files.includes(path));
    console.log(
      `# ${script.bytes} bytes of script in ${script.files.length} files, ${style.bytes} of styles,`,
    );
    console.log(`# ${wasm.bytes} of WebAssembly beside it; later ${weigh(engine)} for the layout engine`);
    assert.ok(script.bytes > 50_000, "it was seen");
    assert.ok(script.bytes < MOST_SCRIPT, `${script.bytes}`);
    assert.equal(wasm.files.length, 2);
    assert.ok(wasm.bytes < 500_000, `${wasm.bytes}`);
    assert.equal(engine.length, 1, "the layout engine is a file of its own");
    assert.deepEqual(inWorkers, engine, "and runs beside the page");
    await page.close();
  },
);

test("the console's first load has neither WebAssembly nor editor nor layout engine", { skip }, async () => {
  const page = await on.browser.newPage({ serviceWorkers: "block" });
  const paths = asked(page);
  await page.goto(`${on.url}/#/console`);
  await page.getByLabel("Tenant").waitFor();
  await page.waitForLoadState("networkidle");
  const script = weighed(paths, ".js");
  console.log(`# ${script.bytes} bytes of script in ${script.files.length} files`);
  assert.ok(script.bytes < 100_000, `${script.bytes}`);
  for (const path of paths) {
    assert.ok(!path.endsWith(".wasm"), path);
    if (path.endsWith(".js")) assert.ok(!read(path).includes(LAYOUT_ENGINE), path);
    if (path.endsWith(".js")) assert.ok(!read(path).includes("cm-editor"), path);
  }
  await page.close();
});
