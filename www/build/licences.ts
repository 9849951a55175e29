// The licences of what others wrote and the page carries: they ask to be named wherever it goes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Plugin } from "vite";

/** The file beside the page. */
const NAME = "licences.txt";
/** The folder of a package in a module's id. */
const PACKAGE = /^(?<folder>.*\/node_modules\/(?<name>(?:@[^/]+\/)?[^/]+))\//;

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly homepage?: string;
  readonly repository?: string | { readonly url: string };
}

/** Where its sources are. */
function sourceOf({ homepage, repository }: Manifest): string | undefined {
  const url = typeof repository === "string" ? repository : repository?.url;
  return url?.replace(/^git\+/, "") ?? homepage;
}

function noticeOf(name: string, folder: string): string {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`the package ${name} comes without the text of its licence`);
  const about = [`${name} ${manifest.version}`, manifest.license, sourceOf(manifest)];
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `${about.filter((line) => line !== undefined).join("\n")}\n\n${text}\n`;
}

/** Writes the licences of all packages that something of is in the build. */
export function licences(): Plugin {
  return {
    name: "licences",
    apply: "build",
    generateBundle() {
      const folders = new Map<string, string>();
      for (const id of this.getModuleIds()) {
        const { folder, name } = PACKAGE.exec(id)?.groups ?? {};
        // The npm package is this project itself.
        if (folder !== undefined && name !== undefined && name !== "statewright") folders.set(name, folder);
      }
      const notices = [...folders]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, folder]) => noticeOf(name, folder));
      const source = [
        "The simulator and the console contain work of others, under these licences.\n",
        ...notices,
      ].join(`\n${"-".repeat(80)}\n\n`);
      this.emitFile({ type: "asset", fileName: NAME, source });
    },
  };
}
