// The table of docs/conformance.md: how many runs of each file of vectors each host has had.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "../../scripts/paths.ts";

const PAGE = join(ROOT, "docs", "conformance.md");
const BEGIN =
  "<!-- made by BLESS=1 node_modules/.bin/node --test tests/conformance/conformance.test.ts -->\n";
const END = "\n<!-- the end of what is made -->";

/** Runs by file, of one host. */
export type Counts = ReadonlyMap<string, number>;

function grid(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => (column === 0 ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** The table as Markdown: files down, hosts across. */
export function table(topics: readonly string[], hosts: ReadonlyMap<string, Counts>): string {
  const count = (counts: Counts, topic: string) => String(counts.get(topic) ?? 0);
  const rows = topics.map((topic) => [
    `\`${topic}\``,
    ...[...hosts.values()].map((counts) => count(counts, topic)),
  ]);
  const totals = [...hosts.values()].map((counts) => [...counts.values()].reduce((sum, one) => sum + one, 0));
  return grid(["file", ...hosts.keys()], [...rows, ["all", ...totals.map(String)]]);
}

/** The list of what is left out, and why. */
export function reasons(left: ReadonlyMap<string, readonly string[]>): string {
  const rows = [...left].map(([why, cases]) => [why, String(cases.length), told(cases)]);
  return grid(["why", "runs", "such as"], rows).replace("| ---: | ---: |", "| ---: | --- |");
}

function told(cases: readonly string[]): string {
  const names = [...new Set(cases)];
  const shown = names.slice(0, 2).map((name) => `\`${name}\``);
  return names.length > 2 ? `${shown.join(", ")}, …` : shown.join(", ");
}

/** Writes what is made into the page where `BLESS` is set, and asserts that it stands there otherwise. */
export function hold(made: string): void {
  const page = readFileSync(PAGE, "utf8");
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  assert.ok(from >= 0 && to > from, "docs/conformance.md has a place for what is made");
  const whole = `${page.slice(0, from)}${BEGIN}\n${made}\n${page.slice(to)}`;
  if (process.env["BLESS"] === "1") writeFileSync(PAGE, whole);
  else assert.equal(page, whole, "docs/conformance.md is not what was run: BLESS=1 makes it anew");
}
