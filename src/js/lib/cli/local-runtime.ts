// The local Workers runtime with the prebuilt Worker in it: Miniflare, which wrangler brings into the user's project.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { PACKAGE } from "./package.ts";
import { Refusal } from "./refusal.ts";

/** How the runtime is started. */
export interface RuntimeOptions {
  readonly host: string;
  readonly port: number;
  /** The folder that keeps the database. */
  readonly data: string;
  /** The Worker's variables. */
  readonly settings: Readonly<Record<string, string>>;
  readonly onLog: (line: string) => void;
}

/** A running service. */
export interface Runtime {
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  /** Where the simulator and the console are; the package of a repository may be without. */
  readonly page: string | undefined;
  /** Runs the cron handler: one pass over timers and outbox. */
  scheduled(): Promise<void>;
  stop(): Promise<void>;
}

/** What is used of Miniflare. */
interface Miniflare {
  readonly ready: Promise<URL>;
  getWorker(): Promise<{ scheduled(event: { scheduledTime: Date; cron: string }): Promise<unknown> }>;
  dispose(): Promise<void>;
}

interface MiniflareModule {
  readonly Miniflare: new (options: object) => Miniflare;
  readonly Log: new (level: number) => object;
  readonly LogLevel: { readonly NONE: number };
  /** Of versions from 5 on, which take options in another form. */
  readonly convertV4MiniflareOptions?: (options: object) => object;
}

const COMPATIBILITY_DATE = "2026-11-01";

/** The simulator and the console: files, but for the page, which the Worker gives a nonce. */
const ASSETS = {
  directory: PACKAGE.www,
  binding: "ASSETS",
  run_worker_first: ["/", "/index.html"],
  // Versions before 5 know the paths by this alone.
  routerConfig: { has_user_worker: true, static_routing: { user_worker: ["/", "/index.html"] } },
};

/** Miniflare as the project has it: by itself, or through wrangler. */
async function miniflareOf(project: string): Promise<MiniflareModule> {
  const fromProject = createRequire(join(project, "package.json"));
  const ways = [
    () => fromProject.resolve("miniflare"),
    () => createRequire(fromProject.resolve("wrangler/package.json")).resolve("miniflare"),
    // Where the command runs from another place than the project: `npx --package`.
    () => createRequire(PACKAGE.manifest).resolve("miniflare"),
  ];
  for (const way of ways) {
    let path;
    try {
      path = way();
    } catch {
      continue;
    }
    const module = (await import(pathToFileURL(path).href)) as {
      default?: MiniflareModule;
    } & MiniflareModule;
    return module.Miniflare === undefined ? (module.default ?? module) : module;
  }
  throw new Refusal("`dev` runs the service on the Workers runtime, which is not installed here", {
    hints: ["It comes with wrangler: npm install --save-dev wrangler"],
  });
}

/** Starts the prebuilt Worker and waits until it listens. */
export async function startRuntime(project: string, options: RuntimeOptions): Promise<Runtime> {
  const { Miniflare, Log, LogLevel, convertV4MiniflareOptions } = await miniflareOf(project);
  const read = (file: string) => {
    const path = join(PACKAGE.worker, file);
    if (!existsSync(path)) throw new Refusal(`the package lacks its Worker, \`${path}\`; install it again`);
    return readFileSync(path);
  };
  const given = {
    name: "statewright",
    modules: [
      { type: "ESModule", path: "index.js", contents: read("index.js").toString() },
      { type: "CompiledWasm", path: "index_bg.wasm", contents: read("index_bg.wasm") },
    ],
    compatibilityDate: COMPATIBILITY_DATE,
    host: options.host,
    port: options.port,
    bindings: options.settings,
    d1Databases: { DB: "statewright" },
    ...(existsSync(PACKAGE.www) ? { assets: ASSETS } : {}),
    // Nothing is looked up on the network for a local run.
    cf: false,
    telemetry: { enabled: false },
    logRequests: false,
    log: new Log(LogLevel.NONE),
    handleStructuredLogs: ({ message }: { message: string }) => options.onLog(message),
  };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions === undefined
      ? { ...given, d1Persist: join(options.data, "d1") }
      : convertV4MiniflareOptions({
          ...given,
          rootPath: PACKAGE.worker,
          resourcePersistencePath: options.data,
        }),
  );
  try {
    const url = (await miniflare.ready).origin;
    const worker = await miniflare.getWorker();
    return {
      url,
      page: existsSync(PACKAGE.www) ? `${url}/` : undefined,
      async scheduled() {
        await worker.scheduled({ scheduledTime: new Date(Date.now() - 60_000), cron: "* * * * *" });
      },
      stop: () => miniflare.dispose(),
    };
  } catch (error) {
    await miniflare.dispose().catch(() => undefined);
    throw error;
  }
}
