// workerd with one of this folder's modules.

import { readFileSync } from "node:fs";

import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

import { ROOT } from "../../../scripts/paths.ts";
import { COMPATIBILITY_DATE } from "../../../scripts/runtime.ts";
import { bundle } from "./bundle.ts";

/** A running module. */
export interface Running {
  /** Asks something as JSON. */
  ask(path: string, asked: unknown, headers?: Record<string, string>): Promise<unknown>;
  close(): Promise<void>;
}

/** Starts a module, with an object namespace and a database where it has a class for them. */
export async function startWorker(entry: string, objects: string | undefined): Promise<Running> {
  const { code, wasm } = await bundle(entry, ["workerd", "worker"]);
  const modules = [...wasm].map(
    ([name, file]) => ({ type: "CompiledWasm", path: name.slice(2), contents: readFileSync(file) }) as const,
  );
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name: "conformance",
      rootPath: ROOT,
      modules: [{ type: "ESModule", path: "index.js", contents: code }, ...modules],
      compatibilityDate: COMPATIBILITY_DATE,
      host: "127.0.0.1",
      port: 0,
      d1Databases: { DB: "conformance" },
      ...(objects === undefined
        ? {}
        : { durableObjects: { OBJECTS: { className: objects, useSQLite: true } } }),
      cf: false,
      telemetry: { enabled: false },
      logRequests: false,
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: () => undefined,
    }),
  );
  const url = (await miniflare.ready).origin;
  return {
    async ask(path, asked, headers = {}) {
      const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(asked) });
      if (answer.status !== 200) throw new Error(`workerd answered ${answer.status}: ${await answer.text()}`);
      return answer.json();
    },
    close: () => miniflare.dispose(),
  };
}
