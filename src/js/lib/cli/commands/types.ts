// `statewright types`: TypeScript of definitions.

import type { Definition } from "../../definition.ts";
import { machineOf } from "../checking.ts";
import type { Command } from "../command.ts";
import { readDefinitions, writeText } from "../files.ts";
import { EXIT, Refusal } from "../refusal.ts";
import { SERVICE, serviceOf } from "../service.ts";
import { typeText } from "../type-text.ts";

export const types: Command = {
  name: "types",
  summary: "writes TypeScript of a definition, or of what a running service has",
  usage: [
    "types <file>... [--out <file>]",
    "types --url <url> [<machine>...] [--tenant <tenant>] [--key <key>]",
  ],
  about: [
    "Writes a module with the states and events of each machine as unions, what its guards look at, and the definition as a constant for `defineMachine`, which then knows them too.",
    "With --url it reads the machines of a running service: all of the tenant, or those that are named.",
  ],
  options: {
    ...SERVICE,
    out: {
      type: "string",
      short: "o",
      value: "file",
      help: "where to write it; standard output if left out",
    },
    "types-only": { type: "boolean", help: "leaves the definitions out" },
  },
  words: { least: 0, most: Infinity, what: "a file of a definition, or --url" },
  examples: [
    "statewright types order.json --out src/order.ts",
    "statewright types --url http://localhost:3050 --tenant demo order",
  ],
  async run(given, output, terminal) {
    const service = await serviceOf(given, terminal, given.words.length === 0);
    const definitions: Definition[] = [];
    if (service !== undefined) {
      if (given.words.length === 0) {
        for await (const machine of service.machines.list())
          definitions.push(machine as unknown as Definition);
      }
      for (const id of given.words)
        definitions.push((await service.machines.get(id)) as unknown as Definition);
      if (definitions.length === 0) throw new Refusal("the tenant has no machines", { exit: EXIT.faults });
    } else if (given.words.length === 0) {
      throw new Refusal("`types` needs a file of a definition, or --url", {
        hints: ["See `statewright types --help`."],
      });
    }
    if (service === undefined) {
      for (const file of given.words) {
        const read = await readDefinitions(file, terminal);
        machineOf(read, output);
        definitions.push(...read.list);
      }
    }
    const from = service === undefined ? given.words.join(", ") : (given.text("url") ?? "a service");
    const text = typeText(definitions, { from, definitions: !given.flag("types-only") });
    const out = given.text("out");
    if (out === undefined) output.line(text.trimEnd());
    else writeText(out, text, terminal);
    return EXIT.ok;
  },
};
