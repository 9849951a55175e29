// Builds the npm package into build/package, the folder that is packed, and links it as node_modules/statewright so that
// tests and examples import it by its name. `--js` takes the WebAssembly that was built last, whatever became of the Rust.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

import { build, type BuildOptions, type Plugin } from "esbuild";

import { PACKAGE_DIR, ROOT, WASM_DIR, WORKER_DIR, WWW_DIR } from "./paths.ts";
import { alone, fingerprint, isStamped, leaveStamp } from "./stamp.ts";
import { buildWasm, type CrateName, CRATES, hasWasm, wasmFiles } from "./wasm.ts";

const LIB = join(ROOT, "src", "js", "lib");
const STAMP = join(ROOT, "build", ".package");

/** The entry points that are code: what is imported, and its source in `lib`. */
const ENTRIES = {
  ".": "core",
  "./engine": "engine",
  "./client": "client",
  "./worker": "worker",
  "./testing": "testing",
  "./import-xstate": "import-xstate",
};
/** An entry point that only workerd can load, and what says so elsewhere. */
const OF_WORKERD = "./worker";
const ELSEWHERE = "elsewhere";
/** Entry points that are documents, from `docs`. */
const DOCUMENTS = ["openapi.json", "machine.schema.json"];
/** Folders that are packed as they are, and as what. */
const FOLDERS = { "src/engine/migrations": "migrations", "src/js/templates": "templates" };
/** What scripts/www.ts puts beside it: the simulator and the console, which are built with the package. */
const WWW = "www";
/** The command's source in `lib`. */
const COMMAND = "cli/main";
/** Whose bindings and bytes stand in the package. */
const CRATE_NAMES = Object.keys(CRATES) as CrateName[];

/** How modules of each kind are called, and their types. */
const JS = { esm: ".js", cjs: ".cjs" } as const;
const TYPES = { esm: ".d.ts", cjs: ".d.cts" } as const;

/** The files of the package by their paths in it. */
type Files = Map<string, string | Uint8Array>;

/**
 * Builds the package unless it is built already; throws when it cannot be built. `js` leaves out what is not there, and compiles no
 * Rust that was compiled once; `needed` names crates that are built all the same.
 */
