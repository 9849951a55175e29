// The local Workers runtime (workerd, through Miniflare) with the Worker and its database in it. `make run`, the
// tests and the benchmark all start it here.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

import { ROOT, WORKER_DIR, WWW_DIR } from "./paths.ts";

/** Kept in step with wrangler.toml by a test. */
export const COMPATIBILITY_DATE = "2026-11-01";

/** What the Worker answers itself though there are files for it: the page, to give it a nonce. Kept in step likewise. */
export const RUN_WORKER_FIRST = ["/", "/index.html"];

/** How a runtime is to be started. */
export interface RuntimeOptions {
  /** Where to listen; 0, the default, takes any free port. */
  port?: number;
  host?: string;
  /** The folder that keeps the database; without it, it is in memory. */
  data?: string;
  /** The id of the database, which names its file in `data`. */
  database?: string;
  /** Values of the Worker's settings (API_KEY, ENVIRONMENT, …). */
  settings?: Record<string, string>;
  /** Gets every line that the Worker logs; by default they are dropped. */
  onLog?: (line: string, level: string) => void;
  /** Another Worker than ours, as the text of a module. */
  script?: string;
  /** A Worker around ours, as the text of a module that imports it from `./statewright.js`. */
  around?: string;
  /** Bindings of queues, each of a queue of that name, which the Worker consumes as well: for an `around` that does. */
  queues?: string[];
  /** Whether the simulator and the console are served beside the API: they must have been built. */
  www?: boolean;
}

/** A running service. */
export interface Runtime {
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  /** Runs the cron handler for the minute that began at `scheduledTime`; by default for one pass. */
  scheduled(scheduledTime?: Date): Promise<void>;
  /** Runs one statement on its database. */
  sql(sql: string, ...params: unknown[]): Promise<Record<string, unknown>[]>;
  /** Stops it; what was committed stays in `data`. */
  stop(): Promise<void>;
}

type Modules = Extract<Parameters<typeof convertV4MiniflareOptions>[0], { modules: unknown[] }>["modules"];

function modules({ script, around }: RuntimeOptions): Modules {
  const entry = (contents: string) => ({ type: "ESModule", path: "index.js", contents }) as const;
  if (script !== undefined) return [entry(script)];
  const read = (file: string) => readFileSync(join(WORKER_DIR, file));
  const worker = { type: "ESModule", path: "statewright.js", contents: read("index.js").toString() } as const;
  const wasm = { type: "CompiledWasm", path: "index_bg.wasm", contents: read("index_bg.wasm") } as const;
  return around === undefined ? [worker, wasm] : [entry(around), worker, wasm];
}

/** Starts the runtime and waits until it listens. */
export async function startRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { onLog } = options;
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name: "statewright",
      rootPath: ROOT,
      modules: modules(options),
      compatibilityDate: COMPATIBILITY_DATE,
      host: options.host ?? "127.0.0.1",
      port: options.port ?? 0,
      bindings: options.settings ?? {},
      d1Databases: { DB: options.database ?? "statewright" },
      queueProducers: options.queues ?? [],
      queueConsumers: Object.fromEntries(
        (options.queues ?? []).map((name) => [name, { maxBatchTimeout: 0 }]),
      ),
      ...(options.www === true
        ? {
            assets: {
              directory: WWW_DIR,
              binding: "ASSETS",
              run_worker_first: RUN_WORKER_FIRST,
              routerConfig: { has_user_worker: true },
            },
          }
        : {}),
      ...(options.data === undefined ? {} : { resourcePersistencePath: options.data }),
      // Nothing is looked up on the network for a local run.
      cf: false,
      telemetry: { enabled: false },
      logRequests: false,
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: (log) => onLog?.(log.message, log.level),
    }),
  );
  try {
    const url = (await miniflare.ready).origin;
    // Miniflare types it by the runtime's own library of types, which is not loaded here.
    const worker = (await miniflare.getWorker()) as unknown as {
      scheduled(event: { scheduledTime: Date; cron: string }): Promise<unknown>;
    };
    const database = await miniflare.getD1Database("DB");
    return {
      url,
      async scheduled(scheduledTime = new Date(Date.now() - 60_000)) {
        await worker.scheduled({ scheduledTime, cron: "* * * * *" });
      },
      async sql(sql, ...params) {
        return (
          await database
            .prepare(sql)
            .bind(...params)
            .all()
        ).results;
      },
      stop: () => miniflare.dispose(),
    };
  } catch (error) {
    await miniflare.dispose().catch(() => undefined);
    throw error;
  }
}
