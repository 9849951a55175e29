// Reads what a command is given: JSON, definitions, modules.

import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { buffer as bytesOf } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

import type { Definition } from "../definition.ts";
import { isObject } from "../json-value.ts";
import { frame, JsonFault, type JsonText, placeOf, readJsonText } from "./json-text.ts";
import { nearest } from "./nearest.ts";
import { messageOf, Refusal } from "./refusal.ts";
import type { Terminal } from "./terminal.ts";

const MODULES = new Set([".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]);

/** A file that was read, with its text where it is JSON. */
export interface Source {
  /** As it was given. */
  readonly name: string;
  readonly value: unknown;
  readonly json: JsonText | undefined;
}

/** The definitions of a file. */
export interface Definitions {
  readonly source: Source;
  /** The machine first, then those of its children. */
  readonly list: readonly Definition[];
  /** The path of each in the file. */
  readonly paths: readonly string[];
}

/** Why a file cannot be read, with a guess at what was meant where there is none of that name. */
function unreadable(name: string, path: string, error: unknown): Refusal {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EISDIR") return new Refusal(`\`${name}\` is a folder; a file is needed`);
  if (code !== "ENOENT") return new Refusal(`\`${name}\` cannot be read: ${messageOf(error)}`);
  if (/^https?:/.test(name)) {
    return new Refusal(`there is no file \`${name}\``, { hints: ["A running service is given by --url."] });
  }
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
    return new Refusal(`\`${name}\` is a link that leads nowhere`);
  }
  const folder = dirname(path);
  if (!existsSync(folder)) return new Refusal(`there is no folder \`${dirname(name)}\``);
  const meant = statSync(folder).isDirectory() ? nearestFile(basename(path), readdirSync(folder)) : undefined;
  const hints = meant === undefined ? [] : [`Did you mean \`${join(dirname(name), meant)}\`?`];
  return new Refusal(`there is no file \`${name}\``, { hints });
}

/** The file that was meant: endings that are right say nothing about the rest. */
function nearestFile(name: string, names: readonly string[]): string | undefined {
  const ending = extname(name);
  const alike = names.filter((other) => ending !== "" && extname(other) === ending);
  const stem = nearest(
    basename(name, ending),
    alike.map((other) => basename(other, ending)),
  );
  return stem === undefined
    ? nearest(
        name,
        names.filter((other) => !alike.includes(other)),
      )
    : stem + ending;
}

/** The text of a file; of standard input where the name is `-`. */
async function readText(name: string, terminal: Terminal): Promise<string> {
  if (name === "-") return decoded(name, await bytesOf(terminal.stdin));
  const path = resolve(terminal.cwd, name);
  let bytes;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw unreadable(name, path, error);
  }
  return decoded(name, bytes);
}

/** Writes a file that was asked for. */
export function writeText(name: string, text: string, terminal: Pick<Terminal, "cwd">): void {
  const path = resolve(terminal.cwd, name);
  try {
    writeFileSync(path, text.endsWith("\n") ? text : `${text}\n`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "ENOENT"
        ? `there is no folder \`${dirname(name)}\``
        : code === "EISDIR"
          ? "it is a folder"
          : message;
    throw new Refusal(`\`${name}\` cannot be written: ${why}`);
  }
}

/** A text from its bytes: what is no UTF-8 is not guessed at. */
function decoded(name: string, bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    const hints = ["In PowerShell: … | Out-File -Encoding utf8 <file>"];
    throw new Refusal(`\`${name}\` is UTF-16; UTF-8 is needed`, { hints });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal(`\`${name}\` is no text in UTF-8`);
  }
}

/** Reads JSON, and says where it is none. */
export function jsonOf(name: string, text: string): JsonText {
  try {
    return readJsonText(text);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const { line, column } = placeOf(text, error.offset);
    throw new Refusal(`${name}:${line}:${column}: ${error.message}`, { hints: frame(text, error.offset) });
  }
}

