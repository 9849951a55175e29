// Builds the component, build/component/statewright.wasm, with wasm-tools, which `setup.mjs --python` installs. Does nothing when
// the sources are those of the last build; and nothing, saying so, where wasm-tools is not installed.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

import { ROOT } from "./paths.ts";
import { alone, fingerprint, isStamped, leaveStamp } from "./stamp.ts";

const FOLDER = join(ROOT, "build", "component");
/** The built component. */
export const COMPONENT = join(FOLDER, "statewright.wasm");
/** The command that makes components, and takes them apart. */
export const WASM_TOOLS = join(ROOT, "target", "venv", "bin", "wasm-tools");

const SOURCES = ["Cargo.toml", "Cargo.lock", "src/core", "src/component", "wit", "scripts/component.ts"];
const TARGET = "wasm32-unknown-unknown";
const FEATURES = ["bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int"];
const MORE_FEATURES = ["reference-types", "sign-ext"];

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

function build(): void {
  const stamp = join(FOLDER, ".statewright");
  const wanted = fingerprint(SOURCES);
  if (isStamped(stamp, wanted) && existsSync(COMPONENT)) return;

  console.log("build: compiling the component");
  const crate = "statewright-component";
  run("cargo", ["build", "--quiet", "--locked", "--release", "--target", TARGET, "-p", crate], {
    CARGO_PROFILE_RELEASE_OPT_LEVEL: "s",
    CARGO_PROFILE_RELEASE_STRIP: "debuginfo",
  });
  mkdirSync(dirname(COMPONENT), { recursive: true });
  const module = join(ROOT, "target", TARGET, "release", "statewright_component.wasm");
  const smaller = join(FOLDER, "module.wasm");
  const features = [...FEATURES, ...MORE_FEATURES].map((feature) => `--enable-${feature}`);
  const wasmOpt = join(ROOT, "node_modules", ".bin", "wasm-opt");
  // What the component is made by stands in a section of the module, which stays.
  run(process.execPath, [wasmOpt, module, "-o", smaller, ...features, "-Os", "--strip-debug"]);
  const whole = join(FOLDER, "statewright.new.wasm");
  run(WASM_TOOLS, ["component", "new", smaller, "-o", whole]);
  run(WASM_TOOLS, ["strip", "--all", whole, "-o", whole]);
  run(WASM_TOOLS, ["validate", whole]);
  renameSync(whole, COMPONENT);
  leaveStamp(stamp, wanted);
}

/** Whether it can be built here: whether wasm-tools is installed. */
export function canBuildComponent(): boolean {
  return existsSync(WASM_TOOLS);
}

/** Builds the component unless it is built already; throws when it cannot be built. */
export function buildComponent(): Promise<void> {
  return alone(join(FOLDER, ".lock"), build);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    if (canBuildComponent()) await buildComponent();
    else console.log("build: the component is left out: node scripts/setup.mjs --python installs wasm-tools");
  } catch (error) {
    console.error(`build: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
