// How entities look, and what can, would and did happen to them. Pure.

import type { components } from "statewright/client";

import {
  anything,
  either,
  flag,
  having,
  list,
  map,
  maybe,
  number,
  object,
  type Shape,
  text,
} from "./shape.ts";

type Schemas = components["schemas"];

const stateOrRegions = either(text, map(text));

const owner = object<Schemas["Owner"]>({
  entity_id: text,
  machine_id: text,
  region: text,
  seq: number,
  state: text,
});

const regionEntry = object<Schemas["RegionEntry"]>({
  basis: text,
  due_at: maybe(number),
  entered_at: number,
  key: maybe(text),
  parked: maybe(text),
  row: maybe(number),
  seq: number,
  state: text,
});

/** An entity, with those below it where they were asked for. */
export const entity: Shape = object<Schemas["Entity"]>({
  // Entities in an entity: the shape is looked up when it is there.
  children: (value, path) => maybe(list(entity))(value, path),
  context: map(anything),
  created_at: number,
  current_state: stateOrRegions,
  entity_id: text,
  instance: maybe(
    object<Schemas["Instance"]>({
      depth: number,
      ended: maybe(number),
      path: list(owner),
      started: number,
      status: text,
    }),
  ),
  machine_id: text,
  parent: maybe(object<Schemas["ParentEntry"]>({ region: text, seq: number, state: text })),
  region_entries: map(regionEntry),
  revision: number,
  state_version: number,
  tenant_id: text,
  updated_at: number,
});

const problem = object<Pick<Schemas["ProblemDetail"], "code" | "message">>({ code: text, message: text });

/** An entity in a list, or the name of one that cannot be read. */
export const listedEntity = having(
  "error",
  object<Schemas["CorruptEntity"]>({ entity_id: text, error: problem, machine_id: text, tenant_id: text }),
  entity,
);

const step = object<Schemas["Step"]>({ region: maybe(text), seq: maybe(number), state: text });

/** An event that an entity can take. */
export const possibleEvent = object<Schemas["PossibleEvent"]>({
  entity_id: text,
  event_type: text,
  forwarded: maybe(flag),
  from: text,
  guarded: flag,
  index: number,
  label: text,
  machine_id: text,
  region: maybe(text),
  target: maybe(list(step)),
  to: text,
});

const candidate = object<Schemas["Candidate"]>({
  clauses: list(
    object<Schemas["Clause"]>({
      field: maybe(text),
      op: maybe(text),
      path: text,
      reason: maybe(text),
      source: maybe(text),
    }),
  ),
  from: text,
  index: number,
  label: text,
  passes: flag,
  region: maybe(text),
  state_matches: flag,
  taken: flag,
  to: text,
});

const waitingJoin = object<Schemas["WaitingJoin"]>({
  index: number,
  missing: list(object<Schemas["MissingState"]>({ current: text, region: text, state: text })),
  target_region: text,
  target_state: text,
});

/** What an event would do, and why. */
export const explanation = object<Schemas["Explanation"]>({
  candidates: list(candidate),
  current_state: stateOrRegions,
  elsewhere: maybe(
    list(
      object<Schemas["Elsewhere"]>({
        entity_id: text,
        forwarded: maybe(flag),
        machine_id: text,
        target: maybe(list(step)),
        transition: text,
      }),
    ),
  ),
  entity_id: text,
  event_type: text,
  joins: list(waitingJoin),
  machine_id: text,
  next_timeout: maybe(object<Schemas["NextTimeout"]>({ at: number, from: text, region: text, to: text })),
  refusal: maybe(problem),
  transition: maybe(text),
  would: text,
});

/** A row of history. */
export const historyRow = object<Schemas["HistoryRow"]>({
  actions_dispatched: list(map(anything)),
  cause: object<Schemas["Cause"]>({
    by: maybe(text),
    child: maybe(object<Schemas["ChildName"]>({ entity_id: text, machine_id: text })),
    due_at: maybe(number),
    join: maybe(number),
    key: maybe(text),
    via: text,
  }),
  created_at: number,
  entity_id: text,
  event_params: map(anything),
  event_type: text,
  from_state: text,
  id: number,
  identity_key: text,
  machine_id: text,
  region: text,
  revision: number,
  tenant_id: text,
  timestamp: number,
  to_state: text,
});

/** What an event did. */
export const sent = object<Schemas["TransitionResponse"]>({
  actions_dispatched: maybe(list(map(anything))),
  current_state: stateOrRegions,
  dry_run: maybe(flag),
  entity_id: text,
  explain: maybe(explanation),
  instances: maybe(
    list(
      object<Schemas["Life"]>({
        depth: number,
        entity_id: text,
        key: maybe(text),
        kind: text,
        machine_id: text,
        parent: owner,
        row: maybe(number),
      }),
    ),
  ),
  joins_fired: maybe(
    list(object<Schemas["FiredJoin"]>({ from_state: text, target_region: text, target_state: text })),
  ),
  previous_state: stateOrRegions,
  reason: maybe(text),
  region: maybe(text),
  state_version: number,
  sub_machine: maybe(map(anything)),
  target: maybe(object<Schemas["Target"]>({ depth: number, entity_id: text, machine_id: text })),
  timestamp: number,
  transition: maybe(text),
  transitions: maybe(
    list(
      object<Schemas["RegionTransition"]>({
        from_state: text,
        region: text,
        to_state: text,
        transition: text,
      }),
    ),
  ),
  triggered_by: text,
});
