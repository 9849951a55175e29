// Builds the simulator and the console into build/www: files that any host of static files can serve; and puts them into the npm
// package, which they are built with. Does nothing when the sources are those of the last build.

import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { build } from "vite";

import { buildPackage, packWww } from "./package.ts";
import { ROOT, WWW_DIR } from "./paths.ts";
import { alone, fingerprint, isStamped, leaveStamp } from "./stamp.ts";

const SOURCES = [
  "www",
  "docs/machine.schema.json",
  "build/package/esm",
  "build/package/wasm",
  "package-lock.json",
  "scripts/www.ts",
];

/** Beside the folder, not in it: all that is in it is served. */
const STAMP = `${WWW_DIR}.statewright`;

/** Builds it with the package that was built last, unless it is built already; throws when it cannot be built. */
export async function buildWww(): Promise<void> {
  if (process.env["WWW_DIR"] !== undefined) return;
  await alone(`${WWW_DIR}.lock`, async () => {
    const wanted = fingerprint(SOURCES);
    if (!isStamped(STAMP, wanted)) {
      console.log("build: bundling the simulator and the console");
      await build({ root: join(ROOT, "www"), logLevel: "warn" });
      leaveStamp(STAMP, wanted);
    }
    packWww();
  });
}

/** Builds what it needs of the package. */
export function buildPackageForWww(): Promise<void> {
  return buildPackage({ js: true, needed: ["core", "simulation"] });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await buildPackageForWww();
    await buildWww();
  } catch (error) {
    console.error(`build: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
