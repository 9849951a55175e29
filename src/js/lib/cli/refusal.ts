// Why a command ends before it is done.

/** What a command ends with. docs/cli.md lists them. */
export const EXIT = {
  /** Done, and all is well. */
  ok: 0,
  /** Done, and something is wrong with what was looked at; or a service refused. */
  faults: 1,
  /** The command was not given what it needs. */
  usage: 2,
} as const;

/** One of the exit codes. */
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** What an error says, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A reason to stop that a person can act on. */
export class Refusal extends Error {
  readonly exit: Exit;
  /** What would help, in lines of their own. */
  readonly hints: readonly string[];

  constructor(
    message: string,
    { exit = EXIT.usage, hints = [] }: { exit?: Exit; hints?: readonly string[] } = {},
  ) {
    super(message);
    this.exit = exit;
    this.hints = hints;
  }
}