export async function buildPackage({
  js = false,
  needed = js ? [] : CRATE_NAMES,
}: { js?: boolean; needed?: readonly CrateName[] } = {}): Promise<void> {
  const crates: CrateName[] = [];
  for (const crate of CRATE_NAMES) {
    if (needed.includes(crate)) await buildWasm(crate);
    if (hasWasm(crate)) crates.push(crate);
    else if (needed.length === 0) note(`${crate} is left out: it was never built`);
  }
  await alone(`${STAMP}.lock`, async () => {
    const wanted = fingerprint(sources(crates));
    if (!isStamped(STAMP, wanted) || !existsSync(join(PACKAGE_DIR, "package.json"))) {
      rmSync(STAMP, { force: true });
      const began = performance.now();
      synchronise(await files(crates), PACKAGE_DIR, WWW);
      leaveStamp(STAMP, wanted);
      console.log(`build: the package, in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    }
    link();
  });
}

function note(message: string): void {
  console.error(`build: ${message}`);
}

function sources(crates: readonly CrateName[]): string[] {
  const all = [
    "src/js/lib",
    "src/js/package.json",
    "src/js/tsconfig.json",
    "scripts/package.ts",
    ...Object.keys(FOLDERS),
    ...DOCUMENTS.map((file) => `docs/${file}`),
    "README.md",
    ...crates.map((crate) => relative(ROOT, join(WASM_DIR, crate, ".statewright"))),
    "build/worker/.statewright",
  ];
  return all.filter((path) => existsSync(join(ROOT, path)));
}

async function files(crates: readonly CrateName[]): Promise<Files> {
  const found: Files = new Map();
  const modules = librarySources();
  for (const format of ["esm", "cjs"] as const) {
    const place = (path: string) => `${format}/${path.replace(/\.js$/, JS[format])}`;
    for (const [path, text] of await transformed(modules, format, crates)) found.set(place(path), text);
    for (const crate of crates) {
      const { bindings, wasm } = wasmFiles(crate);
      const bound = await inFormat(readFileSync(bindings, "utf8"), format);
      found.set(place(`wasm/${crate}.bindings.js`), bound);
      const bytes = `export default "${readFileSync(wasm).toString("base64")}";\n`;
      found.set(place(`wasm/${crate}.bytes.js`), await inFormat(bytes, format));
    }
    for (const [path, text] of declarations(format)) found.set(`${format}/${path}`, text);
  }
  for (const crate of CRATE_NAMES) {
    if (crates.includes(crate)) found.set(`wasm/${crate}.wasm`, readFileSync(wasmFiles(crate).wasm));
  }
  prebuilt(found);
  for (const [folder, place] of Object.entries(FOLDERS)) {
    if (!existsSync(join(ROOT, folder))) continue;
    for (const entry of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile()) found.set(join(place, relative(join(ROOT, folder), file)), readFileSync(file));
    }
  }
  for (const file of ["README.md", "LICENSE-APACHE", "LICENSE-MIT"])
    found.set(file, readFileSync(join(ROOT, file)));
  for (const file of DOCUMENTS) found.set(file, readFileSync(join(ROOT, "docs", file)));
  found.set("package.json", json(manifest([...found.keys(), WWW])));
  return found;
}

/** The Worker, where it is built. */
function prebuilt(found: Files): void {
  // It may just be being built: its stamp comes last.
  if (!existsSync(join(WORKER_DIR, ".statewright"))) {
    note("the Worker is left out: it is not built");
    return;
  }
  for (const file of ["index.js", "index_bg.wasm"])
    found.set(`worker/${file}`, readFileSync(join(WORKER_DIR, file)));
}

/** The package's own package.json: that of src/js, and what follows from the files. */
function manifest(paths: readonly string[]): object {
  const source = JSON.parse(readFileSync(join(ROOT, "src/js/package.json"), "utf8")) as Record<
    string,
    unknown
  >;
  const exports: Record<string, unknown> = {};
  for (const [entry, path] of Object.entries(ENTRIES)) {
    const form = (format: "esm" | "cjs", module = path) => ({
      types: `./${format}/${path}${TYPES[format]}`,
      default: `./${format}/${module}${JS[format]}`,
    });
    if (entry !== OF_WORKERD) exports[entry] = { import: form("esm"), require: form("cjs") };
    else
      exports[entry] = {
        workerd: form("esm"),
        require: form("cjs", ELSEWHERE),
        default: form("esm", ELSEWHERE),
      };
  }
  for (const file of DOCUMENTS) exports[`./${file}`] = `./${file}`;
  exports["./migrations/*"] = "./migrations/*";
  exports["./package.json"] = "./package.json";

  return {
    ...source,
    bin: { statewright: `./esm/${COMMAND}.js` },
    main: "./cjs/core.cjs",
    module: "./esm/core.js",
    types: "./cjs/core.d.cts",
    exports,
    imports: imports(),
    files: [...new Set(paths.map((path) => path.split("/")[0] ?? ""))].sort(),
  };
}

/** What the package's own modules import by condition. */
function imports(): Record<string, unknown> {
  const both = (path: string) => ({ require: `./cjs/${path}.cjs`, default: `./esm/${path}.js` });
  const found: Record<string, unknown> = { "#prebuilt-worker": "./worker/index.js" };
  for (const crate of CRATE_NAMES) {
    found[`#${crate}-wasm`] = {
      workerd: `./esm/wasm/${crate}.workerd.js`,
      node: both(`wasm/${crate}.node`),
      ...both(`wasm/${crate}.inline`),
    };
    for (const part of ["bindings", "bytes"]) found[`#${crate}-${part}`] = both(`wasm/${crate}.${part}`);
  }
  return found;
}

/** The library's modules, relative to `lib`. */
function librarySources(): string[] {
  const all = readdirSync(LIB, { recursive: true, encoding: "utf8" });
  return all.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts")).sort();
}

/**
 * The library's modules as they are packed. What entry points share is one thing, whichever of them are loaded: ES modules share it in
 * few files, since each costs a program's start; what CommonJS shares, and the command, stay files as they are written.
 */
async function transformed(
  modules: readonly string[],
  format: "esm" | "cjs",
  crates: readonly CrateName[],
): Promise<[string, string][]> {
  const of = (folder: string) => modules.filter((path) => path.startsWith(`${folder}/`));
  const loaders = of("wasm").filter((path) => /\.(inline|required|workerd)\.ts$/.test(path));
  const command = of("cli");
  const library = modules.filter((path) => !command.includes(path) && !path.startsWith("wasm/"));
  if (format === "cjs") {
    const nodes = crates.map((crate) => `wasm/${crate}.node.ts`);
    const inlines = loaders.filter((path) => path.endsWith(".inline.ts"));
    return [
      ...(await bundled(library, { format, plugins: [asFiles(format)] })),
      ...(await bundled(inlines, { format, plugins: [asIs("#")] })),
      ...(await bundled(nodes, { format, plugins: [ownBindings, asIs("node:")] })),
    ];
  }
  const entries = [...Object.values(ENTRIES), ELSEWHERE].map((path) => `${path}.ts`);
  const wanted = new Set([...entries, ...command.flatMap((path) => importedBy(path, library))]);
  return [
    ...(await bundled([...wanted], {
      format,
      plugins: [asIs("#", "node:", "openapi-fetch")],
      splitting: true,
    })),
    ...(await bundled(command, { format, plugins: [asFiles(format)] })),
    ...(await bundled(loaders, { format, plugins: [asIs("#", "node:", "../../wasm/")] })),
  ].map(([path, text]) => [path.replace(/\.required\.js$/, ".node.js"), text]);
}

async function bundled(modules: readonly string[], options: BuildOptions): Promise<[string, string][]> {
  const built = await build({
    ...options,
    entryPoints: modules.map((path) => join(LIB, path)),
    outdir: LIB,
    outbase: LIB,
    chunkNames: "shared/[hash]",
    bundle: true,
    platform: "neutral",
    target: "es2022",
    write: false,
    logLevel: "error",
  });
  return (built.outputFiles ?? []).map(({ path, text }) => [relative(LIB, path), text]);
}

/** The modules of the library that a module of it imports at run time. */
function importedBy(module: string, library: readonly string[]): string[] {
  const text = readFileSync(join(LIB, module), "utf8");
  const found = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]*\.ts)"/g)];
  const paths = found.map(([, path = ""]) => join(dirname(module), path));
  return library.filter((path) => paths.includes(path));
}

