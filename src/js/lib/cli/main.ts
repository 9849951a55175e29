#!/usr/bin/env node
// `npx statewright`: the command.

import { run } from "./run.ts";
import type { Terminal } from "./terminal.ts";

const terminal: Terminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
};

// Who reads the output may have had enough of it: `statewright diagram … | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});

run(process.argv.slice(2), terminal).then(
  (exit) => {
    process.exitCode = exit;
  },
  (error: unknown) => {
    process.stderr.write(
      `statewright: this is a fault of the command itself\n${String((error as Error).stack)}\n`,
    );
    process.exitCode = 70;
  },
);
