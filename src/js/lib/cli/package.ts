// Where the files of the installed package are.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The command stands two folders below the package's own. */
const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Files and folders of the package. */
export const PACKAGE = {
  manifest: at("package.json"),
  /** What `init` writes. */
  templates: at("templates"),
  /** The prebuilt Worker. */
  worker: at("worker"),
  /** The simulator and the console. */
  www: at("www"),
} as const;

/** The package's version. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(PACKAGE.manifest, "utf8")) as { version: string };
  return version;
}