/** Leaves every import as it is, of a `.ts` file as of the file that it becomes. */
const asFiles = (format: "esm" | "cjs"): Plugin => ({
  name: "as files",
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ path, kind }) =>
      kind === "entry-point" ? null : { path: path.replace(/(\.d)?\.ts$/, JS[format]), external: true },
    );
  },
});

/** Leaves imports that begin so as they are. */
const asIs = (...beginnings: string[]): Plugin => ({
  name: "as is",
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ path, kind }) =>
      kind !== "entry-point" && beginnings.some((beginning) => path.startsWith(beginning))
        ? { path, external: true }
        : null,
    );
  },
});

/** Puts a crate's bindings into its loader. */
const ownBindings: Plugin = {
  name: "own bindings",
  setup({ onResolve }) {
    onResolve({ filter: /^#\w+-bindings$/ }, ({ path }) => {
      const crate = CRATE_NAMES.find((name) => path === `#${name}-bindings`);
      return crate === undefined ? null : { path: wasmFiles(crate).bindings };
    });
  },
};

async function inFormat(text: string, format: "esm" | "cjs"): Promise<string> {
  if (format === "esm") return text;
  const built = await build({
    stdin: { contents: text, loader: "js" },
    bundle: true,
    format,
    platform: "neutral",
    target: "es2022",
    write: false,
    logLevel: "error",
    logOverride: { "empty-import-meta": "silent" },
  });
  return built.outputFiles[0]?.text ?? "";
}

