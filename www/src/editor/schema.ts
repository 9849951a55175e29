// What the JSON Schema of definitions says of a place in one.

import machine from "../../../docs/machine.schema.json" with { type: "json" };
import type { Step } from "./place.ts";

/** What is read of a schema. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly readOnly?: boolean;
  readonly required?: readonly string[];
  readonly properties?: { readonly [key: string]: Schema };
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly not?: Schema;
  readonly if?: Schema;
  readonly then?: Schema;
  readonly else?: Schema;
}

const ROOT: Schema = machine;
const DEFINED: { readonly [name: string]: Schema } = machine.$defs;

/** What is plain in an object: texts as they are, everything else as it is written. */
export type Members = ReadonlyMap<string, string>;

const NOTHING: Members = new Map();

/** The schemas of what stands at the end of a path: more than one where the form is not known yet. */
export function schemasAt(path: readonly Step[], members: readonly Members[]): readonly Schema[] {
  let schemas = fitting([ROOT], members[0]);
  path.forEach((step, depth) => {
    const below = schemas.flatMap((schema) => child(schema, step, members[depth] ?? NOTHING) ?? []);
    schemas = fitting(below, members[depth + 1]);
  });
  return schemas;
}

/** Whether the schema says anything of a key: of a place that it does not know itself, it may be. */
export function isKnown(path: readonly Step[]): boolean {
  const key = path.at(-1);
  const around = schemasAt(path.slice(0, -1), []);
  return (
    typeof key !== "string" ||
    around.length === 0 ||
    around.some((schema) => child(schema, key, NOTHING) !== undefined)
  );
}

/** The forms that a schema allows, references followed. */
export function formsOf(schema: Schema): readonly Schema[] {
  const { description } = schema;
  const named = (form: Schema): Schema =>
    description === undefined ? form : { ...form, description: form.description ?? description };
  if (schema.$ref !== undefined) {
    const target = DEFINED[schema.$ref.replace("#/$defs/", "")];
    return target === undefined ? [] : formsOf(target).map(named);
  }
  const choices = schema.anyOf ?? schema.oneOf?.filter((choice) => !isDemand(choice));
  if (choices === undefined || choices.length === 0) return [schema];
  return choices
    .flatMap(formsOf)
    .filter(({ type }) => type !== "null")
    .map(named);
}

/** A key of an object. */
export interface Key {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
}

/** The keys that an object can get beside those that it has. */
export function keysOf(schemas: readonly Schema[], members: Members): Key[] {
  const keys = new Map<string, Key>();
  for (const schema of schemas) {
    const excluded = excludedBy(schema, members);
    for (const name of Object.keys(schema.properties ?? {})) {
      const found = child(schema, name, members);
      if (found === undefined || found.readOnly === true || members.has(name) || excluded.has(name)) continue;
      const required = schema.required?.includes(name) === true;
      keys.set(name, { name, schema: found, required: required || keys.get(name)?.required === true });
    }
  }
  return [...keys.values()];
}

/** What keys of an object map to where its keys are names. */
export function mappedBy(schemas: readonly Schema[]): Schema | undefined {
  for (const { additionalProperties, properties } of schemas) {
    if (properties === undefined && typeof additionalProperties === "object") return additionalProperties;
  }
  return undefined;
}

/** Whether a schema allows a type. */
export function isOf(schema: Schema, type: string): boolean {
  return schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type));
}

/** Of an object's choice, the forms that what it has already fits into; all of them where none does. */
function fitting(schemas: readonly Schema[], members: Members | undefined): readonly Schema[] {
  const forms = schemas.flatMap(formsOf);
  if (members === undefined) return forms;
  const fit = forms.filter((form) => fits(form, members));
  return fit.length > 0 ? fit : forms;
}

function fits(form: Schema, members: Members): boolean {
  if (form.properties === undefined) return true;
  for (const [key, value] of members) {
    const property = Object.hasOwn(form.properties, key) ? form.properties[key] : undefined;
    if (property === undefined && form.additionalProperties === false) return false;
    if (property?.const !== undefined && value !== "" && property.const !== value) return false;
  }
  return true;
}

function child(schema: Schema, step: Step, members: Members): Schema | undefined {
  if (typeof step === "number") return schema.items;
  const own = (of: Schema | undefined) =>
    of?.properties !== undefined && Object.hasOwn(of.properties, step) ? of.properties[step] : undefined;
  const found = own(branch(schema, members)) ?? own(schema);
  if (found !== undefined) {
    const { description } = own(schema) ?? {};
    return description === undefined || found.description !== undefined ? found : { ...found, description };
  }
  const { additionalProperties: other = {} } = schema;
  return typeof other === "object" ? other : other ? {} : undefined;
}

/** What a condition adds: of a transition, by whether it is on `$timeout`. */
function branch(schema: Schema, members: Members): Schema | undefined {
  const conditions = Object.entries(schema.if?.properties ?? {});
  if (conditions.length === 0 || conditions.some(([key]) => (members.get(key) ?? "") === ""))
    return undefined;
  return conditions.every(([key, { const: value }]) => members.get(key) === value)
    ? schema.then
    : schema.else;
}

/** Whether it says nothing but which keys have to be there. */
function isDemand(schema: Schema): boolean {
  return Object.keys(schema).every((key) => key === "required");
}

/** Keys that cannot stand beside those that are there. */
function excludedBy(schema: Schema, members: Members): ReadonlySet<string> {
  const excluded = new Set<string>();
  const demands = (schema.oneOf ?? []).filter(isDemand).map(({ required }) => required ?? []);
  const chosen = demands.find((keys) => keys.some((key) => members.has(key)));
  if (chosen !== undefined) {
    for (const key of demands.flat()) if (!chosen.includes(key)) excluded.add(key);
  }
  for (const { not } of schema.allOf ?? []) {
    const keys = not?.required ?? [];
    if (keys.some((key) => members.has(key))) for (const key of keys) excluded.add(key);
  }
  return excluded;
}
