// How machines, their revisions and their counts look. Pure.

import type { components } from "statewright/client";

import { anything, both, flag, list, map, maybe, number, object, text } from "./shape.ts";

type Schemas = components["schemas"];

const regionOfDefinition = object<{ id: string }>({ id: text });

/** What the views read of a definition. The service has looked at the rest of it. */
const definition = object<{ [Name in keyof Schemas["Definition"]]?: unknown }>({
  states: maybe(list(text)),
  regions: maybe(list(both(regionOfDefinition, object<{ states?: unknown }>({ states: maybe(list(text)) })))),
  transitions: maybe(list(map(anything))),
  joins: maybe(list(map(anything))),
  sub_machines: maybe(map(anything)),
  contract: maybe(text),
  label: maybe(text),
});

const warning = object<Schemas["Warning"]>({ kind: text, message: text, path: text });

/** A machine. */
export const machine = both(
  object<Schemas["Machine"]>({
    content_hash: text,
    created_at: number,
    machine_id: text,
    revision: number,
    tenant_id: text,
    updated_at: number,
    warnings: maybe(list(warning)),
  }),
  definition,
);

/** A revision of a machine. */
export const revision = object<Schemas["Revision"]>({
  content_hash: text,
  created_at: number,
  definition,
  effective: number,
  head: flag,
  label: maybe(text),
  revision: number,
  supersedes: maybe(number),
});

/** How many entities are in a state. */
export const count = object<Schemas["Count"]>({ entities: number, region: text, state: text });

/** What a check of a definition found. */
export const validation = object<Schemas["Validation"]>({
  faults: list(object<Schemas["Fault"]>({ expected: text, path: text, problem: text })),
  valid: flag,
  warnings: list(warning),
});
