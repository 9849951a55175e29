// All commands, in the order in which they are told.

import type { Command } from "./command.ts";
import { check } from "./commands/check.ts";
import { dev } from "./commands/dev.ts";
import { diagram } from "./commands/diagram.ts";
import { explain } from "./commands/explain.ts";
import { importXstate } from "./commands/import-xstate.ts";
import { init } from "./commands/init.ts";
import { simulate } from "./commands/simulate.ts";
import { types } from "./commands/types.ts";
import { validate } from "./commands/validate.ts";

export const COMMANDS: readonly Command[] = [
  init,
  dev,
  validate,
  diagram,
  simulate,
  explain,
  check,
  types,
  importXstate,
];
