// Makes the TypeScript of docs/openapi.json, in src/js/lib: openapi.ts (types), routes.ts (tables), codes.ts (a type).
// They are committed; tests/package/operations.test.ts says so when they are not those of the document.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { type Document, generate, type Made } from "./openapi-types/generate.ts";
import { ROOT } from "./paths.ts";

/** Where the made files stand. */
export const LIB = join(ROOT, "src", "js", "lib");

/** The files that docs/openapi.json asks for now. */
export async function wanted(): Promise<Made[]> {
  return await generate(JSON.parse(readFileSync(join(ROOT, "docs", "openapi.json"), "utf8")) as Document);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const { file, text } of await wanted()) writeFileSync(join(LIB, file), text);
}
