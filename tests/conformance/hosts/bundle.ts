// Modules of these tests as one file each, for runtimes that are not Node.js.

import { join, resolve } from "node:path";

import { build, type Plugin } from "esbuild";

import { PACKAGE_DIR, ROOT } from "../../../scripts/paths.ts";

/** A bundled module. */
export interface Bundle {
  readonly code: string;
  /** The WebAssembly that it imports: the name in its imports, and the file. */
  readonly wasm: ReadonlyMap<string, string>;
}

/** Bundles a module of this folder by the conditions of a runtime. */
export async function bundle(entry: string, conditions: readonly string[]): Promise<Bundle> {
  const wasm = new Map<string, string>();
  const modules: Plugin = {
    name: "wasm",
    setup({ onResolve, resolve: find }) {
      onResolve({ filter: /^simulation-wasm$/ }, () =>
        find("#simulation-wasm", { kind: "import-statement", resolveDir: PACKAGE_DIR }),
      );
      onResolve({ filter: /\.wasm$/ }, ({ path, resolveDir }) => {
        const name = `./${path.split("/").pop()}`;
        wasm.set(name, resolve(resolveDir, path));
        return { path: name, external: true };
      });
    },
  };
  const built = await build({
    absWorkingDir: ROOT,
    entryPoints: [join(ROOT, "tests", "conformance", "hosts", entry)],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: [...conditions],
    mainFields: ["browser", "module", "main"],
    external: ["cloudflare:workers", "node:*", "fs", "path", "crypto"],
    plugins: [modules],
    logLevel: "silent",
  });
  const [file] = built.outputFiles;
  if (file === undefined) throw new Error(`${entry} gave no bundle`);
  return { code: file.text, wasm };
}
