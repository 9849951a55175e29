// The service worker that lets the page work offline: src/offline/service-worker.ts with the files of this build.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import type { Plugin } from "vite";

const SOURCE = fileURLToPath(new URL("../src/offline/service-worker.ts", import.meta.url));
const NAME = "sw.js";
const PAGE = "index.html";
/** Fonts for other scripts than Latin, of which a page needs none or one. */
const RARE = /-(?!latin-wght)[a-z]+(-ext)?-wght-[^/]*\.woff2$/;

/** Writes the service worker beside the page. */
export function offline(): Plugin {
  let publicFiles: readonly string[] = [];
  let publicFolder = "";
  return {
    name: "offline",
    apply: "build",
    configResolved({ publicDir }) {
      publicFolder = publicDir;
      publicFiles = readdirSync(publicDir, { recursive: true, withFileTypes: true })
        // What begins so is for the host.
        .filter((entry) => entry.isFile() && !entry.name.startsWith("_"))
        .map((entry) => relative(publicDir, join(entry.parentPath, entry.name)));
    },
    generateBundle: {
      order: "post",
      async handler(_, bundle) {
        const content = new Map<string, string | Uint8Array>();
        for (const path of publicFiles) content.set(path, readFileSync(join(publicFolder, path)));
        for (const [path, file] of Object.entries(bundle)) {
          content.set(path, file.type === "chunk" ? file.code : file.source);
        }
        const entry = Object.values(bundle).find((file) => file.type === "chunk" && file.isEntry);
        if (entry === undefined || !content.has(PAGE)) throw new Error("the build has no page");

        const paths = [...content.keys()].sort();
        const hash = createHash("sha256").update(readFileSync(SOURCE));
        for (const path of paths) hash.update(`${path}\n`).update(content.get(path) ?? "");
        const files = paths.filter((path) => path !== PAGE);
        const define = {
          BUILD: hash.digest("hex").slice(0, 16),
          ENTRY: entry.fileName,
          FILES: files.filter((path) => !RARE.test(path)),
          RARE: files.filter((path) => RARE.test(path)),
        };
        const built = await build({
          entryPoints: [SOURCE],
          bundle: true,
          write: false,
          minify: true,
          format: "iife",
          target: "es2022",
          logLevel: "error",
          define: Object.fromEntries(
            Object.entries(define).map(([name, value]) => [name, JSON.stringify(value)]),
          ),
        });
        this.emitFile({ type: "asset", fileName: NAME, source: built.outputFiles[0]?.text ?? "" });
      },
    },
  };
}
