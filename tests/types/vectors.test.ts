// Every definition of the vectors as it would be written in TypeScript: what the core takes compiles, and what names a state or
// region that is not there, or leaves out what is needed, does not.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { validate } from "statewright";

import { ROOT } from "../../scripts/paths.ts";

const TYPES = join(ROOT, "tests/types");
const VECTORS = join(ROOT, "tests/vectors");

const scratch = mkdtempSync(join(tmpdir(), "statewright-vectors-"));
after(() => rmSync(scratch, { recursive: true }));

/** The texts of all definitions in a JSON value. */
function* definitionsIn(value: unknown): Generator<string, void, undefined> {
  if (typeof value !== "object" || value === null) return;
  if ("machine_id" in value && "transitions" in value) yield JSON.stringify(value);
  for (const part of Object.values(value)) yield* definitionsIn(part);
}

const definitions = [
  ...new Set(
    readdirSync(VECTORS)
      .filter((file) => file.endsWith(".json"))
      .flatMap((file) => [...definitionsIn(JSON.parse(readFileSync(join(VECTORS, file), "utf8")))]),
  ),
];

/** Which of the definitions do not compile, by their places. */
function refused(texts: readonly string[]): ReadonlySet<number> {
  const folder = mkdtempSync(join(scratch, "project-"));
  const lines = texts.map((text, place) => `export const m${place} = defineMachine(${text});`);
  const header = `import { defineMachine } from ${JSON.stringify(join(TYPES, "expect.ts"))};`;
  writeFileSync(join(folder, "main.ts"), [header, ...lines].join("\n"));
  const config = { extends: join(TYPES, "tsconfig.json"), include: ["main.ts"], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  let said = "";
  try {
    execFileSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], {
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
  } catch (error) {
    said = String((error as { stdout: unknown }).stdout);
  }
  return new Set([...said.matchAll(/main\.ts\((\d+),\d+\): error/g)].map(([, line]) => Number(line) - 2));
}

test("every definition that is valid compiles", { timeout: 300_000 }, () => {
  const valid = definitions.filter((text) => validate(JSON.parse(text)).valid);
  assert.ok(valid.length > 1000, `${valid.length} definitions`);
  assert.deepEqual(
    [...refused(valid)].map((place) => valid[place]),
    [],
  );
});

test(
  "no definition compiles that names what is not there, or lacks what is needed",
  { timeout: 300_000 },
  () => {
    const named = definitions.filter((text) => {
      const { faults } = validate(JSON.parse(text));
      return faults.some(({ problem }) => /is no (state|region)\b|it is missing/.test(problem));
    });
    assert.ok(named.length > 50, `${named.length} definitions`);
    const found = refused(named);
    assert.deepEqual(
      named.filter((_, place) => !found.has(place)),
      [],
    );
  },
);
