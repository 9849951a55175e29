// `statewright/worker` in a project as `init` writes it: wrangler bundles it, migrates its database, and it serves; so it
// does with hooks around it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

import { build } from "esbuild";
import { checkScenario, type Scenario } from "statewright";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

import { PACKAGE_DIR, ROOT } from "../../scripts/paths.ts";
import { COMPATIBILITY_DATE, RUN_WORKER_FIRST } from "../../scripts/runtime.ts";
import { createClient, StatewrightError } from "../../src/js/lib/client.ts";
import { blocks, read } from "../docs/markdown.ts";
import { order } from "../http/support.ts";

const TEMPLATES = join(ROOT, "src", "js", "templates");
const KEY = "worker-key";

/** A project with the files of `init` and the package installed; others of its files in place of the template's. */
function project(name: string, own: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), `statewright-${name}-`));
  after(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of readdirSync(TEMPLATES, { recursive: true, encoding: "utf8" })) {
    if (!/\.\w+$|_gitignore$/.test(path)) continue;
    const text = readFileSync(join(TEMPLATES, path), "utf8");
    const target = join(folder, path.replace(/(^|\/)_/, "$1."));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text.replaceAll("__NAME__", name).replaceAll("__VERSION__", "0.1.0"));
  }
  for (const [path, text] of Object.entries(own)) writeFileSync(join(folder, path), text);
  const modules = join(folder, "node_modules");
  cpSync(PACKAGE_DIR, join(modules, "statewright"), { recursive: true });
  for (const other of ["wrangler", "openapi-fetch"]) {
    symlinkSync(join(ROOT, "node_modules", other), join(modules, other));
  }
  return folder;
}

function wrangler(folder: string, ...args: string[]): string {
  const command = join(ROOT, "node_modules", ".bin", "wrangler");
  const run = spawnSync(process.execPath, [command, ...args], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" },
  });
  assert.equal(run.status, 0, `${run.stdout}${run.stderr}`);
  return run.stdout;
}

/** The modules of a bundle. */
function modulesOf(bundle: string) {
  const files = readdirSync(bundle).filter((file) => /\.(js|wasm)$/.test(file));
  return files
    .sort((one) => (one === "index.js" ? -1 : 1))
    .map((path) => {
      const contents = readFileSync(join(bundle, path));
      return path.endsWith(".wasm")
        ? ({ type: "CompiledWasm", path, contents } as const)
        : ({ type: "ESModule", path, contents: contents.toString() } as const);
    });
}

/** Runs a bundle until the tests are over. */
async function serveBundle(bundle: string, variables: Record<string, string>, more: object = {}) {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name: "project",
      modules: modulesOf(bundle),
      compatibilityDate: COMPATIBILITY_DATE,
      bindings: { API_KEY: KEY, LOG_LEVEL: "error", ...variables },
      d1Databases: { DB: "00000000-0000-0000-0000-000000000000" },
      cf: false,
      telemetry: { enabled: false },
      logRequests: false,
      log: new Log(LogLevel.NONE),
      ...more,
    }),
  );
  after(() => miniflare.dispose());
  const url = (await miniflare.ready).origin;
  const scheduled = async (cron: string, scheduledTime = new Date(Date.now() - 60_000)) => {
    const worker = (await miniflare.getWorker()) as unknown as {
      scheduled(event: { scheduledTime: Date; cron: string }): Promise<unknown>;
    };
    await worker.scheduled({ scheduledTime, cron });
  };
  const client = (tenant = "demo") => createClient({ url, apiKey: KEY, tenant });
  return { url, scheduled, client };
}

/** Runs the Worker that wrangler would deploy, with the database that it migrated. */
async function deploy(folder: string, more: object = {}) {
  const shown = wrangler(folder, "deploy", "--dry-run", "--outdir", "bundle");
  wrangler(folder, "d1", "migrations", "apply", "DB", "--local", "--persist-to", "local");
  const kept = { resourcePersistencePath: join(folder, "local", "v3"), ...more };
  return { shown, ...(await serveBundle(join(folder, "bundle"), { ENVIRONMENT: "production" }, kept)) };
}

test("a project of the templates deploys the service, with its database migrated from the package", async () => {
  const folder = project("shop");
  const lines = readFileSync(join(folder, "src/index.ts"), "utf8").trimEnd().split("\n");
  assert.ok(lines.length <= 3, "three lines");
  const { shown, client: clientOf, url } = await deploy(folder);
  const client = clientOf();
  assert.match(shown, /env\.DB \(shop\)/);
  assert.match(shown, /env\.ENVIRONMENT \("production"\)/);

  const definition = JSON.parse(readFileSync(join(folder, "machines/order.json"), "utf8")) as typeof order;
  const { valid, warnings } = await client.machines.validate(definition);
  assert.deepEqual([valid, warnings], [true, []]);
  await client.machines.create(definition);
  await client.entities.create("order", { entity_id: "o-1" });
  const event = { event_type: "pay", params: { amount: 1 } };
  assert.equal((await client.entities.transition("order", "o-1", event)).transition, "placed → paid");
  const stranger = createClient({ url, apiKey: "wrong", tenant: "demo" });
  await assert.rejects(stranger.machines.list(), (error: StatewrightError) => error.code === "UNAUTHORIZED");
});

