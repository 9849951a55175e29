// What a command reads from and writes to. Colours only where somebody sees them.

import type { Readable, Writable } from "node:stream";

/** Where a command runs. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** Puts a text into a style, or leaves it as it is. */
export type Paint = (text: string) => string;

/** The styles that output uses. */
export interface Styles {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
}

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

/** Whether a stream is to have colours: https://no-color.org, then FORCE_COLOR, then whether it is a terminal. */
export function isColoured(stream: { readonly isTTY?: boolean }, env: Terminal["env"]): boolean {
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return stream.isTTY === true && env["TERM"] !== "dumb";
}

/** The styles of a stream. */
function stylesOf(stream: { readonly isTTY?: boolean }, env: Terminal["env"]): Styles {
  const coloured = isColoured(stream, env);
  const paint =
    ([on, off]: readonly [number, number]): Paint =>
    (text) =>
      coloured && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: paint(CODES.bold),
    dim: paint(CODES.dim),
    red: paint(CODES.red),
    green: paint(CODES.green),
    yellow: paint(CODES.yellow),
    cyan: paint(CODES.cyan),
  };
}

/** What a command says. */
export class Output {
  /** Styles of what goes to standard output. */
  readonly style: Styles;
  /** Styles of what goes to standard error. */
  readonly errorStyle: Styles;
  private readonly terminal: Terminal;

  constructor(terminal: Terminal) {
    this.terminal = terminal;
    this.style = stylesOf(terminal.stdout, terminal.env);
    this.errorStyle = stylesOf(terminal.stderr, terminal.env);
  }

  /** A line of what was asked for. */
  line(text = ""): void {
    this.terminal.stdout.write(`${text}\n`);
  }

  /** What was asked for, as JSON. */
  json(value: unknown): void {
    this.line(JSON.stringify(value, null, 2));
  }

  /** A line about what was asked for: it does not get into a pipe. */
  note(text = ""): void {
    this.terminal.stderr.write(`${text}\n`);
  }
}