/** A file of JSON, or a module: what it exports by default. */
export async function readSource(name: string, terminal: Terminal): Promise<Source> {
  if (MODULES.has(extname(name))) return { name, value: await readModule(name, terminal), json: undefined };
  const json = jsonOf(name, await readText(name, terminal));
  return { name, value: json.value, json };
}

/** What a module exports by default; else all of its exports. */
async function readModule(name: string, terminal: Terminal): Promise<unknown> {
  const path = resolve(terminal.cwd, name);
  if (!existsSync(path)) {
    throw unreadable(name, path, Object.assign(new Error("there is none"), { code: "ENOENT" }));
  }
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (error) {
    // A module may throw anything.
    const code = (error as { readonly code?: unknown } | null | undefined)?.code;
    const hints =
      code === "ERR_UNKNOWN_FILE_EXTENSION"
        ? ["This Node runs no TypeScript; use Node 22.18 or newer, or give a file of JavaScript or JSON."]
        : [];
    const why = messageOf(error);
    throw new Refusal(`\`${name}\` cannot be loaded: ${why}`, { hints });
  }
  return module["default"] ?? { ...module };
}

/** A definition, or a machine that `defineMachine` made of one. */
function definitionOf(value: unknown): Definition | undefined {
  if (!isObject(value)) return undefined;
  const inner = value["definition"];
  const definition = isObject(inner) && "transitions" in inner ? inner : value;
  return "transitions" in definition || "machine_id" in definition
    ? (definition as unknown as Definition)
    : undefined;
}

/** A definition that a module made: as JSON, which is what it is to be. */
function plainOf(name: string, definition: Definition): Definition {
  try {
    return JSON.parse(JSON.stringify(definition)) as Definition;
  } catch (error) {
    const why = messageOf(error);
    throw new Refusal(`a definition of \`${name}\` has no form in JSON: ${why}`);
  }
}

/**
 * The definitions of a file: one, a list of them, or an object with `machines`, alone or beside `definition`, as `import`
 * and scenarios have. `machine` says which of them comes first.
 */
export async function readDefinitions(
  name: string,
  terminal: Terminal,
  machine?: string,
): Promise<Definitions> {
  const source = await readSource(name, terminal);
  const { value } = source;
  const found: { definition: Definition; path: string }[] = [];
  const add = (one: unknown, path: string) => {
    const definition = definitionOf(one);
    if (definition === undefined) return;
    found.push({ definition: source.json === undefined ? plainOf(name, definition) : definition, path });
  };
  if (Array.isArray(value)) value.forEach((one: unknown, index) => add(one, `$[${index}]`));
  else if (isObject(value)) {
    const { machines } = value;
    if (Array.isArray(machines) && !("transitions" in value)) {
      if ("definition" in value) add(value["definition"], "$.definition");
      machines.forEach((one: unknown, index) => add(one, `$.machines[${index}]`));
    } else if (definitionOf(value) !== undefined) add(value, "$");
    else for (const [key, one] of Object.entries(value)) add(one, `$.${key}`);
  }
  if (found.length === 0) {
    throw new Refusal(`\`${name}\` holds no definition`, {
      hints: ["A definition is an object with `machine_id`, `states` or `regions`, and `transitions`."],
    });
  }
  if (machine !== undefined) {
    const index = found.findIndex(({ definition }) => definition.machine_id === machine);
    if (index < 0)
      throw new Refusal(`\`${name}\` has no machine \`${machine}\``, { hints: machinesOf(found) });
    found.unshift(...found.splice(index, 1));
  }
  return { source, list: found.map(({ definition }) => definition), paths: found.map(({ path }) => path) };
}

function machinesOf(found: readonly { definition: Definition }[]): string[] {
  return [`It has ${found.map(({ definition }) => `\`${String(definition.machine_id)}\``).join(", ")}.`];
}

/** An option's value as a JSON object. */
export function objectOf(option: string, text: string): Record<string, unknown> {
  const { value } = jsonOf(option, text);
  if (!isObject(value)) throw new Refusal(`${option} is \`${text}\`; a JSON object is needed`);
  return value;
}
