// What an import makes of a text: loaded when one is first read.

import type { JsonDefinition } from "statewright";
import { type ImportOptions, importXState, type NotCarried } from "statewright/import-xstate";

import { type LeftOut, readXState } from "./read.ts";

/** What a text became. */
export interface Translation {
  /** The machine, and after it its children. */
  readonly definitions: readonly JsonDefinition[];
  readonly notCarried: readonly NotCarried[];
  readonly leftOut: readonly LeftOut[];
}

/** Reads a config out of a text and carries it over, by what a map in JSON says of its names. */
export function translate(text: string, map: string): Translation {
  const options = optionsOf(map);
  const { machine, leftOut } = readXState(text);
  const { definition, machines, notCarried } = importXState(machine, options);
  return { definitions: [definition, ...machines], notCarried, leftOut };
}

/** The package checks what is in it. */
function optionsOf(map: string): ImportOptions {
  if (map.trim() === "") return {};
  try {
    return JSON.parse(map) as ImportOptions;
  } catch (error) {
    throw new Error(`What names mean: ${error instanceof Error ? error.message : "it is no JSON"}`);
  }
}
