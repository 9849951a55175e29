// The page without a network, once it was there: after the first visit everything that it may ever load is kept.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import type { Page } from "playwright-core";

import { WWW_DIR } from "../../scripts/paths.ts";
import { StaticFiles } from "./static-files.ts";
import { quiet, type Opened, skip, type Stage, stage } from "./support.ts";

let on: Stage;
if (skip === false) on = await stage();

/** A page that may have a service worker. */
function open(url = on.url): Promise<Opened> {
  return on.open("", { serviceWorkers: "allow", baseURL: url });
}

/** Waits until the page's files are kept, and its service worker answers for it. */
async function ready(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const { serviceWorker } = navigator;
    await serviceWorker.ready;
    if (serviceWorker.controller !== null) return;
    await new Promise((begun) => serviceWorker.addEventListener("controllerchange", begun, { once: true }));
  });
}

/** The caches of the page's host, and the paths of all files in them. */
async function kept(page: Page): Promise<Map<string, string[]>> {
  const found = await page.evaluate(async () => {
    const all: [string, string[]][] = [];
    for (const name of await caches.keys()) {
      const requests = await (await caches.open(name)).keys();
      all.push([name, requests.map(({ url }) => new URL(url).pathname)]);
    }
    return all;
  });
  return new Map(found);
}

async function cacheNames(page: Page): Promise<string[]> {
  return [...(await kept(page)).keys()];
}

/** Does with the simulator what takes its WebAssembly and the layout engine, and opens the console, which is a chunk of its own. */
async function use(page: Page): Promise<void> {
  const views = page.getByRole("navigation", { name: "Views" });
  await views.getByText("Console").click();
  await page.getByLabel("Tenant").waitFor();
  await views.getByText("Simulator").click();
  await page.locator("svg text", { hasText: /^delivered$/ }).waitFor();
  await page.getByRole("button", { name: /^ship\b/ }).click();
  await page.getByRole("tabpanel").getByText("Sent ship").first().waitFor();
}

/** What is said of a network that is not there is no fault of the page. */
function quietBut(opened: Opened, expected: RegExp): void {
  quiet({ ...opened, complaints: opened.complaints.filter((text) => !expected.test(text)) });
}

test("after one visit everything works without a network", { skip }, async () => {
  const opened = await open();
  const { page, context } = opened;
  await ready(page);
  const [paths = []] = [...(await kept(page)).values()];
  const rare = /-(cyrillic|greek|vietnamese|latin-ext)/;
  const built = readdirSync(join(WWW_DIR, "assets")).filter((name) => !rare.test(name));
  assert.ok(built.some((name) => name.endsWith(".wasm")));
  for (const name of built) assert.ok(paths.includes(`/assets/${name}`), `${name} is kept`);

  await context.setOffline(true);
  await page.reload();
  await use(page);
  await context.close();
  quietBut(opened, /ERR_INTERNET_DISCONNECTED/);
});

test("the service beside the page is asked each time, and nothing of it is kept", { skip }, async () => {
  const opened = await open();
  const { page, context } = opened;
  await ready(page);
  const byWorker: string[] = [];
  page.on("response", (answer) => {
    if (answer.fromServiceWorker()) byWorker.push(new URL(answer.url()).pathname);
  });
  await page.reload();
  const asked = ["/health", "/openapi.json", "/api/machines", "/hooks/t1/none"];
  const answers = await page.evaluate(async (paths) => {
    const statuses: number[] = [];
    for (const path of paths) statuses.push((await fetch(path)).status);
    return statuses;
  }, asked);
  assert.deepEqual(answers, [200, 200, 401, 405]);
  const own = /^\/($|index\.html$|assets\/|favicon\.svg$|licences\.txt$|manifest\.webmanifest$)/;
  assert.ok(byWorker.includes("/"), "it answers for the page");
  for (const paths of [byWorker, ...(await kept(page)).values()]) {
    for (const path of paths) assert.match(path, own);
  }
  await page.goto(`${on.url}/openapi.json`);
  assert.ok(!byWorker.includes("/openapi.json"), "nor does it answer who goes there");
  await context.close();
  quietBut(opened, /status of (401|404|405)/);
});

/** A copy of the build whose files have other names, and whose page another title, as that of a newer one would. */
function newer(): string {
  const folder = mkdtempSync(join(tmpdir(), "statewright-newer-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(WWW_DIR, folder, { recursive: true });
  const names = readdirSync(join(folder, "assets"));
  for (const name of names) {
    renameSync(join(folder, "assets", name), join(folder, "assets", name.replace(/\.(\w+)$/, "new.$1")));
  }
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const path of entries.filter((path) => /\.(js|css|html)$/.test(path))) {
    let text = readFileSync(join(folder, path), "utf8");
    for (const name of names) text = text.replaceAll(name, name.replace(/\.(\w+)$/, "new.$1"));
    text = text.replace("<title>Statewright", "<title>Newer").replace(/"[0-9a-f]{16}"/, '"newer"');
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

test(
  "in any folder of any host; a newer build breaks no open page and takes the older one's place",
  { skip },
  async () => {
    const files = await StaticFiles.of({ "/tools/flows/": WWW_DIR, "/other/": WWW_DIR });
    const place = `${files.url}/tools/flows/`;
    const context = await on.browser.newContext({ serviceWorkers: "allow" });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    await page.goto(place);
    await ready(page);
    const other = await context.newPage();
    await other.goto(`${files.url}/other/`);
    await ready(other);
    const names = await cacheNames(page);
    assert.equal(names.length, 2, "each folder has its own");
    const [ours = "", others = ""] = names.sort((name) => (name.includes(place) ? -1 : 1));

    files.replace("/tools/flows/", newer());
    await page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready;
      await registration.update();
      if (registration.waiting !== null) return;
      const found = registration.installing;
      await new Promise<void>((waits) => {
        found?.addEventListener("statechange", () => (found.state === "installed" ? waits() : undefined));
      });
    });
    // Its chunks are on no host any more.
    await use(page);
    assert.equal(await page.title(), "Statewright");
    await page.reload();
    assert.equal(await page.title(), "Newer", "the network's page comes first");
    await use(page);

    await page.close();
    const again = await context.newPage();
    await again.goto(place);
    await ready(again);
    await again.waitForFunction(async (old) => !(await caches.keys()).includes(old), ours);
    const now = await cacheNames(again);
    assert.equal(now.length, 2);
    assert.ok(now.includes(others), "what is another folder's stays");

    await files.stop();
    await again.reload();
    assert.equal(await again.title(), "Newer");
    await use(again);
    await context.close();
  },
);
