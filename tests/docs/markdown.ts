// Reads Markdown as a reader would paste it: every `sh` block goes in order into one shell. What is shown right after
// a block, in a `json` block, must be what the block's last line of output is, or all of it where it is one JSON text of
// many lines: names and values alike, where "…" stands
// for any value, a string that ends in "…" for any that begins so, and names that are not shown may be there too.
// A `text` block after a `sh` block is the whole output, line by line, where "…" at a line's end stands for any rest.
//
// Blocks that set the machine up, run or test the service are not pasted here: the test has done so already, or is
// part of it. They must be these very commands.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "../../scripts/paths.ts";

const DONE_ALREADY = [
  /^git clone \S+( \S+)?$/,
  /^cd \S+$/,
  /^npm (install|i|init|create)( \S+)*$/,
  /^([A-Z_]+=\S+ )*make( (run|test|check|format|bench|deploy|help))?( [A-Z_]+=\S+)*$/,
];

/** The package is the one built here, wherever a page's commands stand: no registry has it yet. */
const INSTALLED = `npx() { if [ "$1" = statewright ]; then shift; statewright "$@"; else command npx "$@"; fi; }\n`;

/** A fenced block. */
export interface Block {
  /** The line of its fence. */
  readonly line: number;
  /** The first word of its info string. */
  readonly language: string;
  /** The other words. */
  readonly marks: readonly string[];
  readonly text: string;
  /** Whether only blank lines part it from the block before. */
  readonly adjoins: boolean;
}

/** A block to paste, and what is shown after it. */
export interface Step {
  readonly line: number;
  readonly commands: string;
  readonly shown?: Block;
}

/** The Markdown files that people read, relative to the root. */
export function pages(): string[] {
  const found: string[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (path === "docs" || path.startsWith("docs/")) visit(path);
      } else if (path.endsWith(".md")) {
        found.push(path);
      }
    }
  };
  visit("");
  return [...found, "tests/vectors/README.md"].sort();
}

/** A page's text. */
export function read(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/** The fenced blocks of a text. */
export function blocks(markdown: string): Block[] {
  const found = [...markdown.matchAll(/^```([^\n`]*)\n([^]*?)^```$/gm)];
  let end = -1;
  return found.map((match) => {
    const [language = "", ...marks] = (match[1] ?? "").trim().split(/\s+/);
    const adjoins = end >= 0 && markdown.slice(end, match.index).trim() === "";
    end = match.index + match[0].length;
    return {
      line: markdown.slice(0, match.index).split("\n").length,
      language,
      marks,
      text: match[2] ?? "",
      adjoins,
    };
  });
}

/** The blocks of a text that are to be pasted. */
export function steps(markdown: string): Step[] {
  const all = blocks(markdown);
  const found: Step[] = [];
  all.forEach((block, index) => {
    if (block.language !== "sh") return;
    const lines = block.text.split("\n").map((text) => text.replace(/\s+#.*$/, "").trim());
    const rest = lines.filter((text) => text !== "" && !text.startsWith("#"));
    if (rest.every((text) => DONE_ALREADY.some((known) => known.test(text)))) return;
    const next = all[index + 1];
    const shown = next?.adjoins === true && ["json", "text"].includes(next.language) ? next : undefined;
    found.push({ line: block.line, commands: block.text, ...(shown === undefined ? {} : { shown }) });
  });
  return found;
}

/** Asserts that what is shown is there. */
export function shows(shown: unknown, actual: unknown, path: string): void {
  if (typeof shown === "string" && shown.endsWith("…")) {
    assert.notEqual(actual, undefined, `${path} is missing`);
    if (shown === "…") return;
    const begins = typeof actual === "string" && actual.startsWith(shown.slice(0, -1));
    assert.ok(
      begins,
      `${path} is ${JSON.stringify(actual)}, which does not begin as ${JSON.stringify(shown)}`,
    );
  } else if (Array.isArray(shown)) {
    const alike = Array.isArray(actual) && actual.length === shown.length;
    assert.ok(alike, `${path} should have ${shown.length} items: ${JSON.stringify(actual)}`);
    shown.forEach((item, index) => shows(item, actual[index], `${path}[${index}]`));
  } else if (typeof shown === "object" && shown !== null) {
    assert.ok(typeof actual === "object" && actual !== null, `${path}: ${JSON.stringify(actual)}`);
    for (const [key, value] of Object.entries(shown)) {
      shows(value, (actual as Record<string, unknown>)[key], `${path}.${key}`);
    }
  } else {
    assert.deepEqual(actual, shown, path);
  }
}

/** A JSON text's value; undefined where it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Asserts that a block printed what the page shows after it. */
export function printed(step: Step, output: string, page: string): void {
  const { shown } = step;
  if (shown === undefined) return;
  const place = `${page}:${step.line}`;
  if (shown.language === "text") {
    const strip = (text: string) => text.split("\n").map((line) => line.trimEnd());
    const [expected, actual] = [strip(shown.text.trim()), strip(output.trim())];
    assert.equal(actual.length, expected.length, `${place} printed:\n${output}`);
    expected.forEach((line, index) =>
      shows(line, actual[index], `${place}, line ${index + 1} of its output`),
    );
    return;
  }
  const last = output.trim().split("\n").at(-1) ?? "";
  const actual = parsed(last) ?? parsed(output);
  assert.notEqual(actual, undefined, `${place} printed no JSON: ${last}`);
  shows(JSON.parse(shown.text), actual, `the answer of ${place}`);
}

/** Runs blocks in one shell against the service at `url`; gives what each printed. */
export function paste(page: string, toPaste: readonly Step[], url: string): Promise<string[]> {
  const mark = "-- the end of a block --";
  const script = toPaste.map((step) => `${step.commands}\nprintf '\\n%s\\n' '${mark}'\n`).join("");
  const env = { ...process.env, PATH: `${join(ROOT, "node_modules", ".bin")}:${process.env["PATH"] ?? ""}` };
  const stdio = ["pipe", "pipe", "inherit"] as const;
  const shell = spawn("bash", ["-eu", "-o", "pipefail"], { cwd: ROOT, stdio: [...stdio], env });
  let output = "";
  shell.stdout.on("data", (part: Buffer) => (output += part.toString()));
  // The page's service listens where the test's one does.
  shell.stdin.write(INSTALLED);
  shell.stdin.end(script.replaceAll(/http:\/\/(localhost|127\.0\.0\.1):3050\b/g, url));
  return new Promise((done, failed) => {
    shell.once("close", (code) => {
      const outputs = output.split(`\n${mark}\n`);
      const next = toPaste[outputs.length - 1];
      if (code !== 0) {
        const last = outputs.at(-1) ?? "";
        failed(new Error(`${page}:${next?.line} failed:\n${next?.commands}\n${last}`));
      }
      done(outputs.slice(0, -1));
    });
  });
}
