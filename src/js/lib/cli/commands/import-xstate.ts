// `statewright import xstate`: a machine of XState v5 as definitions.

import { type ImportOptions, type NotCarried, importXState } from "../../import-xstate.ts";
import { isObject } from "../../json-value.ts";
import { check, counted, show } from "../checking.ts";
import { type Command, wrapped } from "../command.ts";
import { readSource, writeText } from "../files.ts";
import { readJsonText } from "../json-text.ts";
import { EXIT, Refusal } from "../refusal.ts";
import type { Terminal } from "../terminal.ts";

export const importXstate: Command = {
  name: "import xstate",
  summary: "makes definitions of an XState v5 machine, and lists what cannot be carried over",
  usage: ["import xstate <file> [--map <file>] [--out <file>]"],
  about: [
    "Reads a config of XState v5: a JSON file, or a module that exports one, or what `createMachine` made. Writes its definition; with nested states, a list of definitions, the machine first and its children after it. What is not carried over, or behaves otherwise, is listed on standard error with its path.",
    'The map is a JSON file: { "guards": { "<name>": <guard> }, "actions": { "<name>": <action> or "merge" }, "delays": { "<name>": <milliseconds> } }. A transition whose guard is not in it is left out, and listed.',
    "Ends with 1 where something is listed and --strict is given, or where the definitions have faults.",
  ],
  options: {
    map: { type: "string", value: "file", help: "what guards, actions and delays mean, by their names" },
    id: { type: "string", value: "id", help: "the machine's id; the config's `id` if left out" },
    out: {
      type: "string",
      short: "o",
      value: "file",
      help: "where to write it; standard output if left out",
    },
    strict: { type: "boolean", help: "ends with 1 where anything is not carried over" },
    json: {
      type: "boolean",
      help: "answers { definition, machines, context, notCarried } on standard output",
    },
  },
  words: { least: 1, most: 1, what: "a file of an XState config" },
  examples: ["statewright import xstate order.machine.ts --map guards.json --out order.json"],
  async run(given, output, terminal) {
    const [file = ""] = given.words;
    const { value } = await readSource(file, terminal);
    const id = given.text("id");
    const map = given.text("map");
    const imported = importXState(machineIn(value), {
      ...(map === undefined ? {} : await optionsOf(map, terminal)),
      ...(id === undefined ? {} : { machineId: id }),
    });
    const list = [imported.definition, ...imported.machines];
    const text = JSON.stringify(list.length === 1 ? list[0] : list, null, 2);
    const out = given.text("out");
    if (given.flag("json")) output.json(imported);
    else if (out === undefined) output.line(text);
    if (out !== undefined) writeText(out, text, terminal);
    if (!given.flag("json")) {
      for (const line of listed(imported.notCarried)) output.note(line);
      if (imported.notCarried.length > 0) {
        output.note(`${counted(imported.notCarried.length, "thing")} not carried over, or not as it was`);
      }
    }
    const json = readJsonText(text);
    const paths = list.map((_, index) => (list.length === 1 ? "$" : `$[${index}]`));
    const source = { name: out ?? "the definitions", value: json.value, json };
    const { faults } = check({ source, list, paths });
    if (faults.length > 0) {
      for (const line of show(source, { faults, warnings: [] }, output.errorStyle)) output.note(line);
      return EXIT.faults;
    }
    return given.flag("strict") && imported.notCarried.length > 0 ? EXIT.faults : EXIT.ok;
  },
};

/** The machine of a module: its default export, or the only one of its exports that may be one. */
function machineIn(value: unknown): unknown {
  if (!isObject(value) || looksLikeOne(value)) return value;
  const found = Object.values(value).filter(looksLikeOne);
  return found.length === 1 ? found[0] : value;
}

function looksLikeOne(value: unknown): boolean {
  return isObject(value) && ("states" in value || "type" in value || isObject(value["config"]));
}

async function optionsOf(name: string, terminal: Terminal): Promise<ImportOptions> {
  const { value } = await readSource(name, terminal);
  if (!isObject(value)) throw new Refusal(`\`${name}\` holds no map; a JSON object is needed`);
  for (const key of Object.keys(value)) {
    if (["guards", "actions", "delays"].includes(key) && isObject(value[key])) continue;
    throw new Refusal(
      `\`${key}\` of \`${name}\` is not known, or no object; a map has \`guards\`, \`actions\` and \`delays\``,
    );
  }
  return value as ImportOptions;
}

function listed(notCarried: readonly NotCarried[]): string[] {
  return notCarried.flatMap(({ path, what, why }) => [
    `${path}: ${what}`,
    ...wrapped(why, 96).map((line) => `  ${line}`),
  ]);
}
