// All entities as trees: each root with its children, live and ended.

import type { SimulatedEntity } from "statewright";

import type { Tree } from "../../diagram/tree.ts";
import type { View } from "../model.ts";

/** An entity in its tree. */
export interface Branch {
  readonly entity: SimulatedEntity;
  /** The entry of its parent's compound state that it hangs at; nothing of a root. */
  readonly parent: Tree["parent"];
  /** `active`, `completed`, `cancelled`; nothing of a root. */
  readonly status: string | undefined;
  readonly ended: number | undefined;
  readonly children: readonly Branch[];
}

/** All entities, the roots first, each with what hangs below it in the order of their starts. */
export function forestOf({ forest, entities }: View): readonly Branch[] {
  const known = new Map(entities.map((entity) => [nameOf(entity), entity]));
  const branches = (trees: readonly Tree[]): readonly Branch[] =>
    trees.flatMap((tree) => {
      const entity = known.get(nameOf(tree));
      if (entity === undefined) return [];
      const { parent, instance, legacy, children = [] } = tree;
      // What became of a legacy child is told once it has ended.
      const status = instance?.status ?? legacy?.status ?? (parent === undefined ? undefined : "active");
      const ended = instance?.ended ?? legacy?.ended;
      return [{ entity, parent, status, ended, children: branches(children) }];
    });
  return branches(forest);
}

/** The entity that is looked at, and all that lives below it. */
export function livingBelow(view: View): readonly SimulatedEntity[] {
  const { tree } = view;
  const found = tree && find(forestOf(view), nameOf(tree));
  return found === undefined ? [] : living(found);
}

function living({ entity, children }: Branch): readonly SimulatedEntity[] {
  return [entity, ...children.filter(({ status }) => status === "active").flatMap(living)];
}

function find(branches: readonly Branch[], name: string): Branch | undefined {
  for (const branch of branches) {
    const found = nameOf(branch.entity) === name ? branch : find(branch.children, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** One text for a machine and an id. */
export function nameOf({ machine_id, entity_id }: { machine_id: string; entity_id: string }): string {
  return JSON.stringify([machine_id, entity_id]);
}