test("the templates say what the rest of the repository says", () => {
  const read = (path: string) => readFileSync(join(TEMPLATES, path), "utf8");
  const config = read("wrangler.toml");
  assert.match(config, new RegExp(`^compatibility_date = "${COMPATIBILITY_DATE}"$`, "m"));
  const ours = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  for (const line of config.matchAll(/^[A-Z_]+ = ".*"$/gm)) assert.ok(ours.includes(line[0]), line[0]);
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  assert.ok(read("package.json").includes(`"wrangler": "^${devDependencies["wrangler"]}"`));
  const scenario = JSON.parse(read("scenarios/order.json")) as Scenario;
  assert.deepEqual(scenario.machines, [JSON.parse(read("machines/order.json"))]);
  assert.deepEqual(checkScenario(scenario), { passed: true, steps: 6, failures: [] });
});

const HOOKED = `
import { DurableObject } from "cloudflare:workers";
import { createClient } from "statewright/client";
import { createWorker } from "statewright/worker";

const seen: string[] = [];

export class Counter extends DurableObject {
  async next(): Promise<number> {
    const value = ((await this.ctx.storage.get<number>("value")) ?? 0) + 1;
    await this.ctx.storage.put("value", value);
    return value;
  }
}

export default createWorker({
  async fetch(request: Request, env: any, context, next) {
    const { pathname } = new URL(request.url);
    if (pathname === "/hello") return new Response("Hello");
    if (pathname === "/seen") return Response.json(seen);
    if (pathname === "/count") return Response.json(await env.COUNTER.getByName("one").next());
    if (pathname === "/queue") return new Response(await env.OWN.send("one"));
    if (pathname === "/none") return next(null as any);
    if (pathname === "/fail") throw new Error("a hook's own");
    if (pathname === "/states") {
      const service = createClient({ url: request.url.replace(/states$/, ""), apiKey: env.API_KEY, tenant: "demo", fetch: next });
      return Response.json(await service.machines.counts("order"));
    }
    if (pathname === "/tenants") {
      const tenant = "Zoë 日本";
      const by = { url: request.url.replace(/tenants$/, ""), apiKey: env.API_KEY, tenant };
      const far = createClient(by);
      const near = createClient({ ...by, fetch: next });
      const ids: string[] = [];
      for (const { machines } of [far, near]) {
        for await (const { machine_id, tenant_id } of machines.list()) ids.push(machine_id + " " + tenant_id);
      }
      return Response.json(ids);
    }
    if (pathname.startsWith("/flows/")) {
      return next(new Request(request.url.replace("/flows/", "/"), request));
    }
    const response = await next();
    if (response.status !== 404 || pathname.startsWith("/api/")) return response;
    return new Response("nothing here", { status: 404, headers: { "x-own": "yes" } });
  },
  async scheduled(event, env, context, next) {
    seen.push(event.cron);
    if (event.cron === "* * * * *") await next();
  },
  queue() {
    seen.push("queue");
  },
});
`;

test("hooks answer before the service and after it, and what they do not touch is the service's", async () => {
  const folder = project("hooked", { "src/index.ts": HOOKED });
  const {
    url,
    client: clientOf,
    scheduled,
  } = await deploy(folder, {
    durableObjects: { COUNTER: "Counter" },
    queueConsumers: { own: { maxBatchTimeout: 0 } },
    queueProducers: { OWN: "own" },
  });
  const client = clientOf();
  const get = (path: string) => fetch(url + path);
  const text = async (path: string) => (await get(path)).text();

  assert.equal(await text("/hello"), "Hello");
  const lost = await get("/nowhere");
  assert.deepEqual([lost.status, lost.headers.get("x-own")], [404, "yes"]);
  assert.equal((await get("/api/machines")).status, 401, "the service's key is asked for as ever");
  assert.equal((await get("/fail")).status, 500);
  assert.equal((await get("/none")).status, 404, "none in the request's place is the request");

  const timed = {
    ...order,
    transitions: [
      ...order.transitions,
      { from: "pending", to: "shipped", on: "$timeout", guard: { after_ms: 1 } },
    ],
  };
  await client.machines.create(timed);
  await client.entities.create("order", { entity_id: "o-1" });
  const mounted = createClient({ url: `${url}/flows`, apiKey: KEY, tenant: "demo" });
  const { transition } = await mounted.entities.transition("order", "o-1", { event_type: "nothing" });
  assert.equal(transition, null);
  await client.entities.create("order", { entity_id: "o-2" });
  await clientOf("Zoë 日本").machines.create(order);
  assert.deepEqual(JSON.parse(await text("/tenants")), ["order Zoë 日本", "order Zoë 日本"]);
  assert.equal(await text("/count"), "1");
  assert.equal(await text("/count"), "2", "a Durable Object of the same module");

  await scheduled("0 3 * * *");
  const pending = (await client.machines.counts("order")).find(({ state }) => state === "pending");
  assert.equal(pending?.entities, 1, "a trigger of one's own is no pass over timers");
  await scheduled("* * * * *");
  assert.deepEqual(JSON.parse(await text("/states")), [{ region: "_", state: "shipped", entities: 2 }]);
  assert.deepEqual(JSON.parse(await text("/seen")), ["0 3 * * *", "* * * * *"]);
  await get("/queue");
  for (let tries = 0; !(await text("/seen")).includes("queue"); tries += 1) {
    assert.ok(tries < 100, "a handler of another kind");
    await new Promise((wait) => setTimeout(wait, 50));
  }
});

