// The type tests compile in the TypeScripts that are in use, errors stand where the mistake is and say what is right,
// and large definitions stay fast.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";

const TYPES = join(ROOT, "tests/types");
const COMPILERS: readonly (readonly [name: string, tsc: string])[] = [
  ["TypeScript 7", "node_modules/typescript/bin/tsc"],
  ["TypeScript 5.9", "scripts/openapi-types/node_modules/typescript/bin/tsc"],
];

const scratch = mkdtempSync(join(tmpdir(), "statewright-types-"));
after(() => rmSync(scratch, { recursive: true }));

/** What the compiler says; nothing, if all is well. */
function tsc(compiler: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [join(ROOT, compiler), ...args], { cwd: TYPES }, (error, stdout, stderr) => {
      // A compiler that finds errors ends with 1 or 2.
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve(stdout + stderr);
    });
  });
}

/** A project of one file, which imports what the type tests import. */
function project(name: string, text: string): string {
  const folder = mkdtempSync(join(scratch, name));
  writeFileSync(
    join(folder, "main.ts"),
    text.replace('"./expect.ts"', JSON.stringify(join(TYPES, "expect.ts"))),
  );
  const config = { extends: join(TYPES, "tsconfig.json"), include: ["main.ts"], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return folder;
}

for (const [name, compiler] of COMPILERS) {
  test(`the type tests compile in ${name}`, async () => {
    assert.equal(await tsc(compiler, "-p", "."), "");
  });

  test(`the type tests compile in ${name} without exactOptionalPropertyTypes`, async () => {
    assert.equal(await tsc(compiler, "-p", ".", "--exactOptionalPropertyTypes", "false"), "");
  });
}

for (const [name, compiler] of COMPILERS) {
  test(`the declarations of the built package compile in ${name}, and say the same`, async () => {
    assert.equal(await tsc(compiler, "-p", "package"), "");
  });
}

test("there are at least 60 type tests, each with a name of its own", () => {
  const names = readdirSync(TYPES, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => [...readFileSync(join(TYPES, file), "utf8").matchAll(/^type\("([^"]+)"/gm)])
    .map(([, title]) => title);
  assert.equal(new Set(names).size, names.length, "a name stands twice");
  assert.ok(names.length >= 60, `${names.length} type tests`);
});

interface Expected {
  readonly line: number;
  readonly column: number;
  readonly says: string;
}

const MARK = "/*>>>*/";
const [, ...rest] = readFileSync(join(TYPES, "wrong.ts"), "utf8").split("\n");
const wrong = ["", ...rest];

const expected: Expected[] = wrong.flatMap((text, index) => {
  const at = text.indexOf(MARK);
  if (at < 0) return [];
  const from = at + MARK.length;
  const column = from + (text.slice(from).search(/\S/) + 1);
  const says = /\/\/ says (.*)$/.exec(text)?.[1];
  assert.ok(says, `line ${index + 1} of wrong.ts says nothing`);
  return [{ line: index + 1, column, says }];
});

/** The members of each union in order: compilers list them in orders of their own. */
const sorted = (message: string): string =>
  message.replaceAll(/(?:"[^"]*"|\w+)(?: \| (?:"[^"]*"|\w+))+/g, (union) =>
    union.split(" | ").sort().join(" | "),
  );

for (const [name, compiler] of COMPILERS) {
  test(`a wrong name is an error of ${name} where it stands, and the right ones are listed`, async () => {
    const said = await tsc(compiler, "-p", project("wrong", wrong.join("\n")), "--pretty", "false");
    const found = said
      .split(/\n(?=\S)/)
      .map((text) => /main\.ts\((\d+),(\d+)\): error TS\d+: ([^]*)$/.exec(text.trim()))
      .filter((match) => match !== null)
      .map(([, line, column, message]) => ({
        line: Number(line),
        column: Number(column),
        message: sorted(message ?? ""),
      }));
    assert.deepEqual(
      found.map(({ line, column }) => [line, column]),
      expected.map(({ line, column }) => [line, column]),
      said,
    );
    found.forEach(({ message, line }, index) => {
      assert.ok(message.includes(expected[index]?.says ?? "?"), `line ${line} says: ${message}`);
      // Not to be assignable to `never` tells nobody what is right.
      assert.doesNotMatch(message, /to type 'never'/, `line ${line}`);
    });
  });
}

/** A definition of so many states and transitions, in as many regions. */
function large(regions: number, states: number, transitions: number): string {
  const name = (region: number, state: number) => `"s${region}_${state}"`;
  const count = Array.from({ length: transitions }, (_, index) => index);
  const each = Array.from({ length: regions }, (_, region) => {
    const names = Array.from({ length: states / regions }, (_, state) => name(region, state));
    return `{ id: "r${region}", states: [${names.join(", ")}], initial_state: ${names[0]} }`;
  });
  const moves = count.map((index) => {
    const region = index % regions;
    const [from, to] = [
      name(region, index % (states / regions)),
      name(region, (index * 7) % (states / regions)),
    ];
    const guard = `{ field: "f", op: "gt", value: ${index} }`;
    return `{ region: "r${region}", from: ${from}, to: ${to}, on: "e${index % 150}", guard: ${guard} }`;
  });
  return `import { defineMachine } from "./expect.ts";
export const large = defineMachine({
  machine_id: "large",
  regions: [${each.join(",\n")}],
  transitions: [${moves.join(",\n")}],
});
export const sent = large.send(large.create("x"), "e7").snapshot.current_state.r0;
`;
}

for (const [name, compiler] of COMPILERS) {
  test(`200 states and 600 transitions cost ${name} less than 400 instantiations each`, async () => {
    const said = await tsc(compiler, "-p", project("large", large(20, 200, 600)), "--extendedDiagnostics");
    assert.doesNotMatch(said, /error/);
    const instantiations = Number(/Instantiations:\s+(\d+)/.exec(said)?.[1]);
    // 181,000 when this was written, linear in the transitions: 0.3 s in TypeScript 7 and 2 s in 5.9.
    assert.ok(instantiations < 600 * 400, `${instantiations} instantiations`);
  });
}