/** The types, which say the same of both kinds of modules. */
function declarations(format: "esm" | "cjs"): [string, string][] {
  return declared().map(([path, text]) => [
    path.replace(/\.d\.ts$/, TYPES[format]),
    text.replace(SPECIFIER, `$1"$2${JS[format]}"`),
  ]);
}

/** An import of one of the library's modules in a declaration. */
const SPECIFIER = /((?:\bfrom|\bimport)\s*\(?\s*)"(\.[^"]*?)(?:\.d)?\.ts"/g;

let emitted: [string, string][] | undefined;

/** What TypeScript declares of the library's modules. */
function declared(): [string, string][] {
  if (emitted !== undefined) return emitted;
  const folder = mkdtempSync(join(tmpdir(), "statewright-types-"));
  try {
    const flags = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--outDir", folder];
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const run = spawnSync(process.execPath, [tsc, "-p", join(ROOT, "src", "js"), ...flags], {
      cwd: ROOT,
      encoding: "utf8",
    });
    // `make check` is what refuses them.
    if (run.status !== 0) note(`src/js has faults in its types:\n${run.stdout.slice(0, 2000)}`);
    // What the entry points show, and what that is made of: no type of the WebAssembly's bindings is.
    const shown = Object.values(ENTRIES).map((path) => `${path}.d.ts`);
    emitted = [];
    for (const path of shown) {
      if (!existsSync(join(folder, path))) continue;
      const text = readFileSync(join(folder, path), "utf8");
      emitted.push([path, text]);
      for (const [, , imported] of text.matchAll(SPECIFIER)) {
        const next = join(dirname(path), `${imported}.d.ts`);
        if (!shown.includes(next)) shown.push(next);
      }
    }
    return emitted;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Puts the built page into the package. */
export function packWww(): void {
  const found: Files = new Map();
  for (const entry of readdirSync(WWW_DIR, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile()) found.set(relative(WWW_DIR, file), readFileSync(file));
  }
  synchronise(found, join(PACKAGE_DIR, WWW));
}

/** Makes a folder hold these files and no others. One at a time, so that who reads meanwhile finds them. */
function synchronise(wanted: Files, folder: string, kept?: string): void {
  const old = existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    : [];
  for (const [path, content] of wanted) {
    const file = join(folder, path);
    const bytes = Buffer.from(content as Uint8Array);
    if (existsSync(file) && readFileSync(file).equals(bytes)) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, bytes);
    if (path === `esm/${COMMAND}.js`) chmodSync(`${file}.new`, 0o755);
    renameSync(`${file}.new`, file);
  }
  for (const { parentPath, name } of old) {
    const path = relative(folder, join(parentPath, name));
    if (!wanted.has(path) && path.split("/")[0] !== kept) rmSync(join(folder, path), { force: true });
  }
}

/** Lets `statewright` be imported in the repository, and its command be run. `npm ci` knows nothing of them. */
function link(): void {
  const modules = join(ROOT, "node_modules");
  const links = { statewright: PACKAGE_DIR, ".bin/statewright": join(PACKAGE_DIR, "esm", `${COMMAND}.js`) };
  for (const [name, leadsTo] of Object.entries(links)) {
    const place = join(modules, name);
    const target = relative(dirname(place), leadsTo);
    const there = lstatSync(place, { throwIfNoEntry: false });
    if (there?.isSymbolicLink() && readlinkSync(place) === target) continue;
    if (there !== undefined) rmSync(place, { recursive: true, force: true });
    symlinkSync(target, place);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await buildPackage({ js: process.argv.includes("--js") });
  } catch (error) {
    console.error(`build: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
