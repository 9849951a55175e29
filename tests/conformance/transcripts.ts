// Transcripts on the native session, which is held to what the vectors expect. What it was asked and what it answered is what
// every other host is compared with.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { ROOT } from "../../scripts/paths.ts";
import { canonical, type Fields, filled, type Json, parse } from "./matching.ts";
import type { Reply } from "./hosts/sessions.ts";
import { type Transcript } from "./translate.ts";
import { capture, type Step, wrong } from "./vectors.ts";

/** The tenant of every session. */
export const TENANT = "t1";

/** A transcript as it was played: nothing in it is left to be filled in. */
export interface Played {
  readonly name: string;
  readonly contract: string;
  readonly start: number;
  /** Operation and arguments, these as JSON text. */
  readonly asked: readonly (readonly [op: string, args: string])[];
  /** The answers: a status and a body's canonical JSON each. */
  readonly answers: readonly string[];
}

/** An answer in the form that is compared. */
export function comparable([status, body]: Reply): string {
  return `${status} ${canonical(parse(body))}`;
}

/** The session of the core itself, in a process of its own. */
export class Native {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    const example = ["--locked", "--quiet", "-p", "statewright-core", "--example", "conformance"];
    const built = spawnSync("cargo", ["build", ...example], { cwd: ROOT, stdio: "inherit" });
    if (built.status !== 0) throw new Error("the native session was not built");
    this.#process = spawn(join(ROOT, "target", "debug", "examples", "conformance"), {
      stdio: ["pipe", "pipe", "inherit"],
    });
    if (this.#process.stdout === null) throw new Error("it has no output");
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  async #ask(asked: string): Promise<string> {
    this.#process.stdin?.write(`${asked}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`the native session ended at ${asked.slice(0, 200)}`);
    return value;
  }

  /** Plays a transcript; says what is wrong with an answer, by what the vector expects. */
  async play({ name, contract, start, ops }: Transcript): Promise<Played | string> {
    await this.#ask(JSON.stringify(["begin", start, TENANT, false]));
    const captured: Fields = {};
    const asked: [string, string][] = [];
    const answers: string[] = [];
    for (const [place, { op, args, repeat, step }] of ops.entries()) {
      for (let time = 0; time < repeat; time += 1) {
        const given = JSON.stringify(filled(args, captured));
        const answer = parse(await this.#ask(`[${JSON.stringify(op)},${given}]`));
        const [status, body = null] = answer as [number, Json];
        const expected = filled(step as unknown as Json, captured) as unknown as Step;
        const problem =
          wrong(expected, step.op === "tick" ? undefined : status, body, null) ??
          capture(step, body, captured);
        if (problem !== undefined) return `${name} (${contract}): step ${place} (${op}): ${problem}`;
        asked.push([op, given]);
        answers.push(`${status} ${canonical(body)}`);
      }
    }
    return { name, contract, start, asked, answers };
  }

  /** Ends the process. */
  close(): void {
    this.#process.stdin?.end();
  }
}
