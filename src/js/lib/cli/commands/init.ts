// `statewright init`: the files of a project that deploys the service.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

import { isObject } from "../../json-value.ts";
import type { Command } from "../command.ts";
import { PACKAGE, packageVersion } from "../package.ts";
import { EXIT, messageOf, Refusal } from "../refusal.ts";

/** A file that is to be written. */
interface File {
  /** In the project. */
  readonly path: string;
  readonly content: Buffer;
}

/** Parts of package.json that a project which has one is told to add. */
const PARTS = ["scripts", "dependencies", "devDependencies"] as const;

export const init: Command = {
  name: "init",
  summary: "writes the files of a project that deploys the service to Cloudflare",
  usage: ["init [<folder>] [--name <name>]"],
  about: [
    "Writes a Worker of a few lines around the prebuilt service, its configuration, and an example machine. No Rust is needed to deploy it; the migrations of its database are taken from the package.",
    "A file that is there already is never written over. Where it is another than the one that would be written, it is listed as kept.",
  ],
  options: {
    name: { type: "string", value: "name", help: "the name of the Worker; that of the folder if left out" },
    json: { type: "boolean", help: "answers { folder, written, kept }" },
  },
  words: { least: 0, most: 1, what: "a folder" },
  examples: ["statewright init shop && cd shop && npm install && npx statewright dev"],
  async run(given, output, terminal) {
    const folder = resolve(terminal.cwd, given.words[0] ?? ".");
    const name = given.text("name") ?? nameOf(folder);
    if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) {
      throw new Refusal(
        `\`${name}\` is no name of a Worker; small letters, digits and hyphens are, at most 63`,
      );
    }
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
      throw new Refusal(`\`${given.words[0] ?? folder}\` is a file; a folder is needed`);
    }
    const written: string[] = [];
    const kept: string[] = [];
    for (const { path, content } of filesOf(name)) {
      const target = join(folder, path);
      if (existsSync(target)) {
        if (!readFileSync(target).equals(content)) kept.push(path);
        continue;
      }
      try {
        mkdirSync(dirname(target), { recursive: true });
        // Never over one that came meanwhile.
        writeFileSync(target, content, { flag: "wx" });
      } catch (error) {
        throw new Refusal(`\`${target}\` cannot be written: ${messageOf(error)}`);
      }
      written.push(path);
    }
    const shown = relative(terminal.cwd, folder);
    if (given.flag("json")) {
      output.json({ folder: shown === "" ? "." : shown, written, kept });
      return EXIT.ok;
    }
    const { style } = output;
    for (const path of written) output.line(`  ${style.green("written")}  ${path}`);
    for (const path of kept) output.line(`  ${style.yellow("kept")}     ${path}`);
    if (written.length === 0 && kept.length === 0) output.line("All files are there already.");
    if (kept.includes("package.json")) for (const line of missing(folder, name)) output.line(line);
    if (written.length > 0) {
      output.line();
      const enter = shown === "" ? "" : `cd ${quoted(shown)} && `;
      output.line(`Next: ${style.bold(`${enter}npm install && npx statewright dev`)}`);
    }
    return EXIT.ok;
  },
};

/** A word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A folder's name as that of a Worker. */
function nameOf(folder: string): string {
  const plain = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, "");
  return plain === "" ? "statewright" : plain;
}

/** The files of a project. */
function filesOf(name: string): File[] {
  return filesBelow(PACKAGE.templates).map((path) => {
    const text = readFileSync(join(PACKAGE.templates, path), "utf8");
    const filled = text.replaceAll("__NAME__", name).replaceAll("__VERSION__", packageVersion());
    // npm leaves files out whose names begin with a dot.
    return { path: path.replaceAll(/(^|\/)_/g, "$1."), content: Buffer.from(filled) };
  });
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .sort();
}

/** What a project's own package.json lacks of the template's. */
function missing(folder: string, name: string): string[] {
  const template = filesOf(name).find(({ path }) => path === "package.json");
  let own: unknown;
  try {
    own = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return [];
  }
  const wanted: unknown = JSON.parse(template?.content.toString() ?? "{}");
  if (!isObject(own) || !isObject(wanted)) return [];
  const lines = PARTS.flatMap((part) => {
    const [there, all] = [own[part], wanted[part]];
    if (!isObject(all)) return [];
    return Object.entries(all)
      .filter(([key]) => !isObject(there) || !(key in there))
      .map(([key, value]) => `  ${part}: ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  });
  return lines.length === 0 ? [] : ["", "Your package.json lacks:", ...lines];
}
