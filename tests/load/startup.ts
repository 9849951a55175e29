// What the Worker weighs, and the CPU that it takes before its first request.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { WORKER_DIR } from "../../scripts/paths.ts";
import { startRuntime } from "../../scripts/runtime.ts";
import { median } from "./client.ts";

/** Bytes of the Worker's modules, gzipped. */
export function gzippedBytes(): number {
  const size = (file: string) => gzipSync(readFileSync(join(WORKER_DIR, file)), { level: 9 }).length;
  return size("index_bg.wasm") + size("index.js");
}

/** CPU milliseconds of every runtime that this process started; undefined where the system does not tell. */
export function runtimeCpu(): number | undefined {
  let nanos = 0;
  try {
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        // After the command in parentheses: state, parent.
        const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
        if (Number(parent) !== process.pid) continue;
        for (const thread of readdirSync(`/proc/${pid}/task`))
          nanos += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
      } catch {
        // It ended meanwhile.
      }
    }
  } catch {
    return undefined;
  }
  return nanos === 0 ? undefined : nanos / 1e6;
}

const EMPTY = "export default { fetch() { return new Response('ok'); } };";

/** CPU milliseconds from the start of a runtime to its first answer. The path needs no database. */
async function started(script: string | undefined): Promise<number | undefined> {
  const runtime = await startRuntime({
    settings: { ENVIRONMENT: "development" },
    ...(script === undefined ? {} : { script }),
  });
  try {
    await (await fetch(`${runtime.url}/health`)).text();
    return runtimeCpu();
  } finally {
    await runtime.stop();
  }
}

/**
 * CPU milliseconds that the Worker adds to the start of a runtime and its first answer, beside an empty Worker:
 * compiling, instantiating and the first run of cold code. Undefined where the system does not tell.
 */
export async function startupCpu(rounds: number): Promise<number | undefined> {
  const ours: number[] = [];
  const empty: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [script, list] of [
      [EMPTY, empty],
      [undefined, ours],
    ] as const) {
      const cpu = await started(script);
      if (cpu === undefined) return undefined;
      list.push(cpu);
    }
  }
  return median(ours) - median(empty);
}
