// What is shared, saved and loaded: machines and what was done with them. All of it may come from a stranger.

import type { JsonDefinition, Scenario } from "statewright";

import { exactJson } from "../../parts/exact-numbers.ts";
import { isObject, type JsonObject } from "../../parts/json-value.ts";

/** What a simulation begins with. */
export interface Content {
  readonly definitions: readonly JsonDefinition[];
  readonly scenario?: Scenario;
  /** The entity that is looked at. */
  readonly subject?: { readonly machine_id: string; readonly entity_id: string };
}

/** How many characters of JSON are read, of a link or of a file. */
export const MOST_TEXT = 2 * 1024 * 1024;
const MOST_DEEP = 100;
const MOST_MACHINES = 200;
const MOST_STEPS = 20_000;

/** Content that cannot be read, and why: a sentence for people. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Reads JSON text of a scenario, of a definition, of a list of definitions, or of an object with `machines`. */
export function contentOfText(text: string): Content {
  return contentOf(jsonOf(text));
}

/** The JSON value of a text that is neither too long nor too deep. */
export function jsonOf(text: string): unknown {
  if (text.length > MOST_TEXT) throw new Unreadable("It has more than 2 MB, which is more than is read");
  if (depthOf(text) > MOST_DEEP) throw new Unreadable(`It is nested more than ${MOST_DEEP} deep`);
  try {
    return exactJson(text);
  } catch (error) {
    if (error instanceof RangeError)
      throw new Unreadable(`It has a number that is not kept: ${error.message}`);
    throw new Unreadable(`It is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What a value is: it is looked at as far as a simulation needs, which then says what else is wrong with it. */
function contentOf(value: unknown): Content {
  if (Array.isArray(value)) return { definitions: definitionsOf(value, "the list") };
  if (!isObject(value)) throw new Unreadable("It is neither a scenario nor a definition");
  if ("statewright" in value || "steps" in value) return scenarioContent(value);
  if ("machines" in value) return { definitions: definitionsOf(value["machines"], "`machines`") };
  return { definitions: definitionsOf([value], "the file") };
}

function scenarioContent(value: JsonObject): Content {
  const scenario = scenarioOf(value);
  return { definitions: definitionsOf(scenario.machines, "`machines` of the scenario"), scenario };
}

/** A scenario, as far as its shape goes. */
export function scenarioOf(value: unknown): Scenario {
  if (!isObject(value)) throw new Unreadable("The scenario is no object");
  if (value["statewright"] !== "scenario/1") {
    throw new Unreadable('It is no scenario of this version: `statewright` must be "scenario/1"');
  }
  const { machines, steps = [] } = value;
  if (!Array.isArray(machines)) throw new Unreadable("The scenario has no list of `machines`");
  if (!Array.isArray(steps)) throw new Unreadable("`steps` of the scenario is no list");
  if (steps.length > MOST_STEPS) throw new Unreadable(`The scenario has more than ${MOST_STEPS} steps`);
  for (const [place, step] of steps.entries()) {
    if (!isObject(step) || typeof step["op"] !== "string") {
      throw new Unreadable(`Step ${place + 1} of the scenario has no operation`);
    }
  }
  return { ...value, statewright: "scenario/1", machines, steps };
}

/** Definitions, as far as their shape goes. */
export function definitionsOf(value: unknown, where: string): readonly JsonDefinition[] {
  if (!Array.isArray(value) || value.length === 0) throw new Unreadable(`There is no machine in ${where}`);
  if (value.length > MOST_MACHINES) throw new Unreadable(`There are more than ${MOST_MACHINES} machines`);
  return value.map((definition: unknown) => {
    if (!isDefinition(definition)) {
      throw new Unreadable(
        `Something in ${where} is no definition: it has no \`machine_id\` or no \`transitions\``,
      );
    }
    return definition;
  });
}

/** The package finds what else is wrong. */
function isDefinition(value: unknown): value is JsonDefinition {
  return isObject(value) && typeof value["machine_id"] === "string" && Array.isArray(value["transitions"]);
}

/** How deep the brackets of a JSON text go: looked at before it is parsed, so that nothing overflows. */
function depthOf(text: string): number {
  let [depth, most, quoted] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (quoted) {
      if (letter === "\\") at++;
      else if (letter === '"') quoted = false;
    } else if (letter === '"') quoted = true;
    else if (letter === "[" || letter === "{") most = Math.max(most, ++depth);
    else if (letter === "]" || letter === "}") depth--;
  }
  return most;
}
