// What is to be seen of a session.

import {
  type PossibleEvent,
  type SimulatedEffect,
  type SimulatedEntity,
  type SimulatedRow,
  type Simulation,
  StatewrightError,
  type Timer,
} from "statewright";

import type { Taken, Tree } from "../diagram/diagram.tsx";

/** An entity. */
export interface Subject {
  readonly machine_id: string;
  readonly entity_id: string;
}

/** A commit as history shows it: all rows that one step wrote, over all entities, in order. */
export interface StepView {
  /** 0 is the first step. */
  readonly index: number;
  readonly op: string;
  readonly at: number;
  readonly args: { readonly [name: string]: unknown };
  /** What it was answered with: from 300 on it was refused. */
  readonly status: number;
  /** Why it moved nothing, where it moved nothing or was refused. */
  readonly reason?: string | undefined;
  /** False where it is undone, and can be redone. */
  readonly done: boolean;
  readonly rows: readonly SimulatedRow[];
}

/** What stands after a change. */
export interface View {
  readonly now: number;
  /** All of them, roots and children. */
  readonly entities: readonly SimulatedEntity[];
  /** The subject with what lives below it. */
  readonly tree: Tree | undefined;
  /** All entities, children in those that they belong to. */
  readonly forest: readonly Tree[];
  readonly events: readonly PossibleEvent[];
  readonly due: Timer | undefined;
  readonly steps: readonly StepView[];
  readonly done: number;
  readonly effects: readonly SimulatedEffect[];
  /** The moves of the last step that is done. */
  readonly taken: readonly Taken[];
  /** The subject's. */
  readonly history: readonly SimulatedRow[];
}

/** A name for an entity that no other has. */
export function keyOf({ machine_id, entity_id }: Subject): string {
  return JSON.stringify([machine_id, entity_id]);
}

/** Gives what is read when it is first asked for. */
function once<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => (known ??= { value: read() }).value;
}

/** Looks at a simulation as it stands, and at one entity closely. What few ask for is read when they do. */
export function viewOf(
  simulation: Simulation,
  subject: Subject | undefined,
  steps: readonly StepView[],
  done: number,
): View {
  const entities = simulation.entities();
  const found = subject && entities.some((entity) => keyOf(entity) === keyOf(subject)) ? subject : undefined;
  const of = <T>(what: (machine: string, entity: string) => T): T | undefined =>
    found && what(found.machine_id, found.entity_id);
  const forest = once(() => forestOf(simulation, entities));
  const history = once(() => of((machine, entity) => simulation.history(machine, entity)) ?? []);
  return {
    now: simulation.now,
    entities,
    tree: of((machine, entity) => simulation.tree(machine, entity)),
    get forest() {
      return forest();
    },
    events: of((machine, entity) => eventsOf(simulation, machine, entity)) ?? [],
    due: simulation.due(),
    steps,
    done,
    effects: simulation.effects(),
    taken: steps[done - 1]?.rows ?? [],
    get history() {
      return history();
    },
  };
}

/** None where more timers are overdue than are caught up with at once: then nothing can happen before they fire. */
function eventsOf(simulation: Simulation, machine: string, entity: string): readonly PossibleEvent[] {
  try {
    return simulation.events(machine, entity);
  } catch (error) {
    if (error instanceof StatewrightError && error.code === "TIMEOUTS_PENDING") return [];
    throw error;
  }
}

/** The trees of all entities that stand in no other's. */
export function forestOf(simulation: Simulation, entities: readonly SimulatedEntity[]): readonly Tree[] {
  const trees: Tree[] = entities
    .filter(({ instance }) => instance === undefined)
    .map(({ machine_id, entity_id }) => simulation.tree(machine_id, entity_id));
  // Legacy children are told by their parents alone.
  const below = (tree: Tree): readonly string[] =>
    (tree.children ?? []).flatMap((child) => [keyOf(child), ...below(child)]);
  const children = new Set(trees.flatMap(below));
  return trees.filter((tree) => !children.has(keyOf(tree)));
}
