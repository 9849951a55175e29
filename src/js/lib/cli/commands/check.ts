// `statewright check`: plays scenarios, and says where they come out otherwise.

import { checkScenario, type Checked, type Scenario } from "../../simulate.ts";
import { StatewrightError } from "../../errors.ts";
import { isObject } from "../../json-value.ts";
import { counted, placeIn } from "../checking.ts";
import type { Command } from "../command.ts";
import { readDefinitions, readSource } from "../files.ts";
import { frame, offsetOf } from "../json-text.ts";
import { EXIT, Refusal } from "../refusal.ts";

export const check: Command = {
  name: "check",
  summary: "plays scenarios, and says where they come out otherwise",
  usage: ["check <scenario>... [--with <file>]"],
  about: [
    "Plays each scenario from its start and compares what its steps expect: `state`, `outcome`, `error`, `status`, `body`. A step that expects nothing is to succeed. `simulate` writes scenarios, and people can. With --with, the machines of a file stand in for those of the same id in the scenarios: so a change of a definition is checked against what was recorded.",
    "Ends with 1 where a step comes out otherwise.",
  ],
  options: {
    with: {
      type: "string",
      short: "w",
      value: "file",
      help: "definitions that stand in for those of the scenarios",
    },
    json: { type: "boolean", help: "answers a list of { file, passed, steps, failures }" },
  },
  words: { least: 1, most: Infinity, what: "a file of a scenario" },
  examples: [
    "statewright check scenarios/*.json",
    "statewright check scenarios/*.json --with machines/order.json",
  ],
  async run(given, output, terminal) {
    const other = given.text("with");
    const standIns = other === undefined ? [] : (await readDefinitions(other, terminal)).list;
    const { style } = output;
    const told: object[] = [];
    let failed = 0;
    for (const file of given.words) {
      const source = await readSource(file, terminal);
      if (!isObject(source.value) || !("statewright" in source.value)) {
        throw new Refusal(
          `\`${file}\` holds no scenario; an object with \`"statewright": "scenario/1"\` is needed`,
        );
      }
      const machines = Array.isArray(source.value["machines"]) ? (source.value["machines"] as unknown[]) : [];
      const scenario = {
        ...source.value,
        machines: machines.map((machine) => {
          const id = isObject(machine) ? machine["machine_id"] : undefined;
          return standIns.find(({ machine_id }) => machine_id === id) ?? machine;
        }),
      };
      const checked = played(file, scenario);
      told.push({ file, ...checked });
      if (!checked.passed) failed += 1;
      if (given.flag("json")) continue;
      const verdict = checked.passed ? style.green("✓") : style.red("✗");
      output.line(`${verdict} ${file}: ${counted(checked.steps, "step")}`);
      for (const { step, problem } of checked.failures) {
        const path = `$.steps[${step}]`;
        const place = placeIn(source, path);
        output.line(`  ${place === undefined ? "" : `${file}:${place.line}: `}steps[${step}]: ${problem}`);
        const offset = source.json === undefined ? undefined : offsetOf(source.json, path);
        if (source.json !== undefined && offset !== undefined) {
          for (const line of frame(source.json.text, offset)) output.line(`    ${style.dim(line)}`);
        }
      }
    }
    if (given.flag("json")) output.json(told);
    else if (given.words.length > 1) {
      output.line(
        failed === 0 ? `all ${given.words.length} pass` : `${failed} of ${given.words.length} fail`,
      );
    }
    return failed === 0 ? EXIT.ok : EXIT.faults;
  },
};

function played(file: string, scenario: object): Checked {
  try {
    // What it is to be, the core says.
    return checkScenario(scenario as Scenario);
  } catch (error) {
    if (!(error instanceof StatewrightError)) throw error;
    throw new Refusal(`\`${file}\` cannot be played: ${error.message}`, { exit: EXIT.faults });
  }
}
