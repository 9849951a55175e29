// The texts of the definitions, and what is wrong with them: each by itself, and all of them as a family.

import { type AnyMachine, defineMachine, type JsonDefinition, StatewrightError, validate } from "statewright";

import type { Problem } from "../editor/editor.tsx";
import { inexactIn, inexactText } from "../parts/exact-numbers.ts";

/** A definition as it is written: a tab of the editor. */
export interface Doc {
  readonly key: number;
  readonly text: string;
  /** The `machine_id`, or "untitled". */
  readonly name: string;
  readonly problems: readonly Problem[];
  /** Whether it is no JSON: the editor says where. */
  readonly broken: boolean;
}

/** A text, and its definition where it has no faults of its own. */
interface Read {
  readonly text: string;
  readonly name: string;
  readonly problems: readonly Problem[];
  readonly broken: boolean;
  readonly definition: JsonDefinition | undefined;
}

/** What all documents are together. */
export interface Family {
  readonly docs: readonly Doc[];
  /** Their machines, where none of them has a fault; in the order of the documents. */
  readonly machines: readonly AnyMachine[] | undefined;
}

const UNTITLED = "untitled";

function nameOf(value: unknown): string {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "machine_id")) return UNTITLED;
  const { machine_id } = value as { machine_id: unknown };
  return typeof machine_id === "string" && machine_id !== "" ? machine_id : UNTITLED;
}

function fault(path: string, message: string): Problem {
  return { path, severity: "error", message };
}

function faultsOf(error: unknown): Problem[] {
  if (!(error instanceof StatewrightError)) return [fault("$", String(error))];
  const { faults, path } = error.details;
  if (faults === undefined || faults.length === 0) return [fault(path ?? "$", error.message)];
  return faults.map(({ path: at, problem, expected }) => fault(at, `${problem}; expected ${expected}`));
}

/** Reads a text by itself. As long as it is no JSON, it keeps the name that it had. */
function read(text: string, before: string = UNTITLED): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { text, name: before, problems: [], broken: true, definition: undefined };
  }
  const name = nameOf(value);
  const inexact = inexactIn(text).map(({ path, literal }) => fault(path, inexactText(literal)));
  if (inexact.length > 0) return { text, name, problems: inexact, broken: false, definition: undefined };
  try {
    const { valid, faults, warnings } = validate(value);
    const problems = [
      ...faults.map(({ path, problem, expected }) => fault(path, `${problem}; expected ${expected}`)),
      ...warnings.map(({ path, message }): Problem => ({ path, severity: "warning", message })),
    ];
    // A value without faults is a definition.
    return { text, name, problems, broken: false, definition: valid ? (value as JsonDefinition) : undefined };
  } catch (error) {
    return { text, name, problems: faultsOf(error), broken: false, definition: undefined };
  }
}

/** A child that a definition names, and where. */
interface Named {
  readonly machine_id: string;
  readonly path: string;
}

/** A key as the core writes it in a path. */
function keyed(path: string, key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

function childrenOf(definition: JsonDefinition): Named[] {
  const of = (subs: unknown, path: string): Named[] =>
    Object.entries((subs ?? {}) as Record<string, { machine_id: string }>).map(([state, sub]) => ({
      machine_id: sub.machine_id,
      path: `${keyed(path, state)}.machine_id`,
    }));
  return [
    ...of(definition.sub_machines, "$.sub_machines"),
    ...(definition.regions ?? []).flatMap((region, at) =>
      of(region.sub_machines, `$.regions[${at}].sub_machines`),
    ),
  ];
}

/** The machines that nothing names as a child: where a simulation begins. */
export function rootsOf(definitions: readonly JsonDefinition[]): readonly string[] {
  const named = new Set(
    definitions.flatMap((definition) =>
      childrenOf(definition)
        .map(({ machine_id }) => machine_id)
        .filter((child) => child !== definition.machine_id),
    ),
  );
  const roots = definitions.map(({ machine_id }) => machine_id).filter((id) => !named.has(id));
  return roots.length > 0 ? roots : definitions.slice(0, 1).map(({ machine_id }) => machine_id);
}

/** The texts that are open, and what was found in them; a text that did not change is not looked at again. */
export class Documents {
  #read = new Map<number, Read>();
  #compiled = new Map<string, { key: string; machine: AnyMachine }>();

  /** Looks at all of them. */
  check(texts: readonly { readonly key: number; readonly text: string }[]): Family {
    const before = this.#read;
    this.#read = new Map(
      texts.map(({ key, text }) => {
        const known = before.get(key);
        return [key, known?.text === text ? known : read(text, known?.name)];
      }),
    );
    const found = new Map([...this.#read].map(([key, { problems }]) => [key, [...problems]]));
    const machines = this.#family(found);
    const docs = [...this.#read].map(([key, { text, name, broken }]) => ({
      key,
      text,
      name,
      broken,
      problems: found.get(key) ?? [],
    }));
    const faulty = docs.some(
      ({ broken, problems }) => broken || problems.some(({ severity }) => severity === "error"),
    );
    return { docs, machines: faulty || docs.length === 0 ? undefined : machines };
  }

  /** Compiles what can be compiled, children before those that name them, and adds what does not fit together. */
  #family(found: Map<number, Problem[]>): readonly AnyMachine[] {
    const byId = new Map<string, { key: number; definition: JsonDefinition; text: string }>();
    for (const [key, { definition, text }] of this.#read) {
      if (definition === undefined) continue;
      const { machine_id } = definition;
      if (byId.has(machine_id)) {
        found.get(key)?.push(fault("$.machine_id", `another tab defines \`${machine_id}\` already`));
      } else byId.set(machine_id, { key, definition, text });
    }
    const made = new Map<string, { key: string; machine: AnyMachine } | undefined>();
    const make = (id: string): { key: string; machine: AnyMachine } | undefined => {
      const of = byId.get(id);
      // One that is being made names itself by a way round: it is looked at without.
      if (of === undefined || made.has(id)) return made.get(id);
      made.set(id, undefined);
      const children = childrenOf(of.definition);
      const known = new Map(children.map(({ machine_id }) => [machine_id, make(machine_id)]));
      const others = [...known.values()].filter((child) => child !== undefined);
      for (const { machine_id, path } of children) {
        if (!byId.has(machine_id) && !this.#isOpen(machine_id)) {
          const message = `no tab defines the child's machine \`${machine_id}\``;
          found.get(of.key)?.push({ path, severity: "warning", message });
        }
      }
      const key = JSON.stringify([of.text, ...others.map((other) => other.key)]);
      try {
        const before = this.#compiled.get(id);
        const machines = others.map(({ machine }) => machine);
        const machine = before?.key === key ? before.machine : defineMachine(of.definition, { machines });
        made.set(id, { key, machine });
      } catch (error) {
        found.get(of.key)?.push(...faultsOf(error));
      }
      return made.get(id);
    };
    const all = [...byId.keys()].map(make);
    this.#compiled = new Map(
      [...made].flatMap(([id, one]) => (one === undefined ? [] : [[id, one] as const])),
    );
    return all.flatMap((one) => (one === undefined ? [] : [one.machine]));
  }

  /** Whether a tab is of that machine, though it has faults. */
  #isOpen(machine: string): boolean {
    return [...this.#read.values()].some(({ name }) => name === machine);
  }
}
