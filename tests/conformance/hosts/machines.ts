// Machines and snapshots in the runtimes that they are for: `statewright`, and the component.

import { byComponent } from "./core.ts";
import { openPage } from "./chromium.ts";
import { compileBy, type Machines } from "./component-machine.ts";
import { compile } from "./package-machine.ts";
import { type Told, walk, type Walked } from "./walk.ts";
import { startWorker } from "./workerd.ts";

/** Machines somewhere. */
export interface MachineHost {
  walk(scripts: readonly Told[]): Promise<Walked>;
  close(): Promise<void>;
}

/** `statewright` in Node.js. */
export async function inNode(): Promise<MachineHost> {
  return { walk: async (scripts) => walk(compile, scripts), close: async () => undefined };
}

/** `statewright` in Chromium. */
export async function inChromium(): Promise<MachineHost> {
  const { page, close } = await openPage("machine-page.ts");
  return {
    walk: (scripts) =>
      page.evaluate((scripts) => {
        const { walk } = globalThis as unknown as { walk(scripts: readonly Told[]): Walked };
        return walk(scripts);
      }, scripts),
    close,
  };
}

/** `statewright` in workerd. */
export async function inWorkerd(): Promise<MachineHost> {
  const { ask, close } = await startWorker("machine-worker.ts", undefined);
  return { walk: (scripts) => ask("/", scripts) as Promise<Walked>, close };
}

/** The component's typed records in Node.js, by jco. */
export async function byJco(): Promise<MachineHost> {
  const { module, close } = await byComponent();
  const { machines } = module as { machines: Machines };
  return { walk: async (scripts) => walk(compileBy(machines), scripts), close };
}
