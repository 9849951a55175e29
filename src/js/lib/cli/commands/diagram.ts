// `statewright diagram`: a drawing of a machine.

import { isObject } from "../../json-value.ts";
import type { Snapshot } from "../../typed.ts";
import { machineOf } from "../checking.ts";
import type { Command } from "../command.ts";
import { readDefinitions, readSource, writeText } from "../files.ts";
import { EXIT, Refusal } from "../refusal.ts";

export const diagram: Command = {
  name: "diagram",
  summary: "draws a machine for Mermaid or Graphviz",
  usage: ["diagram <file> [--format mermaid|dot] [--snapshot <file>] [--out <file>]"],
  about: [
    "Writes the text of a diagram: Mermaid's, which GitHub and many editors draw, or Graphviz's. With a snapshot, as `machine.create`, `simulate` and `GET …/entities/{entity_id}?tree=true` give it, the states that it is in are marked.",
  ],
  options: {
    format: {
      type: "string",
      short: "f",
      value: "mermaid|dot",
      help: "the language of the diagram (mermaid)",
    },
    machine: {
      type: "string",
      short: "m",
      value: "id",
      help: "which machine of the file; the first if left out",
    },
    snapshot: { type: "string", short: "s", value: "file", help: "an entity whose states are marked" },
    out: {
      type: "string",
      short: "o",
      value: "file",
      help: "where to write it; standard output if left out",
    },
  },
  words: { least: 1, most: 1, what: "a file of a definition" },
  examples: [
    "statewright diagram order.json",
    "statewright diagram order.json -f dot | dot -Tsvg -o order.svg",
  ],
  async run(given, output, terminal) {
    const format = given.text("format") ?? "mermaid";
    if (format !== "mermaid" && format !== "dot") {
      throw new Refusal(`--format is \`${format}\`; \`mermaid\` or \`dot\` is needed`);
    }
    const [file = ""] = given.words;
    const machine = machineOf(await readDefinitions(file, terminal, given.text("machine")), output);
    const entity = given.text("snapshot");
    const text = machine.diagram(format, entity === undefined ? undefined : await snapshotOf(entity));
    const out = given.text("out");
    if (out === undefined) output.line(text.trimEnd());
    else writeText(out, text.trimEnd(), terminal);
    return EXIT.ok;

    async function snapshotOf(name: string): Promise<Snapshot> {
      const { value } = await readSource(name, terminal);
      if (isObject(value)) return value as unknown as Snapshot;
      throw new Refusal(`\`${name}\` holds no snapshot; an entity as a JSON object is needed`);
    }
  },
};
