// `statewright/engine` in the runtimes that it is for, as hosts of the vectors. Cases are run where the engine is.

import { memory } from "statewright/engine";

import { type Case, runCases } from "../vectors.ts";
import { openPage } from "./chromium.ts";
import { InProcess } from "./in-process.ts";
import { startWorker } from "./workerd.ts";

/** What came of cases. */
export interface Ran {
  readonly runs: number;
  readonly failures: string[];
}

/** An engine somewhere. */
export interface EngineHost {
  run(cases: readonly Case[]): Promise<Ran>;
  close(): Promise<void>;
}

/** In Node.js, over node:sqlite. */
export async function inNode(): Promise<EngineHost> {
  const host = new InProcess(() => memory());
  return { run: (cases) => runCases(host, cases), close: async () => undefined };
}

/** In Chromium, over sql.js. */
export async function inChromium(): Promise<EngineHost> {
  const { page, close } = await openPage("page.ts");
  return {
    run: (cases) =>
      page.evaluate((cases) => {
        const { run } = globalThis as unknown as { run(cases: string): Promise<Ran> };
        return run(cases);
      }, JSON.stringify(cases)),
    close,
  };
}

/** In workerd: in a Durable Object, or over D1. */
export async function inWorkerd(kind: "object" | "d1"): Promise<EngineHost> {
  const { ask, close } = await startWorker("worker.ts", "Engine");
  return { run: (cases) => ask(`/${kind}`, cases) as Promise<Ran>, close };
}
