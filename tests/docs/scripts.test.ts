// The JavaScript and TypeScript of the pages, as a reader would run it: each `ts` or `js` block is a module of its own, run in
// order in one folder that has the package installed. What is shown right after a block, in a `text` block, is what it prints.
//
// Words after the language say otherwise: `file=src/index.ts` is written under that name and not run by itself, and
// so is a `json` block with it; `check` is code that wants another host than Node.js. All of it is type-checked, under `strict`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { open } from "../http/support.ts";
import { type Block, blocks, pages, printed, read } from "./markdown.ts";

const folder = mkdtempSync(join(tmpdir(), "statewright-docs-"));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Script {
  readonly page: string;
  readonly block: Block;
  /** Where it is written, relative to the page's folder. */
  readonly file: string;
  readonly runs: boolean;
  readonly shown?: Block;
}

function scripts(page: string): Script[] {
  const all = blocks(read(page));
  return all.flatMap((block, index) => {
    const named = block.marks.find((mark) => mark.startsWith("file="))?.slice("file=".length);
    const isScript = ["js", "ts"].includes(block.language);
    if (!isScript && !(block.language === "json" && named !== undefined)) return [];
    const next = all[index + 1];
    const shown = next?.adjoins === true && next.language === "text" ? { shown: next } : {};
    const file = named ?? `line-${block.line}.${block.language}`;
    return { page, block, file, runs: named === undefined && !block.marks.includes("check"), ...shown };
  });
}

const written = pages().map((page) => ({ page, found: scripts(page) }));
const told = written.filter(({ found }) => found.length > 0);

/** Where a page's scripts are. */
const place = (page: string) => join(folder, page.replaceAll("/", "-").replace(/\.md$/, ""));

for (const { page, found } of told) {
  for (const { block, file } of found) {
    const path = join(place(page), file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, block.text);
  }
}
writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));

test("the scripts of the pages are sound TypeScript", { timeout: 300_000 }, () => {
  const options = {
    compilerOptions: {
      target: "es2024",
      lib: ["es2024", "dom", "dom.iterable", "esnext.disposable"],
      module: "nodenext",
      types: ["node"],
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      skipLibCheck: true,
    },
    include: ["**/*.ts"],
    exclude: ["node_modules"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options));
  const checked = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder], {
    encoding: "utf8",
  });
  assert.equal(checked.status, 0, `${checked.stdout}${checked.stderr}`);
});

for (const { page, found } of told) {
  const toRun = found.filter(({ runs }) => runs);
  if (toRun.length === 0) continue;
  test(`the scripts of ${page} run, and print what it shows`, { timeout: 300_000 }, async () => {
    const asks = toRun.some(({ block }) => block.text.includes("http://localhost:3050"));
    const fresh = asks ? await open({ settings: { API_KEY: "dev_secret" } }) : undefined;
    try {
      for (const { block, file, shown } of toRun) {
        const path = join(place(page), file);
        // The page's service listens where the test's one does.
        if (fresh !== undefined) {
          writeFileSync(path, block.text.replaceAll("http://localhost:3050", fresh.runtime.url));
        }
        const ran = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", path], {
          cwd: place(page),
          encoding: "utf8",
          timeout: 60_000,
        });
        assert.equal(ran.status, 0, `${page}:${block.line} failed:\n${ran.stdout}${ran.stderr}`);
        const step = { line: block.line, commands: block.text };
        printed(shown === undefined ? step : { ...step, shown }, ran.stdout, page);
      }
    } finally {
      await fresh?.runtime.stop();
    }
  });
}
