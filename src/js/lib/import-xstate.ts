// Carries an XState v5 machine over into definitions. docs/xstate.md tells what becomes of what.

import type { Definition } from "./definition.ts";
import type { GuardTable } from "./import-xstate/guards.ts";
import { Machines } from "./import-xstate/machines.ts";
import type { ActionTable } from "./import-xstate/moves.ts";
import { Nodes, refusal, wrongOption } from "./import-xstate/nodes.ts";
import { type NotCarried, Notes, shown } from "./import-xstate/notes.ts";
import { isObject } from "./json-value.ts";

export type { GuardTable } from "./import-xstate/guards.ts";
export type { ActionTable } from "./import-xstate/moves.ts";
export type { NotCarried } from "./import-xstate/notes.ts";

/** What an import is told beside the config. */
export interface ImportOptions {
  /** The name of the machine; the config's `id` where it is left out. Children are named after it and their state. */
  readonly machineId?: string;
  /** What each guard means, by its name. A transition whose guard is not in it is left out, and listed. */
  readonly guards?: GuardTable;
  /**
   * What each action becomes, by its name: an action of the definition, for one on entry; or `"merge"`, for one of a
   * transition that assigns the event's params to the context, which every event does here.
   */
  readonly actions?: ActionTable;
  /** How many milliseconds each named delay has. */
  readonly delays?: Readonly<Record<string, number>>;
}

/** What an import makes. */
export interface Imported {
  /** The machine's definition. */
  readonly definition: Definition;
  /** Those of its children, and theirs: of each state that has states of its own. */
  readonly machines: readonly Definition[];
  /** The context that the config starts with, to make entities with. */
  readonly context: Readonly<Record<string, unknown>>;
  /** All that the definitions do not say, or that behaves otherwise in them. */
  readonly notCarried: readonly NotCarried[];
}

/**
 * Carries an XState v5 machine over: what `createMachine` was given, or what it made.
 *
 * What the definitions say behaves as in XState, so far as `notCarried` does not say otherwise; tests run both side by
 * side. It only reads: no function of the config is called.
 *
 * @throws StatewrightError `BAD_REQUEST` where the value is no config of a machine, or an option is wrong.
 */
export function importXState(machine: unknown, options: ImportOptions = {}): Imported {
  check(options);
  const notes = new Notes();
  const { config, delays } = configOf(machine);
  if (!isObject(config["states"]) && config["type"] !== "parallel") {
    throw refusal(
      Array.isArray(config["states"])
        ? "its `states` is a list, as in a definition of Statewright"
        : "it has no `states`",
    );
  }
  const id = options.machineId ?? (typeof config["id"] === "string" ? config["id"] : "machine");
  const nodes = new Nodes(config, typeof config["id"] === "string" ? config["id"] : "(machine)", notes);
  const given = {
    nodes,
    notes,
    guards: options.guards ?? {},
    actions: options.actions ?? {},
    delays: { ...delays, ...options.delays },
    rests: new WeakMap(),
  };
  const machines = new Machines(given, id);
  const definition = machines.root();
  if (machines.machines.length > 0) noteChildren(machines.machines, definition, notes);
  return {
    definition,
    machines: machines.machines,
    context: contextOf(config, notes),
    notCarried: notes.list,
  };
}

/** Options come from files, too: what is misspelt there would be missed in silence. */
function check(options: unknown): void {
  if (!isObject(options)) throw wrongOption("options", options, "an object");
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (name === "machineId") {
      if (typeof value !== "string") throw wrongOption(name, value, "a text");
    } else if (name === "guards" || name === "actions" || name === "delays") {
      if (!isObject(value)) throw wrongOption(name, value, "an object");
    } else {
      throw wrongOption("options", name, "`machineId`, `guards`, `actions`, `delays`");
    }
  }
  for (const [name, action] of Object.entries(isObject(options["actions"]) ? options["actions"] : {})) {
    const isAction = action === "merge" || (isObject(action) && typeof action["type"] === "string");
    if (!isAction) throw wrongOption(`actions.${name}`, action, '"merge", or an action of a definition');
  }
}

/** The config of what `createMachine` made, or the value itself. */
function configOf(machine: unknown): {
  config: Readonly<Record<string, unknown>>;
  delays: Readonly<Record<string, unknown>>;
} {
  if (!isObject(machine)) throw refusal(`it is ${shown(machine)}`);
  if (!isObject(machine["config"])) return { config: machine, delays: {} };
  const given = machine["implementations"];
  const delays = isObject(given) && isObject(given["delays"]) ? given["delays"] : {};
  return { config: machine["config"], delays };
}

function contextOf(
  config: Readonly<Record<string, unknown>>,
  notes: Notes,
): Readonly<Record<string, unknown>> {
  const { context } = config;
  if (context === undefined) return {};
  try {
    const text: unknown = typeof context === "function" ? undefined : JSON.stringify(context);
    const plain: unknown = typeof text === "string" ? JSON.parse(text) : undefined;
    if (isObject(plain)) return plain;
  } catch {
    // It refers to itself, or holds what JSON has no form for.
  }
  notes.add(
    "$.context",
    "`context`",
    "it is no JSON object; an entity is made with the context that you give it",
  );
  return {};
}

/** Notes what is otherwise wherever a machine has children. */
function noteChildren(machines: readonly Definition[], root: Definition, notes: Notes): void {
  const why =
    "they are entities of their own: an event is sent to one by `target`, and never goes there by itself. XState " +
    "asks the innermost states first; so send it to the innermost child that takes it";
  notes.add("$", "events of nested states", why);
  const guarded = [root, ...machines].filter(({ transitions }) =>
    transitions.some(({ guard }) => Object.keys(guard ?? {}).some((key) => key !== "after_ms")),
  );
  if (guarded.length === 0) return;
  const names = guarded.map(({ machine_id }) => `\`${machine_id}\``).join(", ");
  notes.add(
    "$.context",
    `one context for all, in guards of ${names}`,
    "each child has a context of its own, which starts empty and gets the params of its own events",
  );
}
