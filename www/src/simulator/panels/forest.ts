// All entities as trees: each root with its children, live and ended.

import type { SimulatedEntity } from "statewright";

import type { View } from "../model.ts";

/** An entity in its tree. */
export interface Branch {
  readonly entity: SimulatedEntity;
  /** Where it hangs; nothing of a root. */
  readonly parent: Entry | undefined;
  /** `active`, `completed`, `cancelled`; nothing of a root. */
  readonly status: string | undefined;
  readonly ended: number | undefined;
  readonly children: readonly Branch[];
}

/** The entry of a parent's compound state. */
export interface Entry {
  readonly machine_id: string;
  readonly entity_id: string;
  readonly region: string;
  readonly state: string;
  readonly seq: number;
}

interface Hanging {
  readonly parent: Entry;
  readonly status: string;
  readonly started: number;
  readonly ended: number | undefined;
}

/** All entities, the roots first, each with what hangs below it in the order of their starts. */
export function forestOf(view: View): readonly Branch[] {
  const hanging = hangingOf(view);
  const below = new Map<string, SimulatedEntity[]>();
  const roots: SimulatedEntity[] = [];
  for (const entity of view.entities) {
    const place = hanging.get(nameOf(entity));
    if (place === undefined) roots.push(entity);
    else {
      const parent = nameOf(place.parent);
      below.set(parent, [...(below.get(parent) ?? []), entity]);
    }
  }
  const branch = (entity: SimulatedEntity): Branch => {
    const name = nameOf(entity);
    const place = hanging.get(name);
    const children = below.get(name) ?? [];
    children.sort((a, b) => startOf(hanging, a) - startOf(hanging, b));
    return {
      entity,
      parent: place?.parent,
      status: place?.status,
      ended: place?.ended,
      children: children.map(branch),
    };
  };
  return roots.map(branch);
}

/** The entity that is looked at, and all that lives below it. */
export function livingBelow(view: View): readonly SimulatedEntity[] {
  const { tree } = view;
  if (tree === undefined) return [];
  const living: SimulatedEntity[] = [];
  const walk = (branch: Branch): void => {
    living.push(branch.entity);
    for (const child of branch.children) if (child.status === "active") walk(child);
  };
  const find = (branches: readonly Branch[]): Branch | undefined => {
    for (const branch of branches) {
      const found = nameOf(branch.entity) === nameOf(tree) ? branch : find(branch.children);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const found = find(forestOf(view));
  if (found !== undefined) walk(found);
  return living;
}

/** Where entities hang: managed ones tell it themselves, of legacy ones their parent's tree does. */
function hangingOf(view: View): Map<string, Hanging> {
  const hanging = new Map<string, Hanging>();
  for (const entity of view.entities) {
    const { instance } = entity;
    const parent = instance?.path.at(-1);
    if (instance === undefined || parent === undefined) continue;
    const { status, started, ended } = instance;
    hanging.set(nameOf(entity), { parent, status, started, ended });
  }
  return hanging;
}

function startOf(hanging: ReadonlyMap<string, Hanging>, entity: SimulatedEntity): number {
  return hanging.get(nameOf(entity))?.started ?? 0;
}

/** One text for a machine and an id. */
export function nameOf({ machine_id, entity_id }: { machine_id: string; entity_id: string }): string {
  return JSON.stringify([machine_id, entity_id]);
}
