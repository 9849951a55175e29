// `statewright simulate`: a machine in the terminal.

import { createInterface } from "node:readline/promises";

import { isObject } from "../../json-value.ts";
import { machineOf } from "../checking.ts";
import type { Command, Given } from "../command.ts";
import { Conversation, type Subject } from "../conversation.ts";
import { objectOf, readDefinitions, readSource } from "../files.ts";
import { EXIT, type Exit, Refusal } from "../refusal.ts";
import { Simulation } from "../simulation.ts";
import type { Output, Terminal } from "../terminal.ts";
import { timeOf } from "../time.ts";

export const simulate: Command = {
  name: "simulate",
  summary: "runs a machine in the terminal: events, a clock, why-not, undo",
  usage: ["simulate <file> [--machine <id>] [--entity <id>] [--context <json>]"],
  about: [
    "Makes an entity and takes a command a line; `help` lists them. An event is sent by its name, with params as name=value words or a JSON object. The clock stands still until it is told to go on. `save` writes what was done as a scenario, which `check` plays; given one in place of a definition, `simulate` goes on where it ends.",
    "Where the input is no terminal, each line is shown before what it does, and the command ends with 1 where one was refused or not understood.",
  ],
  options: {
    machine: {
      type: "string",
      short: "m",
      value: "id",
      help: "which machine of the file; the first if left out",
    },
    entity: { type: "string", short: "e", value: "id", help: "the entity's id (`e-1`)" },
    context: { type: "string", short: "c", value: "json", help: "the entity's context" },
    now: {
      type: "string",
      value: "time",
      help: "what the clock reads at first (now): milliseconds, or a date",
    },
  },
  words: { least: 1, most: 1, what: "a file of a definition or of a scenario" },
  examples: ["statewright simulate order.json", "echo 'pay amount=25' | statewright simulate order.json"],
  async run(given, output, terminal) {
    const [file = ""] = given.words;
    const { value } = await readSource(file, terminal);
    const isScenario = isObject(value) && "statewright" in value;
    const now = given.text("now");
    const start = now === undefined ? Date.now() : timeOf("--now", now);
    const [simulation, subject] = isScenario
      ? resumed(start, value, given)
      : await begun(start, file, given, output, terminal);
    return converse(new Conversation(simulation, subject, output, terminal.cwd), output, terminal);
  },
};

/** An entity of a definition. */
async function begun(
  now: number,
  file: string,
  given: Given,
  output: Output,
  terminal: Terminal,
): Promise<[Simulation, Subject]> {
  const definitions = await readDefinitions(file, terminal, given.text("machine"));
  const simulation = new Simulation(now, [machineOf(definitions, output)]);
  const subject = {
    machine_id: definitions.list[0]?.machine_id ?? "",
    entity_id: given.text("entity") ?? "e-1",
  };
  const context = objectOf("--context", given.text("context") ?? "{}");
  simulation.expect("create", {
    machine_id: subject.machine_id,
    body: { entity_id: subject.entity_id, context },
  });
  return [simulation, subject];
}

/** The last entity of a scenario, after all of its steps. */
function resumed(now: number, scenario: object, given: Given): [Simulation, Subject] {
  const simulation = new Simulation(now, []);
  simulation.expect("import", { body: scenario });
  const entities = simulation.expect("entities") as Subject[];
  const wanted = given.text("entity");
  const machine = given.text("machine");
  const found = entities.filter(
    ({ machine_id, entity_id }) =>
      (wanted === undefined ? !entity_id.includes("::sub::") : entity_id === wanted) &&
      (machine === undefined || machine_id === machine),
  );
  const last = found.at(-1);
  if (last === undefined) throw new Refusal("the scenario leaves no such entity", { exit: EXIT.faults });
  return [simulation, { machine_id: last.machine_id, entity_id: last.entity_id }];
}

async function converse(
  conversation: Conversation,
  output: Output,
  { stdin, stdout }: Terminal,
): Promise<Exit> {
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  const { style, errorStyle } = output;
  const completer = (line: string): [string[], string] => [
    conversation.completions(line),
    line.split(/\s+/).at(-1) ?? "",
  ];
  const reader = createInterface({
    input: stdin,
    output: isTerminal ? stdout : undefined,
    terminal: isTerminal,
    completer,
  });
  let exit: Exit = EXIT.ok;
  const prompt = () => {
    if (!isTerminal) return;
    reader.setPrompt(conversation.prompt());
    reader.prompt();
  };
  if (isTerminal) {
    output.line(style.dim("`help` lists the commands, `events` what can be sent; Ctrl-D ends."));
    reader.on("SIGINT", () => reader.close());
  }
  prompt();
  for await (const line of reader) {
    if (!isTerminal && line.trim() !== "") output.line(style.dim(`> ${line}`));
    try {
      conversation.take(line);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!isTerminal) exit = EXIT.faults;
      output.note(`${errorStyle.red("✗")} ${error.message}`);
      for (const hint of error.hints) output.note(`  ${hint}`);
    }
    if (conversation.isOver) break;
    prompt();
  }
  reader.close();
  if (isTerminal) output.line();
  return exit;
}
