// Builds the crates under src/js into build/wasm: a crate's WebAssembly, and the bindings that wasm-bindgen makes for it.
// Does nothing when the sources are those of the last build.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";

import { nameByPlace } from "./order.ts";
import { trapPanics } from "./panics.ts";
import { ROOT, WASM_DIR } from "./paths.ts";
import { alone, fingerprint, isStamped, leaveStamp } from "./stamp.ts";

/** A crate of the package, and how it is built. */
interface Crate {
  readonly name: string;
  readonly sources: readonly string[];
  /** Cargo's level: what the others cost in size, tests/package/size.test.ts would say. */
  readonly level: "s" | "z" | "2" | "3";
}

/** The crates of the package, by the name that their WebAssembly has there. */
export const CRATES = {
  core: {
    name: "statewright-js-core",
    sources: ["src/core", "src/js/core", "src/js/instance", "src/js/text"],
    level: "z",
  },
  simulation: {
    name: "statewright-js-simulation",
    sources: ["src/core", "src/js/simulation", "src/js/text"],
    level: "z",
  },
  engine: {
    name: "statewright-js-engine",
    sources: ["src/core", "src/engine", "src/service", "src/js/engine", "docs/openapi.json"],
    // At "z" the engine reaches 0.37 of its bare statements' rate, at "3" 0.48.
    level: "3",
  },
} as const satisfies Record<string, Crate>;

/** The name of a crate of the package. */
export type CrateName = keyof typeof CRATES;

/** What every one of them depends on. */
const SHARED = [
  "Cargo.toml",
  "Cargo.lock",
  "scripts/wasm.ts",
  "scripts/order.ts",
  "scripts/panics.ts",
  "scripts/wasm-module.ts",
];
const TARGET = "wasm32-unknown-unknown";
const FEATURES = [
  "bulk-memory",
  "multivalue",
  "mutable-globals",
  "nontrapping-float-to-int",
  "reference-types",
  "sign-ext",
];

/** The files of a built crate. */
export function wasmFiles(crate: CrateName): { wasm: string; bindings: string; types: string } {
  const folder = join(WASM_DIR, crate);
  return {
    wasm: join(folder, `${crate}.wasm`),
    bindings: join(folder, `${crate}.js`),
    types: join(folder, `${crate}.d.ts`),
  };
}

/** Builds a crate unless it is built already; throws when it cannot be built. */
export function buildWasm(crate: CrateName): Promise<void> {
  return alone(join(WASM_DIR, `.${crate}`), () => build(crate));
}

function build(crate: CrateName): void {
  const { name, level, sources } = CRATES[crate];
  const folder = join(WASM_DIR, crate);
  const stamp = join(folder, ".statewright");
  const wanted = fingerprint([...SHARED, ...sources]);
  if (isStamped(stamp, wanted)) return;

  console.log(`build: compiling ${name}`);
  run("cargo", ["build", "--quiet", "--locked", "--release", "--target", TARGET, "-p", name], {
    CARGO_PROFILE_RELEASE_OPT_LEVEL: level,
  });
  // With its names, which tell panics from the rest.
  const compiled = join(ROOT, "target", TARGET, "release", `${name.replaceAll("-", "_")}.wasm`);
  // Beside what is in use, which is replaced at once when all is done.
  const scratch = join(WASM_DIR, `${crate}.new`);
  mkdirSync(scratch, { recursive: true });
  const named = join(scratch, "named.wasm");
  copyFileSync(compiled, named);
  if (trapPanics(named) === 0) throw new Error("no panic was found; has Rust other names for its functions?");
  const flags = ["--target", "web", "--out-dir", scratch, "--out-name", crate];
  run(join(ROOT, "target", "tools", "bin", "wasm-bindgen"), [
    named,
    ...flags,
    "--omit-default-module-path",
    "--remove-name-section",
    "--remove-producers-section",
  ]);
  const bound = join(scratch, `${crate}_bg.wasm`);
  optimise(bound);
  mkdirSync(folder, { recursive: true });
  copyFileSync(bound, join(scratch, `${crate}.wasm`));
  for (const file of [`${crate}.wasm`, `${crate}.js`, `${crate}.d.ts`])
    renameSync(join(scratch, file), join(folder, file));
  leaveStamp(stamp, wanted);
}

/** Makes a module smaller and faster, puts like functions next to each other, and drops all names. */
function optimise(module: string): void {
  const features = FEATURES.map((feature) => `--enable-${feature}`);
  const wasmOpt = (...passes: string[]) =>
    run(process.execPath, [
      join(ROOT, "node_modules", ".bin", "wasm-opt"),
      module,
      "-o",
      module,
      ...features,
      ...passes,
    ]);
  // Functions that one other calls stay apart: what is alike is found among many small ones, and gzipped well.
  wasmOpt("-Os", "--one-caller-inline-max-function-size", "0", "--low-memory-unused");
  nameByPlace(module);
  wasmOpt("--reorder-functions-by-name", "--strip-debug", "--strip-producers");
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): void {
  const done = spawnSync(command, args, {
    cwd: ROOT,
    stdio: ["ignore", "inherit", "pipe"],
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  if (done.error) throw new Error(`${command} could not be run: ${done.error.message}`);
  if (done.status !== 0) throw new Error(`${command.split("/").pop()} failed\n${done.stderr}`);
}

/** Whether a crate was ever built. */
export function hasWasm(crate: CrateName): boolean {
  return existsSync(wasmFiles(crate).wasm);
}
