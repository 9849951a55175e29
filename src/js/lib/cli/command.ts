// What a command is, and how its arguments are read and told.

import { parseArgs } from "node:util";

import { nearest } from "./nearest.ts";
import { type Exit, messageOf, Refusal } from "./refusal.ts";
import type { Output, Terminal } from "./terminal.ts";

/** An option: `--port 3050`, or `--json`. */
export interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** May be given more than once. */
  readonly multiple?: boolean;
  /** What stands for its value in the help. */
  readonly value?: string;
  readonly help: string;
}

/** What a command was given. */
export interface Given {
  readonly words: readonly string[];
  /** An option's value; the last one where it was given more than once. */
  text(name: string): string | undefined;
  /** All values of an option. */
  texts(name: string): readonly string[];
  flag(name: string): boolean;
  /** A whole number within bounds. */
  whole(name: string, fallback: number, least: number, most: number): number;
}

/** A command. */
export interface Command {
  readonly name: string;
  /** In one line, for the list of commands. */
  readonly summary: string;
  /** Its forms, without the program's name. */
  readonly usage: readonly string[];
  /** What it does, in paragraphs. */
  readonly about: readonly string[];
  readonly options: Readonly<Record<string, Option>>;
  /** How many words it takes besides its options. */
  readonly words: { readonly least: number; readonly most: number; readonly what: string };
  readonly examples?: readonly string[];
  run(given: Given, output: Output, terminal: Terminal): Promise<Exit>;
}

/** What every command has. */
const COMMON: Readonly<Record<string, Option>> = {
  help: { type: "boolean", short: "h", help: "tells what the command does, and ends" },
};

/** Reads a command's arguments; undefined where help is asked for. */
export function readArguments(command: Command, args: readonly string[]): Given | undefined {
  const options = { ...command.options, ...COMMON };
  const see = `See \`statewright ${command.name} --help\`.`;
  if (args.some((arg) => arg === "--help" || arg === "-h")) return undefined;
  let parsed;
  try {
    const wanted = Object.fromEntries(
      Object.entries(options).map(([name, { type, short, multiple }]) => [
        name,
        { type, ...(short === undefined ? {} : { short }), multiple: multiple === true },
      ]),
    );
    parsed = parseArgs({ args: [...args], options: wanted, allowPositionals: true, strict: true });
  } catch (error) {
    const message = messageOf(error);
    const unknown = /Unknown option '(-[^']*)'/.exec(message)?.[1];
    if (unknown === undefined) throw new Refusal(plain(message), { hints: [see] });
    const meant = nearest(unknown.replace(/^-+/, ""), Object.keys(options));
    const hints = meant === undefined ? [see] : [`Did you mean \`--${meant}\`? ${see}`];
    throw new Refusal(`\`${command.name}\` has no option \`${unknown}\``, { hints });
  }
  const { positionals: words, values } = parsed;
  const { least, most, what } = command.words;
  if (words.length < least)
    throw new Refusal(`\`${command.name}\` needs ${what}`, { hints: [usageOf(command), see] });
  if (words.length > most) {
    const extra = words[most] ?? "";
    throw new Refusal(`\`${extra}\` is one word too many for \`${command.name}\``, {
      hints: [usageOf(command), see],
    });
  }
  const texts = (name: string): readonly string[] => {
    const value = values[name];
    return (Array.isArray(value) ? value : [value]).filter((each) => typeof each === "string");
  };
  const text = (name: string) => texts(name).at(-1);
  return {
    words,
    text,
    texts,
    flag: (name) => values[name] === true,
    whole(name, fallback, lowest, highest) {
      const given = text(name);
      if (given === undefined) return fallback;
      const value = Number(given);
      if (Number.isInteger(value) && value >= lowest && value <= highest && given.trim() !== "") return value;
      throw new Refusal(`--${name} is \`${given}\`; a whole number from ${lowest} to ${highest} is needed`);
    },
  };
}

/** Node's words for what is wrong with an option, without its advice about `--`. */
function plain(message: string): string {
  const first = message.split("\n")[0]?.replace(/\. (To specify|Did you forget).*$/, "") ?? message;
  return first.replaceAll("'", "`").replace(/^./, (letter) => letter.toLowerCase());
}

function usageOf(command: Command): string {
  return `Usage: ${command.usage.map((form) => `statewright ${form}`).join("\n       ")}`;
}

/** A command's help. */
export function helpOf(command: Command, { style }: Output): string {
  const options = Object.entries({ ...command.options, ...COMMON }).map(
    ([name, option]): [string, string] => {
      const short = option.short === undefined ? "    " : `-${option.short}, `;
      const value = option.type === "string" ? ` <${option.value ?? "text"}>` : "";
      return [`${short}--${name}${value}`, option.help];
    },
  );
  const width = Math.max(...options.map(([left]) => left.length));
  return [
    `${style.bold(`statewright ${command.name}`)}: ${command.summary}`,
    "",
    usageOf(command),
    "",
    ...command.about.flatMap((paragraph) => [...wrapped(paragraph, 90), ""]),
    style.bold("Options"),
    ...options.flatMap(([left, help]) => {
      const [first = "", ...rest] = wrapped(help, 86 - width);
      const indent = " ".repeat(width + 4);
      return [`  ${left.padEnd(width)}  ${first}`, ...rest.map((line) => `${indent}${line}`)];
    }),
    ...(command.examples === undefined
      ? []
      : ["", style.bold("Examples"), ...command.examples.map((example) => `  ${example}`)]),
  ].join("\n");
}

/** A text in lines of at most so many letters. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + word.length + 1 > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
