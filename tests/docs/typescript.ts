// Runs the TypeScript of a page as a reader would: each block is a file of its own beside those that the page names
// (`ts file=order.ts`), with the package as it is built. All compile in strict TypeScript; what a block prints is the `text`
// block right after it, if there is one. A `json` block that names its file is written too.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "../../scripts/paths.ts";
import { type Block, blocks, read } from "./markdown.ts";

const LANGUAGES = ["ts", "js"];

interface Example {
  readonly file: string;
  readonly block: Block;
  /** What it prints; undefined where that is not shown. */
  readonly shown?: string;
}

/** What a process said, and how it ended. */
interface Ended {
  readonly code: number;
  readonly output: string;
}

function run(folder: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder, timeout: 60_000 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve({ code: typeof error?.code === "number" ? error.code : 0, output: stdout + stderr });
    });
  });
}

/** The file that a block's info string names. */
const named = ({ marks }: Block): string | undefined =>
  marks.find((mark) => mark.startsWith("file="))?.slice(5);

/** Compiles and runs the examples of a page; tells how many there were. */
export async function runExamples(page: string): Promise<number> {
  const all = blocks(read(page));
  const examples = all.flatMap((block, index): Example[] => {
    if (!LANGUAGES.includes(block.language)) return [];
    const file = named(block) ?? `line-${block.line}.${block.language}`;
    const next = all[index + 1];
    const shown = next?.language === "text" && next.adjoins ? { shown: next.text } : {};
    return [{ file, block, ...shown }];
  });
  mkdirSync(join(ROOT, "build/docs"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, "build/docs/page-"));
  try {
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
    for (const block of all) {
      const file = named(block);
      if (block.language === "json" && file !== undefined) writeFileSync(join(folder, file), block.text);
    }
    for (const { file, block } of examples) writeFileSync(join(folder, file), block.text);
    const compiled = await run(folder, join(ROOT, "node_modules/typescript/bin/tsc"), "-p", ".");
    assert.equal(compiled.output, "", `${page} compiles`);
    for (const { file, block, shown } of examples) {
      const { code, output } = await run(folder, "--disable-warning=ExperimentalWarning", file);
      assert.equal(code, 0, `${page}:${block.line} runs\n${output}`);
      if (shown !== undefined) assert.equal(output, shown, `${page}:${block.line} prints what is shown`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return examples.length;
}

const TSCONFIG = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "dom", "esnext.disposable"],
    module: "nodenext",
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    strict: true,
    noEmit: true,
    allowJs: true,
    checkJs: true,
    skipLibCheck: true,
    resolveJsonModule: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
  },
  include: ["*"],
};
