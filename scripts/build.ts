// Builds the Worker into build/worker with worker-build, which is given the tools that setup.mjs installed so that
// it downloads none. Does nothing when the sources are those of the last build.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { nameByPlace } from "./order.ts";
import { ROOT, WORKER_DIR } from "./paths.ts";
import { fingerprint, isStamped, leaveStamp } from "./stamp.ts";

const SOURCES = [
  "Cargo.toml",
  "Cargo.lock",
  "src/core",
  "src/engine",
  "src/service",
  "src/worker",
  "docs/openapi.json",
  "scripts/build.ts",
  "scripts/order.ts",
  "scripts/wasm-module.ts",
];
/** Puts like functions next to each other, and drops all names. */
function order(module: string, wasmOpt: string): void {
  nameByPlace(module);
  const features = ["mutable-globals", "sign-ext", "nontrapping-float-to-int", "bulk-memory", "multivalue"];
  features.push("reference-types", "exception-handling");
  const flags = features.map((feature) => `--enable-${feature}`);
  const passes = ["--reorder-functions-by-name", "--strip-debug", "--strip-producers"];
  const done = spawnSync(process.execPath, [wasmOpt, module, "-o", module, ...flags, ...passes], {
    encoding: "utf8",
  });
  if (done.status !== 0) throw new Error(`wasm-opt failed: ${done.stderr}`);
}

/** Builds the Worker unless it is built already; throws when it cannot be built. */
export function buildWorker(): void {
  const stamp = join(WORKER_DIR, ".statewright");
  const wanted = fingerprint(SOURCES);
  if (isStamped(stamp, wanted)) return;

  const tools = join(ROOT, "target", "tools", "bin");
  const packages = join(ROOT, "node_modules", ".bin");
  console.log("build: compiling the Worker");
  const built = spawnSync(join(tools, "worker-build"), ["--release", "--out-dir", "../../build/worker"], {
    cwd: join(ROOT, "src", "worker"),
    // Quiet unless it fails: its own notes name paths that help nobody.
    stdio: ["ignore", "inherit", "pipe"],
    encoding: "utf8",
    env: {
      ...process.env,
      PATH: `${packages}:${process.env["PATH"] ?? ""}`,
      WASM_BINDGEN_BIN: join(tools, "wasm-bindgen"),
      WASM_OPT_BIN: join(packages, "wasm-opt"),
      ESBUILD_BIN: join(packages, "esbuild"),
      // Two fifths off the script; what it costs in speed is lost beside the database (make bench).
      CARGO_PROFILE_RELEASE_OPT_LEVEL: "z",
      CARGO_PROFILE_RELEASE_STRIP: "symbols",
    },
  });
  if (built.status !== 0) {
    process.stderr.write(built.stderr ?? "");
    throw new Error(
      built.error ? `worker-build could not be run: ${built.error.message}` : "the build failed",
    );
  }
  order(join(WORKER_DIR, "index_bg.wasm"), join(packages, "wasm-opt"));
  // Files may have changed meanwhile: the stamp is of what was seen before.
  leaveStamp(stamp, wanted);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    buildWorker();
  } catch (error) {
    console.error(`build: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
