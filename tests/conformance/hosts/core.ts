// The pure core in the runtimes that it is for: sessions of the package's WebAssembly, and of the component.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { COMPONENT } from "../../../scripts/component.ts";
import { PACKAGE_DIR, ROOT } from "../../../scripts/paths.ts";
import { openPage } from "./chromium.ts";
import { type Reply, replay, type Script, type Sessions } from "./sessions.ts";
import { startWorker } from "./workerd.ts";

/** Sessions somewhere. */
export interface CoreHost {
  /** Plays scripts, each on a new session. */
  play(scripts: readonly Script[]): Promise<Reply[][]>;
  close(): Promise<void>;
}

/** The package in Node.js. */
export async function inNode(): Promise<CoreHost> {
  const ofPackage = createRequire(join(PACKAGE_DIR, "package.json"));
  const { simulation } = ofPackage("#simulation-wasm") as { simulation(): { WasmSession: Sessions } };
  return { play: async (scripts) => replay(simulation().WasmSession, scripts), close: async () => undefined };
}

/** The package in Chromium. */
export async function inChromium(): Promise<CoreHost> {
  const { page, close } = await openPage("session-page.ts");
  return {
    play: (scripts) =>
      page.evaluate((scripts) => {
        const { replay } = globalThis as unknown as { replay(scripts: readonly Script[]): Reply[][] };
        return replay(scripts);
      }, scripts),
    close,
  };
}

/** The package in workerd. */
export async function inWorkerd(): Promise<CoreHost> {
  const { ask, close } = await startWorker("session-worker.ts", undefined);
  return { play: (scripts) => ask("/", scripts) as Promise<Reply[][]>, close };
}

/** What jco makes of the interface `sessions`. */
interface Transpiled {
  readonly sessions: {
    readonly Session: new (
      now: bigint,
      tenant: string,
      deliver: boolean,
    ) => {
      perform(operation: string, args: string): { status: number; body: string };
      [Symbol.dispose](): void;
    };
  };
}

/** The component as a module of Node.js, which jco makes of it. */
export async function byComponent(): Promise<{ module: unknown; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  const jco = join(ROOT, "node_modules", ".bin", "jco");
  const args = ["transpile", COMPONENT, "--name", "statewright", "-o", folder, "--quiet"];
  const done = spawnSync(process.execPath, [jco, ...args], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`jco failed: ${done.stderr}`);
  const module: unknown = await import(pathToFileURL(join(folder, "statewright.js")).href);
  return { module, close: async () => rmSync(folder, { recursive: true, force: true }) };
}

/** The component in Node.js, by jco. */
export async function byJco(): Promise<CoreHost> {
  const { module, close } = await byComponent();
  const { Session } = (module as Transpiled).sessions;
  return {
    play: async (scripts) =>
      scripts.map(({ start, tenant, asked }) => {
        const session = new Session(BigInt(start), tenant, false);
        const replies = asked.map(([op, args]): Reply => {
          const { status, body } = session.perform(op.replaceAll("_", "-"), args);
          return [status, body];
        });
        session[Symbol.dispose]();
        return replies;
      }),
    close,
  };
}

/** The component under wasmtime, from Python. */
export async function byWasmtime(): Promise<CoreHost> {
  const python = join(ROOT, "target", "venv", "bin", "python");
  const program = join(ROOT, "tests", "conformance", "hosts", "component.py");
  const child = spawn(python, [program, COMPONENT], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async play(scripts) {
      child.stdin.write(`${JSON.stringify(scripts)}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the program ended");
      return JSON.parse(value) as Reply[][];
    },
    async close() {
      child.stdin.end();
    },
  };
}
