// Runs the built command as a user would: in a folder of its own, by its file, its streams in pipes.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { pathToFileURL } from "node:url";

import { buildPackage } from "../../scripts/package.ts";
import { PACKAGE_DIR, ROOT } from "../../scripts/paths.ts";

// The WebAssembly is that of the last build; `make build` makes it.
await buildPackage({ js: true });

/** The built command. */
export const BIN = join(PACKAGE_DIR, "esm", "cli", "main.js");

/** All commands, as the built command has them. */
export const { COMMANDS } = (await import(
  pathToFileURL(join(PACKAGE_DIR, "esm", "cli", "commands.js")).href
)) as typeof import("../../src/js/lib/cli/commands.ts");

/** What a run said, and how it ended. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command is run. */
export interface Options {
  /** What is written to its standard input. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A folder with files in it, and the command in it. Removed at its end. */
export class Folder {
  readonly path: string;

  constructor(files: Readonly<Record<string, unknown>> = {}) {
    this.path = realpathSync(mkdtempSync(join(tmpdir(), "statewright-cli-")));
    for (const [name, content] of Object.entries(files)) this.write(name, content);
  }

  /** A folder that is removed when the test has ended. */
  static of(test: TestContext, files: Readonly<Record<string, unknown>> = {}): Folder {
    const folder = new Folder(files);
    test.after(() => folder.remove());
    return folder;
  }

  /** Writes a file: a text as it is, anything else as JSON. */
  write(name: string, content: unknown): void {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }

  /** Lets the folder find the packages of the repository, as if they were installed in it. */
  install(): void {
    symlinkSync(join(ROOT, "node_modules"), join(this.path, "node_modules"));
  }

  /** Runs the command with these arguments. */
  run(args: readonly string[], { input = "", env = {} }: Options = {}): Promise<Ran> {
    const child = this.start(args, env);
    child.stdin.end(input);
    return ended(child);
  }

  /** Starts the command, and leaves it running. */
  start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const { NO_COLOR: _no, FORCE_COLOR: _force, ...inherited } = process.env;
    return spawn(process.execPath, [BIN, ...args], { cwd: this.path, env: { ...inherited, ...env } });
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Waits until a process has ended. */
export function ended(child: ReturnType<Folder["start"]>): Promise<Ran> {
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (part: Buffer) => (stdout += part.toString()));
  child.stderr.on("data", (part: Buffer) => (stderr += part.toString()));
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("close", (code) => done({ code, stdout, stderr }));
  });
}

/** A machine that most tests use. */
export const ORDER = {
  machine_id: "order",
  states: ["placed", "paid", "shipped", "cancelled"],
  initial_state: "placed",
  transitions: [
    { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 10 } },
    { from: "paid", to: "shipped", on: "ship" },
    { from: "placed", to: "cancelled", on: "$timeout", guard: { timeout_seconds: 86_400 } },
  ],
  actions: [{ on_enter: "shipped", action: { type: "event", event_type: "order.shipped" } }],
};

/** A machine with a child. */
export const TRIP = [
  {
    machine_id: "trip",
    states: ["booked", "away", "home"],
    initial_state: "booked",
    transitions: [{ from: "booked", to: "away", on: "leave" }],
    sub_machines: { away: { machine_id: "leg", lifecycle: "managed", on_final: { there: "home" } } },
  },
  {
    machine_id: "leg",
    states: ["train", "there"],
    initial_state: "train",
    transitions: [{ from: "train", to: "there", on: "arrive" }],
  },
];