test("the page is at /, and a hook that answers there comes before it", async () => {
  const hooks = `import { createWorker } from "statewright/worker";
export default createWorker({
  async fetch(request, env, context, next) {
    if (new URL(request.url).pathname !== "/index.html") return next();
    const page = await next();
    return new Response("mine, in place of " + page.headers.get("content-type"));
  },
});`;
  const folder = project("paged", { "src/index.ts": hooks });
  const toml = readFileSync(join(folder, "wrangler.toml"), "utf8");
  const directory = /^directory = "(.*)"$/m.exec(toml)?.[1] ?? "";
  const assets = {
    directory: join(folder, directory),
    binding: "ASSETS",
    run_worker_first: RUN_WORKER_FIRST,
  };
  const { url, shown } = await deploy(folder, {
    assets: { ...assets, routerConfig: { has_user_worker: true } },
  });
  assert.match(shown, /env\.ASSETS/);
  const page = await fetch(`${url}/`);
  assert.match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'$/);
  const [, script = ""] = /<script [^>]*src="\.(\/assets\/[^"]+)"/.exec(await page.text()) ?? [];
  const entry = await fetch(url + script);
  assert.equal(entry.status, 200);
  assert.match(entry.headers.get("cache-control") ?? "", /immutable/);
  assert.equal(await (await fetch(`${url}/index.html`)).text(), "mine, in place of text/html; charset=utf-8");
  assert.equal((await fetch(`${url}/api/machines`)).status, 401);
});

/** A Worker of docs/worker-package.md, by what its code has. */
async function shown(part: string, variables: Record<string, string> = {}) {
  const found = blocks(read("docs/worker-package.md")).filter(
    ({ language, text }) => language === "ts" && text.includes(part),
  );
  assert.equal(found.length, 1, part);
  const folder = project("shown", { "src/index.ts": found[0]?.text ?? "" });
  await build({
    entryPoints: [join(folder, "src", "index.ts")],
    outdir: join(folder, "bundle"),
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    loader: { ".wasm": "copy" },
    logLevel: "error",
  });
  return serveBundle(join(folder, "bundle"), { ENVIRONMENT: "development", ...variables });
}

test("docs/worker-package.md: routes before the service, in its place, under another path and after it", async () => {
  const { url, client } = await shown("There is nothing here", { STATUS_TOKEN: "open" });
  const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers });
  assert.equal(await (await get("/hello")).text(), "Hello");
  assert.equal((await get("/api/scheduler")).status, 403);
  const known = { "x-token": "open", authorization: `Bearer ${KEY}`, "x-tenant-id": "demo" };
  assert.equal((await get("/api/scheduler", known)).status, 200);
  await client().machines.create(order);
  const mounted = createClient({ url: `${url}/flows`, apiKey: KEY, tenant: "demo" });
  assert.equal((await mounted.machines.get("order")).revision, 1);
  assert.equal(await (await get("/nowhere")).text(), "There is nothing here.");
  assert.equal((await get("/api/nowhere", known)).headers.get("content-type"), "application/json");
});

test("docs/worker-package.md: a route calls the service, and a trigger of one's own goes without it", async () => {
  const { url, client } = await shown("/checkout");
  await client("shop").machines.create(order);
  const body = JSON.stringify({ id: "o-1", amount: 5 });
  const paid = await fetch(`${url}/checkout`, { method: "POST", body });
  assert.deepEqual(await paid.json(), { id: "o-1", state: "paid" });

  const timed = await shown("a night has passed");
  const { machines, entities } = timed.client();
  const timeout = { from: "pending", to: "shipped", on: "$timeout", guard: { after_ms: 1 } };
  await machines.create({ ...order, transitions: [...order.transitions, timeout] });
  await entities.create("order", { entity_id: "o-1" });
  const state = async () => (await entities.get("order", "o-1")).current_state;
  await timed.scheduled("0 3 * * *");
  assert.equal(await state(), "pending");
  await timed.scheduled("* * * * *");
  assert.equal(await state(), "shipped");
});

test("elsewhere, importing it says what to import instead", () => {
  for (const script of ['import "statewright/worker"', 'require("statewright/worker")']) {
    const type = script.startsWith("import") ? "module" : "commonjs";
    const args = [`--input-type=${type}`, "--eval", script];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(stderr, /runs on Cloudflare's workerd alone.*statewright\/engine/);
  }
});
