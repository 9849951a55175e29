// `statewright validate`: what is wrong with definitions.

import { check, counted, placeIn, show } from "../checking.ts";
import type { Command } from "../command.ts";
import { readDefinitions } from "../files.ts";
import { EXIT, type Exit, Refusal } from "../refusal.ts";

export const validate: Command = {
  name: "validate",
  summary: "checks definitions, and tells all faults with their places",
  usage: ["validate <file>..."],
  about: [
    "Checks each file as the service checks what is registered, but for where webhooks may go, which a service's settings say. A file holds a definition, a list of them, or a module that exports one. Definitions of one file may name each other as children, and are checked for that as well.",
    "Ends with 1 where there is a fault; with --strict, where there is a warning. `-` reads standard input.",
  ],
  options: {
    json: { type: "boolean", help: "answers in JSON: a list of { file, valid, faults, warnings }" },
    strict: { type: "boolean", help: "takes warnings for faults" },
  },
  words: { least: 1, most: Infinity, what: "a file of a definition" },
  examples: ["statewright validate order.json", "statewright validate machines/*.json --strict --json"],
  async run(given, output, terminal) {
    let exit: Exit = EXIT.ok;
    const told: object[] = [];
    for (const file of given.words) {
      let definitions;
      try {
        definitions = await readDefinitions(file, terminal);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        // The other files are looked at all the same.
        const { message: problem, hints } = error;
        output.note(`${output.errorStyle.red("statewright:")} ${problem}`);
        for (const hint of hints) output.note(`  ${hint}`);
        told.push({ file, valid: false, faults: [{ path: "$", problem }], warnings: [] });
        exit = EXIT.usage;
        continue;
      }
      const { source } = definitions;
      const checked = check(definitions);
      const { faults, warnings } = checked;
      const isWrong = faults.length > 0 || (given.flag("strict") && warnings.length > 0);
      if (isWrong && exit === EXIT.ok) exit = EXIT.faults;
      const placed = <Told extends { readonly path: string }>(each: Told) => ({
        ...each,
        ...placeIn(source, each.path),
      });
      told.push({
        file,
        valid: faults.length === 0,
        faults: faults.map(placed),
        warnings: warnings.map(placed),
      });
      if (given.flag("json")) continue;
      const { style } = output;
      for (const line of show(source, checked, style)) output.line(line);
      const found = [
        ...(faults.length === 0 ? [] : [style.red(counted(faults.length, "fault"))]),
        ...(warnings.length === 0 ? [] : [style.yellow(counted(warnings.length, "warning"))]),
      ];
      const names = definitions.list.map(({ machine_id }) => `\`${machine_id}\``).join(", ");
      output.line(
        `${file}: ${found.length === 0 ? `${names} ${style.green("is valid")}` : found.join(", ")}`,
      );
    }
    if (given.flag("json")) output.json(told);
    return exit;
  },
};
