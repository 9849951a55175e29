#!/usr/bin/env node
// `npx statewright`: the command.

import { EXIT } from "./refusal.ts";
import { run } from "./run.ts";
import type { Terminal } from "./terminal.ts";

const terminal: Terminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
};

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Who reads the output may have had enough of it: `statewright diagram … | head`.
  if (error.code === "EPIPE") process.exit();
  process.stderr.write(`statewright: the output cannot be written: ${error.message}\n`);
  process.exit(EXIT.faults);
});

run(process.argv.slice(2), terminal).then(
  (exit) => {
    process.exitCode = exit;
  },
  (error: unknown) => {
    process.stderr.write(
      `statewright: this is a fault of the command itself\n${error instanceof Error ? error.stack : String(error)}\n`,
    );
    process.exitCode = 70;
  },
);
