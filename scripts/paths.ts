// Where things are.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** The built Worker. */
export const WORKER_DIR = join(ROOT, "build", "worker");

/** The built npm package: the folder that is packed. */
export const PACKAGE_DIR = join(ROOT, "build", "package");

/** The WebAssembly of the package, a folder a crate. */
export const WASM_DIR = join(ROOT, "build", "wasm");

/** The built simulator and console: static files. The variable names a build that was made elsewhere, and is taken as it is. */
export const WWW_DIR = process.env["WWW_DIR"] ?? join(ROOT, "build", "www");
