// What a build is made from, so that nothing is built twice; and one build at a time of the same thing.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { ROOT } from "./paths.ts";

/** Folders that stand among sources and are no part of what is built. */
const ASIDE = new Set(["tests", "benches", "node_modules", "target"]);

/** Names and contents of files and folders, relative to the root. */
export function fingerprint(paths: readonly string[]): string {
  const hash = createHash("sha256");
  const visit = (path: string): void => {
    const stat = statSync(join(ROOT, path));
    if (stat.isDirectory()) {
      for (const name of readdirSync(join(ROOT, path)).sort()) {
        if (!ASIDE.has(name)) visit(`${path}/${name}`);
      }
    } else {
      hash.update(`${path} ${stat.size}\n`).update(readFileSync(join(ROOT, path)));
    }
  };
  for (const path of paths) visit(path);
  return hash.digest("hex");
}

/** Whether the build that left this stamp was of the same. */
export function isStamped(stamp: string, wanted: string): boolean {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
}

/** Leaves a stamp. Take the fingerprint before the build: files may have changed meanwhile. */
export function leaveStamp(stamp: string, wanted: string): void {
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

/** Waits until no other process works under this lock, a folder that names its process, and works. */
export async function alone<Result>(lock: string, work: () => Result | Promise<Result>): Promise<Result> {
  const owner = join(lock, "pid");
  mkdirSync(dirname(lock), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      if (isGone(owner)) rmSync(lock, { recursive: true, force: true });
      else await setTimeout(100);
    }
  }
  try {
    writeFileSync(owner, String(process.pid));
    return await work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** Whether the process that holds a lock ended without letting go of it. */
function isGone(owner: string): boolean {
  try {
    const age = Date.now() - statSync(dirname(owner)).mtimeMs;
    if (!existsSync(owner)) return age > 5000;
    process.kill(Number(readFileSync(owner, "utf8")), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
