/** What a definition names, checked against itself while it is written. */

import type { Definition } from "./definition.ts";
import type { AnyMachine, Machine, MachineTypes } from "./typed.ts";

/** What `defineMachine` is given beside the definition. */
export interface DefineOptions {
  /** The machines that the definition refers to: those of its children. */
  readonly machines?: readonly AnyMachine[];
  /** What TypeScript is to know of contexts and params; nothing at run time. */
  readonly types?: object;
}

/** How `defineMachine` is called. */
export interface DefineMachine {
  (definition: Definition, options?: DefineOptions): Machine<MachineTypes>;
}
