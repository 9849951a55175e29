// What the page's policy refuses and lets be: as the Worker sends it, and as it stands in the page on hosts that send nothing.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import type { Page } from "playwright-core";

import { WWW_DIR } from "../../scripts/paths.ts";
import { type Answer, serve, type Service } from "../http/support.ts";
import { StaticFiles } from "./static-files.ts";
import { skip, type Stage, stage } from "./support.ts";

/** A host that is not the page's: it lets everybody read what it serves. */
let foreign: StaticFiles;
let on: Stage;
/** A service that browsers may call from everywhere. */
let open: Service;

if (skip === false) {
  const folder = mkdtempSync(join(tmpdir(), "statewright-foreign-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "script.js"), 'document.documentElement.dataset.foreign = "ran";');
  writeFileSync(join(folder, "style.css"), "body { color: rgb(1, 2, 3); }");
  mkdirSync(join(folder, "frames"));
  foreign = await StaticFiles.of({ "/foreign/": folder, "/page/": WWW_DIR, "/": WWW_DIR });
  on = await stage();
  open = await serve({ settings: { CORS_ORIGINS: "*" } });
  const frame = (url: string) => `<!doctype html><iframe src="${url}"></iframe>`;
  writeFileSync(join(folder, "frames", "worker.html"), frame(`${on.url}/`));
}

/** The policy that stands in a page, and its nonce. */
function written(page: string): { policy: string; nonce: string } {
  const content = (name: string) => new RegExp(`${name}" content="([^"]*)"`).exec(page)?.[1] ?? "";
  return { policy: content('http-equiv="Content-Security-Policy'), nonce: content('name="csp-nonce') };
}

const sent = ({ headers }: Answer): string => headers.get("content-security-policy") ?? "";

test("the Worker sends the page's own policy, with another nonce in each answer", { skip }, async () => {
  const { service } = on;
  const nonces = new Set<string>();
  for (const path of ["/", "/", "/?from=mail", "/index.html"]) {
    const answer = await service.call("GET", path, { key: null, tenant: null });
    assert.equal(answer.status, 200, path);
    const { policy, nonce } = written(answer.text);
    assert.match(nonce, /^[0-9a-f]{32}$/);
    assert.equal(sent(answer), `${policy}; frame-ancestors 'none'`);
    assert.ok(policy.includes(`style-src 'self' 'nonce-${nonce}'`));
    assert.doesNotMatch(policy, /unsafe-(inline|eval(?<!wasm-unsafe-eval)|hashes)/);
    assert.match(policy, /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
    for (const [name, value] of Object.entries({
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      etag: null,
    })) {
      assert.equal(answer.headers.get(name), value, `${path}: ${name}`);
    }
    nonces.add(nonce);
  }
  assert.equal(nonces.size, 4);
});

test("no browser is told that its page, with its nonce, is still the one", { skip }, async () => {
  const { service } = on;
  const kept = { "if-none-match": "*", "if-modified-since": new Date().toUTCString() };
  const again = await service.call("GET", "/", { headers: kept });
  assert.equal(again.status, 200);
  const head = await service.call("HEAD", "/");
  assert.deepEqual([head.status, head.text], [200, ""]);
  assert.match(sent(head), /frame-ancestors/);
  assert.notEqual(sent(head), sent(again));
});

test("files are sent with the host's headers, and what is no file is the service's", { skip }, async () => {
  const { service } = on;
  const page = await service.call("GET", "/");
  const [, entry = ""] = /<script [^>]*src="\.(\/assets\/[^"]*)"/.exec(page.text) ?? [];
  const script = await service.call("GET", entry);
  assert.equal(script.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert.equal(script.headers.get("x-content-type-options"), "nosniff");
  assert.equal((await service.call("GET", "/sw.js")).headers.get("cache-control"), "no-cache");
  for (const [method, path] of [
    ["POST", "/"],
    ["GET", "/assets/none.js"],
    ["GET", "/_headers"],
  ] as const) {
    const answer = await service.call(method, path);
    assert.deepEqual([answer.status, answer.body?.error.code], [404, "NOT_FOUND"], `${method} ${path}`);
  }
  assert.equal(sent(await service.call("GET", "/health")), "");
});

test("a Worker without static files answers as it did before there were any", async () => {
  const service = await serve();
  for (const path of ["/", "/index.html"]) {
    const answer = await service.call("GET", path);
    assert.deepEqual([answer.status, answer.body?.error.code], [404, "NOT_FOUND"], path);
  }
});

test("no other site may show it in a frame", { skip }, async () => {
  const page = await on.browser.newPage();
  await page.goto(`${foreign.url}/foreign/frames/worker.html`);
  const [, framed] = page.frames();
  assert.ok(framed !== undefined);
  await framed.waitForLoadState();
  assert.equal(await framed.locator("#app").count(), 0);
  await page.close();
});

/** What the policy is to refuse: what is tried in the page, and the directive that refuses it. */
const REFUSED: Readonly<Record<string, { directive: string; attempt: (foreign: string) => void }>> = {
  "an inline script": {
    directive: "script-src-elem",
    attempt: () => {
      const script = document.createElement("script");
      script.textContent = 'document.documentElement.dataset.inline = "ran"';
      document.head.append(script);
    },
  },
  "a script with the styles' nonce": {
    directive: "script-src-elem",
    attempt: () => {
      const script = document.createElement("script");
      const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
      script.nonce = nonce;
      script.textContent = 'document.documentElement.dataset.nonce = "ran"';
      document.head.append(script);
    },
  },
  "a script of another origin": {
    directive: "script-src-elem",
    attempt: (foreign) => {
      const script = document.createElement("script");
      script.src = `${foreign}/foreign/script.js`;
      document.head.append(script);
    },
  },
  "a script out of a text": {
    directive: "script-src-elem",
    attempt: () => {
      const script = document.createElement("script");
      script.src = 'data:text/javascript,document.documentElement.dataset.data="ran"';
      document.head.append(script);
    },
  },
  "a handler in an attribute": {
    directive: "script-src-attr",
    attempt: () => {
      const button = document.createElement("button");
      button.setAttribute("onclick", 'document.documentElement.dataset.attribute = "ran"');
      document.body.append(button);
      button.click();
      button.remove();
    },
  },
  eval: {
    directive: "script-src",
    // What the test itself sends to the page may evaluate; what runs later may not.
    attempt: () => {
      setTimeout(() => {
        try {
          globalThis.eval('document.documentElement.dataset.evaluated = "ran"');
        } catch {
          document.documentElement.dataset["refused"] = "eval";
        }
      });
    },
  },
  "an inline style without the nonce": {
    directive: "style-src-elem",
    attempt: () => {
      const style = document.createElement("style");
      style.textContent = "body { color: rgb(1, 2, 3) }";
      document.head.append(style);
    },
  },
  "a style in an attribute": {
    directive: "style-src-attr",
    attempt: () => document.body.setAttribute("style", "color: rgb(1, 2, 3)"),
  },
  "a stylesheet of another origin": {
    directive: "style-src-elem",
    attempt: (foreign) => {
      const link = document.createElement("link");
      link.rel = "stylesheet";
      link.href = `${foreign}/foreign/style.css`;
      document.head.append(link);
    },
  },
  "an image of another origin": {
    directive: "img-src",
    attempt: (foreign) => {
      new Image().src = `${foreign}/foreign/none.png`;
    },
  },
  "a worker out of a text": {
    directive: "worker-src",
    attempt: () => {
      new Worker(URL.createObjectURL(new Blob(["1"], { type: "text/javascript" })));
    },
  },
  "a frame": {
    directive: "frame-src",
    attempt: (foreign) => {
      const frame = document.createElement("iframe");
      frame.src = `${foreign}/foreign/style.css`;
      document.body.append(frame);
    },
  },
  "a base for the page's links": {
    directive: "base-uri",
    attempt: (foreign) => {
      const base = document.createElement("base");
      base.href = `${foreign}/`;
      document.head.append(base);
    },
  },
  "a form": {
    directive: "form-action",
    attempt: (foreign) => {
      const form = document.createElement("form");
      form.action = `${foreign}/foreign/style.css`;
      document.body.append(form);
      form.submit();
      form.remove();
    },
  },
};

/** Tries something in the page; gives the directives that refused it. */
function refusals(page: Page, attempt: (foreign: string) => void, other: string): Promise<string[]> {
  return page.evaluate(
    async ({ source, foreign }) => {
      const refused = new Promise<string[]>((give) => {
        const heard: string[] = [];
        document.addEventListener("securitypolicyviolation", function hear(event) {
          heard.push(event.effectiveDirective);
          // The header's policy and that of the page may both say so.
          setTimeout(() => {
            document.removeEventListener("securitypolicyviolation", hear);
            give(heard);
          });
        });
      });
      // Made into a function by what the test itself sends, which may.
      (globalThis.eval(`(${source})`) as (foreign: string) => void)(foreign);
      return refused;
    },
    { source: String(attempt), foreign: other },
  );
}

/** What the page does itself, and how it comes out. */
function allowed(page: Page, service: string): Promise<Record<string, unknown>> {
  return page.evaluate(async (service) => {
    const wasm = new Uint8Array([0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
    const style = document.createElement("style");
    style.nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
    style.textContent = "html { --by-nonce: applies }";
    document.head.append(style);
    const picture = (src: string) => {
      const image = new Image();
      image.src = src;
      return image.decode().then(() => image.naturalWidth);
    };
    const svg = "<svg xmlns='http://www.w3.org/2000/svg' width='3' height='3'/>";
    // It is no service worker there, which it says: it runs.
    const worker = new Worker("./sw.js");
    return {
      wasm: String(await WebAssembly.instantiate(wasm)),
      fonts: (await document.fonts.load("16px 'Inter Variable'")).map(({ status }) => status),
      style: getComputedStyle(document.documentElement).getPropertyValue("--by-nonce"),
      data: await picture(`data:image/svg+xml,${encodeURIComponent(svg)}`),
      blob: await picture(URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }))),
      worker: await new Promise((says) => worker.addEventListener("error", ({ message }) => says(message))),
      elsewhere: await fetch(`${service}/health`).then(({ status }) => status),
    };
  }, service);
}

const PLACES: Readonly<Record<string, () => string>> = {
  "the Worker": () => `${on.url}/`,
  "a host of static files": () => `${foreign.url}/`,
  "a folder of such a host": () => `${foreign.url}/page/`,
};

for (const [place, address] of Object.entries(PLACES)) {
  test(`served by ${place}, the page refuses what is not its own, and works`, { skip }, async () => {
    const context = await on.browser.newContext({ serviceWorkers: "block" });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (/policy/i.test(message.text())) complaints.push(message.text());
    });
    await page.goto(address());
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    const { worker, ...works } = await allowed(page, open.runtime.url);
    assert.deepEqual(works, {
      wasm: "[object Object]",
      fonts: ["loaded"],
      style: "applies",
      data: 3,
      blob: 3,
      elsewhere: 200,
    });
    assert.match(String(worker), /undefined/);
    assert.deepEqual(complaints, []);

    // The host of static files by its other name, which is another origin.
    const other = foreign.url.replace("127.0.0.1", "localhost");
    for (const [what, { directive, attempt }] of Object.entries(REFUSED)) {
      const heard = await refusals(page, attempt, other);
      assert.ok(heard.length > 0 && heard.every((found) => found === directive), `${what}: ${heard}`);
    }
    const { marks, color } = await page.evaluate(() => ({
      marks: { ...document.documentElement.dataset },
      color: getComputedStyle(document.body).color,
    }));
    for (const ran of ["inline", "nonce", "foreign", "data", "attribute", "evaluated"]) {
      assert.equal(marks[ran], undefined, ran);
    }
    assert.equal(marks["refused"], "eval");
    assert.notEqual(color, "rgb(1, 2, 3)");
    await context.close();
  });
}
