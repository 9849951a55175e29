// Finds the command that was asked for, and runs it.

import { StatewrightError } from "../errors.ts";
import { type Command, helpOf, readArguments } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { nearest } from "./nearest.ts";
import { packageVersion } from "./package.ts";
import { EXIT, type Exit, Refusal } from "./refusal.ts";
import { Output, type Terminal } from "./terminal.ts";

/** Runs the command that the arguments name; what it ends with. It throws only where the program itself is at fault. */
export async function run(args: readonly string[], terminal: Terminal): Promise<Exit> {
  const output = new Output(terminal);
  try {
    return await dispatched(args, output, terminal);
  } catch (error) {
    const refusal = asRefusal(error);
    if (refusal === undefined) throw error;
    const { errorStyle } = output;
    output.note(`${errorStyle.red("statewright:")} ${refusal.message}`);
    for (const hint of refusal.hints) output.note(`  ${hint}`);
    // Who reads the answer with a program gets one, whatever it is.
    if (args.includes("--json")) output.json({ error: { message: refusal.message, hints: refusal.hints } });
    return refusal.exit;
  }
}

async function dispatched(args: readonly string[], output: Output, terminal: Terminal): Promise<Exit> {
  const [name, ...rest] = args;
  if (name === undefined) {
    output.note(overview(output));
    return EXIT.usage;
  }
  if (name === "--help" || name === "-h") return told(overview(output), output);
  if (name === "--version" || name === "-V" || name === "-v") return told(packageVersion(), output);
  if (name === "help") return help(rest, output);
  const command = find([name, ...rest]);
  const given = readArguments(command, rest.slice(command.name.split(" ").length - 1));
  if (given === undefined) return told(helpOf(command, output), output);
  return command.run(given, output, terminal);
}

function help(words: readonly string[], output: Output): Exit {
  if (words.length === 0) return told(overview(output), output);
  return told(helpOf(find(words), output), output);
}

function told(text: string, output: Output): Exit {
  output.line(text);
  return EXIT.ok;
}

/** The command that the first words name: most have a name of one word. */
function find(words: readonly string[]): Command {
  const [first = "", second = ""] = words;
  const found = COMMANDS.find(({ name }) => name === first || name === `${first} ${second}`);
  if (found !== undefined) return found;
  if (first.startsWith("-")) {
    throw new Refusal(`there is no option \`${first}\` before a command`, {
      hints: ["See `statewright --help`."],
    });
  }
  const family = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (family.length > 0) {
    const forms = family.map(({ name }) => `\`${name}\``).join(", ");
    throw new Refusal(`\`${first}\` needs to know what: ${forms}`, {
      hints: [`See \`statewright help ${family[0]?.name ?? first}\`.`],
    });
  }
  const meant = nearest(
    first,
    COMMANDS.map(({ name }) => name.split(" ")[0] ?? name),
  );
  const hint =
    meant === undefined
      ? "See `statewright --help`."
      : `Did you mean \`${meant}\`? See \`statewright --help\`.`;
  throw new Refusal(`there is no command \`${first}\``, { hints: [hint] });
}

function overview({ style }: Output): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  return [
    `${style.bold("statewright")} ${packageVersion()}: durable state machines for the edge`,
    "",
    "Usage: statewright <command> [options]",
    "",
    ...COMMANDS.map(({ name, summary }) => `  ${style.cyan(name.padEnd(width))}  ${summary}`),
    "",
    "`statewright help <command>` tells more of one. Exit codes: 0 all is well, 1 something is wrong with what was",
    "looked at, 2 the command was not given what it needs.",
  ].join("\n");
}

/** What a person can act on: our own refusals, and those of the core, the engine and a service. */
function asRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!(error instanceof StatewrightError)) return undefined;
  return new Refusal(`${error.code}: ${error.message}`, { exit: EXIT.faults });
}
