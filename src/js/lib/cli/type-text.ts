// TypeScript of definitions: their states and events as unions, and the definitions themselves.

import type { Definition, Guard, ServerKeys, TransitionDef } from "../definition.ts";
import { TIMEOUT_EVENT } from "../reserved.ts";

/** What is written of each definition. */
interface TypeTextOptions {
  /** What the definitions came from, for the first line. */
  readonly from: string;
  /** Whether the definitions are written as well, for `defineMachine`. */
  readonly definitions: boolean;
}

/** The module that tells TypeScript of some definitions. */
export function typeText(definitions: readonly Definition[], options: TypeTextOptions): string {
  const taken = new Set<string>();
  const parts = definitions.map((definition) =>
    typesOf(definition, nameOf(definition.machine_id, taken), options),
  );
  return `${[`// Made by \`statewright types\` from ${options.from}. Do not edit.`, ...parts].join("\n\n")}\n`;
}

/** A machine's id as a name that TypeScript takes: `work_order.v2` is `WorkOrderV2`. */
function nameOf(id: string, taken: Set<string>): string {
  const words = id.normalize("NFC").match(/[\p{L}\p{N}]+/gu) ?? [];
  const joined = words.map((word) => word.replace(/^./u, (letter) => letter.toUpperCase())).join("");
  const name = /^\p{L}/u.test(joined) ? joined : `Machine${joined}`;
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}${number}`;
  taken.add(free);
  return free;
}

function typesOf(definition: Definition, name: string, { definitions }: TypeTextOptions): string {
  const { machine_id: id, description } = definition;
  const regions = definition.regions ?? [];
  const about = description == null ? [] : [description];
  const lines: string[] = [];
  const say = (text: string, ...type: string[]) => lines.push(comment([text]), ...type, "");
  if (regions.length === 0) {
    say(`The states of \`${id}\`.`, `export type ${name}State = ${union(definition.states ?? [])};`);
  } else {
    say(
      `The states of \`${id}\`, by region.`,
      `export interface ${name}State {`,
      ...regions.map((region) => `  readonly ${key(region.id)}: ${union(region.states)};`),
      "}",
    );
  }
  const events = eventsOf(definition.transitions);
  say(`The events of \`${id}\`.`, `export type ${name}Event = ${union([...events.keys()])};`);
  const fields = [...events].filter(([, fields]) => fields.size > 0);
  if (fields.length > 0) {
    say(
      `What guards of \`${id}\` look at, by event: a param, or else a field of the context.`,
      `export interface ${name}Fields {`,
      ...fields.map(
        ([event, fields]) => `  readonly ${key(event)}: { ${[...fields].map(field).join("; ")} };`,
      ),
      "}",
    );
  }
  if (definitions) {
    const text = literal(definitionOnly(definition), "");
    lines.push(
      comment([...about, `\`${id}\`, for \`defineMachine\`.`]),
      `export const ${name.replace(/^./u, (letter) => letter.toLowerCase())} = ${text} as const;`,
    );
  } else lines.pop();
  return lines.join("\n");
}

/** JSON as people write it in TypeScript: on one line where it fits. */
function literal(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const parts = (deeper: string) =>
    isList
      ? value.map((item: unknown) => literal(item, deeper))
      : Object.entries(value).map(([name, item]) => `${key(name)}: ${literal(item, deeper)}`);
  const flat = parts(inner).join(", ");
  if (!flat.includes("\n") && flat.length + indent.length < 90) {
    if (flat === "") return open + close;
    return isList ? `[${flat}]` : `{ ${flat} }`;
  }
  return `${open}\n${parts(inner)
    .map((part) => `${inner}${part},\n`)
    .join("")}${indent}${close}`;
}

/** Every key that a service adds to a definition. */
const ADDED: Readonly<Record<keyof ServerKeys, true>> = {
  tenant_id: true,
  revision: true,
  content_hash: true,
  created_at: true,
  updated_at: true,
  warnings: true,
};

/** A definition without what a service adds to it. */
function definitionOnly(definition: Definition): object {
  return Object.fromEntries(Object.entries(definition).filter(([name]) => !Object.hasOwn(ADDED, name)));
}

/** The events that transitions take, and the fields that their guards look at, with the types of what they compare. */
function eventsOf(transitions: readonly TransitionDef[]): Map<string, Map<string, Set<string>>> {
  const events = new Map<string, Map<string, Set<string>>>();
  for (const { on, guard } of transitions) {
    if (on === TIMEOUT_EVENT) continue;
    const fields = events.get(on) ?? new Map<string, Set<string>>();
    events.set(on, fields);
    if (guard != null) collect(guard as Guard, fields);
  }
  return events;
}

function collect(guard: Guard, fields: Map<string, Set<string>>): void {
  if ("all" in guard) guard.all.forEach((member) => collect(member, fields));
  else if ("any" in guard) guard.any.forEach((member) => collect(member, fields));
  else {
    const types = fields.get(guard.field) ?? new Set<string>();
    fields.set(guard.field, types);
    types.add(typeOf(guard.op, guard.value));
  }
}

function typeOf(op: string, value: unknown): string {
  if (["gt", "gte", "lt", "lte"].includes(op)) return "number";
  if (op === "contains") return "string";
  if (value === null) return "null";
  return ["string", "number", "boolean"].includes(typeof value) ? typeof value : "unknown";
}

function field([name, types]: [string, Set<string>]): string {
  return `readonly ${key(name)}?: ${[...types].sort().join(" | ")}`;
}

function union(names: readonly string[]): string {
  const all = [...new Set(names)].map((name) => JSON.stringify(name));
  if (all.length === 0) return "never";
  return all.length > 6 ? all.map((name) => `\n  | ${name}`).join("") : all.join(" | ");
}

function key(name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? name : JSON.stringify(name);
}

function comment(lines: readonly string[]): string {
  const text = lines.join(" ").replaceAll("*/", "*\\/").replaceAll(/\s+/g, " ");
  return `/** ${text} */`;
}
