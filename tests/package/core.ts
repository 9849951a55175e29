// The core's WebAssembly as the package holds it, to compare with.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { PACKAGE_DIR } from "../../scripts/paths.ts";

/** A machine of the core: JSON in, JSON out. */
export interface Core {
  send(snapshot: string, event: string, now: number, history?: string): string;
  create(id: string, context: string, now: number): string;
  advance(snapshot: string, now: number): string;
  free(): void;
}

interface Bindings {
  readonly WasmMachine: { compile(definitions: string): Core; readonly prototype: Core };
  initSync(): { readonly memory: { readonly buffer: ArrayBuffer } };
}

const loader = pathToFileURL(join(PACKAGE_DIR, "esm", "wasm", "core.node.js"));
const { core: bindings } = (await import(loader.href)) as { core: () => Bindings };

/** The core's bindings, and its memory. */
export function core(): { readonly WasmMachine: Bindings["WasmMachine"]; memory(): ArrayBuffer } {
  const { WasmMachine, initSync } = bindings();
  return { WasmMachine, memory: () => initSync().memory.buffer };
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes of the heap that are in use, when nothing more can be collected. */
export function settledHeap(): number {
  for (let round = 0; round < 4; round += 1) collect();
  return process.memoryUsage().heapUsed;
}
