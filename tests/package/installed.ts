// The package as its users get it: packed, and installed from the tarball into a project of their own.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { PACKAGE_DIR, ROOT } from "../../scripts/paths.ts";

const CONSUMERS = join(import.meta.dirname, "consumers");
/** What all of them do. */
export const SHARED = join(CONSUMERS, "shared");

/** A packed package. */
export interface Tarball {
  readonly file: string;
  /** Removes it. */
  remove(): void;
}

/** A project that has the package installed. */
export interface Project {
  readonly folder: string;
  /** Runs a command in it; throws what it printed unless it succeeds. */
  run(command: string, ...args: string[]): string;
  /** Removes it. */
  remove(): void;
}

/** Packs the built package. */
export function pack(): Tarball {
  const folder = mkdtempSync(join(tmpdir(), "statewright-pack-"));
  execute(PACKAGE_DIR, "npm", "pack", "--silent", "--pack-destination", folder);
  const [name] = readdirSync(folder);
  assert.ok(name !== undefined);
  return { file: join(folder, name), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * A copy of the project `consumers/<name>` with the packed package installed, and with packages of this repository where the
 * project would have installed its own.
 */
export function install(name: string, { beside = [] }: { beside?: readonly string[] } = {}): Project {
  const tarball = pack();
  const folder = mkdtempSync(join(tmpdir(), `statewright-${name}-`));
  cpSync(join(CONSUMERS, name), folder, { recursive: true });
  // The one dependency is in npm's cache since the repository was set up.
  const quiet = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  writeFileSync(join(folder, ".npmrc"), "update-notifier=false\n");
  execute(folder, "npm", "install", "--no-save", "--legacy-peer-deps", ...quiet, tarball.file);
  tarball.remove();
  for (const other of beside) link(folder, other);
  return {
    folder,
    run: (command, ...args) => execute(folder, command, ...args),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Lets a project have one of the repository's packages. */
function link(folder: string, name: string): void {
  const place = join(folder, "node_modules", name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(ROOT, "node_modules", name), place);
}

function execute(folder: string, command: string, ...args: string[]): string {
  // Not what npm or the test runner say of themselves to those that they start.
  const env = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_/i.test(name));
  const run = spawnSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...Object.fromEntries(env), WRANGLER_SEND_METRICS: "false" },
    maxBuffer: 64 * 1024 * 1024,
  });
  assert.equal(run.status, 0, `${command} ${args.join(" ")}\n${run.error ?? ""}${run.stdout}${run.stderr}`);
  return run.stdout;
}
