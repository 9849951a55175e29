// The types of the packed package under strict TypeScript, with those of libraries checked too: by this TypeScript and by 5.9, as
// bundlers and as Node.js resolve modules, by ES modules and by CommonJS.

import assert from "node:assert/strict";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { install } from "./installed.ts";

// Without the types of Node.js, and of what is of a user's choice.
const project = install("types");
after(() => project.remove());

// The same texts as modules of either kind, whatever package.json says.
for (const name of ["pure", "whole"])
  for (const kind of ["mts", "cts"])
    copyFileSync(join(project.folder, `${name}.ts`), join(project.folder, `${name}.${kind}`));

const COMPILERS = {
  "TypeScript 7": join(ROOT, "node_modules", "typescript", "bin", "tsc"),
  "TypeScript 5.9": join(ROOT, "scripts", "openapi-types", "node_modules", "typescript", "bin", "tsc"),
};

const RESOLUTIONS = {
  bundler: { module: "esnext", moduleResolution: "bundler", files: ["ts"] },
  node16: { module: "node16", moduleResolution: "node16", files: ["mts", "cts"] },
  nodenext: { module: "nodenext", moduleResolution: "nodenext", files: ["mts", "cts"] },
};

const PROGRAMS = {
  pure: { lib: ["es2022"], types: [] },
  whole: { lib: ["es2022", "dom"], types: [] },
};

const STRICT = {
  target: "es2022",
  noEmit: true,
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noUnusedLocals: true,
};

for (const [compiler, path] of Object.entries(COMPILERS)) {
  for (const [resolution, { files, ...how }] of Object.entries(RESOLUTIONS)) {
    // It resolves as node16 does, and the older compiler is slow.
    if (resolution === "nodenext" && compiler !== "TypeScript 7") continue;
    for (const [program, options] of Object.entries(PROGRAMS)) {
      test(`${program}, by ${compiler} with moduleResolution ${resolution}`, () => {
        const config = {
          compilerOptions: { ...STRICT, ...how, ...options },
          files: files.map((kind) => `${program}.${kind}`),
        };
        const name = `tsconfig.${program}.${resolution}.json`;
        writeFileSync(join(project.folder, name), JSON.stringify(config));
        const printed = project.run(process.execPath, path, "-p", name);
        assert.equal(printed, "");
      });
    }
  }
}
