// A simulation, and which rows each of its steps wrote.

import {
  type AnyMachine,
  type JsonDefinition,
  type PossibleEvent,
  type Scenario,
  simulate,
  type SimulatedEffect,
  type SimulatedEntity,
  type SimulatedRow,
  type Simulation,
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
  /** All entities, children in those that they belong to. Read when it is first asked for. */
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

const nameOf = ({ machine_id, entity_id }: Subject): string => JSON.stringify([machine_id, entity_id]);

/** Which entity of all is meant by an empty choice: the first that is nobody's child. */
export function firstOf(entities: readonly SimulatedEntity[]): Subject | undefined {
  const first = entities.find(({ instance }) => instance === undefined) ?? entities[0];
  return first && { machine_id: first.machine_id, entity_id: first.entity_id };
}

/** The trees of all entities that stand in no other's. */
function forestOf(simulation: Simulation, entities: readonly SimulatedEntity[]): readonly Tree[] {
  const trees = entities
    .filter(({ instance }) => instance === undefined)
    .map(({ machine_id, entity_id }) => simulation.tree(machine_id, entity_id) as Tree);
  // Legacy children are told by their parents alone.
  const below = (tree: Tree): readonly string[] =>
    ((tree.children ?? []) as readonly Tree[]).flatMap((child) => [nameOf(child), ...below(child)]);
  const children = new Set(trees.flatMap(below));
  return trees.filter((tree) => !children.has(nameOf(tree)));
}

/** A simulation that is played step by step. */
export class Session {
  readonly simulation: Simulation;
  readonly definitions: readonly JsonDefinition[];
  /** The rows of each step that was done once. */
  #rows: (readonly SimulatedRow[])[] = [];
  /** The versions that entities had after each step, so that only what changed is read. */
  #versions = new Map<string, number>();
  #last = 0;
  #told: ReturnType<Simulation["steps"]> = { done: 0, steps: [] };

  constructor(machines: readonly AnyMachine[], scenario?: Omit<Scenario, "machines" | "statewright">) {
    // Without faults, it is what a JSON file has.
    this.definitions = machines.map(({ definition }) => definition as JsonDefinition);
    this.simulation = simulate(machines, {
      now: scenario?.start ?? 0,
      ...(scenario?.tenant === undefined ? {} : { tenant: scenario.tenant }),
      ...(scenario?.deliver === undefined ? {} : { deliver: scenario.deliver }),
    });
    if (scenario !== undefined && scenario.steps.length > 0) {
      const { machines: given } = this.simulation.export();
      this.simulation.import({ statewright: "scenario/1", ...scenario, machines: given });
      this.#keepUp();
    }
  }

  /** Notes what the last step wrote. */
  #note(done: number): void {
    const rows: SimulatedRow[] = [];
    const versions = new Map<string, number>();
    for (const entity of this.simulation.entities()) {
      const { machine_id, entity_id, state_version } = entity;
      const name = nameOf(entity);
      versions.set(name, state_version);
      if (this.#versions.get(name) === state_version) continue;
      rows.push(...this.simulation.history(machine_id, entity_id).filter(({ id }) => id > this.#last));
    }
    rows.sort((a, b) => a.id - b.id);
    this.#versions = versions;
    this.#last = rows.at(-1)?.id ?? this.#last;
    this.#rows.length = Math.min(this.#rows.length, done - 1);
    this.#rows[done - 1] = rows;
  }

  /** How many steps are done. */
  get done(): number {
    return this.#told.done;
  }

  /** Does something, and notes which rows came of it, also where it is refused in the end. */
  act(what: (simulation: Simulation) => void): void {
    try {
      what(this.simulation);
    } finally {
      this.#keepUp();
    }
  }

  /** Does something instead of the last step. */
  replaceLast(what: (simulation: Simulation) => void): void {
    this.undo();
    this.act(what);
  }

  /** Undoes the last step, or all but so many. */
  undo(to?: number): void {
    this.simulation.undo(to);
    this.#keepUp();
  }

  /** Redoes the next step that was undone, or so many. */
  redo(to?: number): void {
    const from = this.done;
    this.simulation.redo(to);
    this.#told = this.simulation.steps();
    // Their rows are known.
    if (this.#told.done !== from) this.#stand(this.#told.done);
  }

  /** Sees what became of the steps. */
  #keepUp(): void {
    const from = this.done;
    this.#told = this.simulation.steps();
    const { done } = this.#told;
    if (done < from) this.#stand(done);
    else if (done === from + 1) this.#note(done);
    else if (done > from) {
      // Several at once: each is looked at by itself.
      this.simulation.undo(from);
      for (let step = from + 1; step <= done; step += 1) {
        this.simulation.redo(step);
        this.#note(step);
      }
    }
  }

  /** Learns what stands after a step that was noted before. */
  #stand(done: number): void {
    this.#versions = new Map(
      this.simulation.entities().map((entity) => [nameOf(entity), entity.state_version]),
    );
    this.#last = this.#rows.slice(0, done).reduce((last, rows) => rows.at(-1)?.id ?? last, 0);
  }

  /** All that is to be seen, with one entity looked at closely. */
  view(subject: Subject | undefined): View {
    const { simulation } = this;
    const entities = simulation.entities();
    const found =
      subject && entities.some((entity) => nameOf(entity) === nameOf(subject)) ? subject : undefined;
    const of = <T>(what: (machine: string, entity: string) => T): T | undefined =>
      found && what(found.machine_id, found.entity_id);
    const { done, steps } = this.#told;
    const rows = (index: number): readonly SimulatedRow[] => this.#rows[index] ?? [];
    let forest: readonly Tree[] | undefined;
    return {
      now: simulation.now,
      entities,
      tree: of((machine, entity) => simulation.tree(machine, entity) as Tree),
      get forest() {
        return (forest ??= forestOf(simulation, entities));
      },
      events: of((machine, entity) => simulation.events(machine, entity)) ?? [],
      due: simulation.due(),
      steps: steps.map((step, index) => ({ ...step, index, done: index < done, rows: rows(index) })),
      done,
      effects: simulation.effects(),
      taken: done === 0 ? [] : rows(done - 1),
      history: of((machine, entity) => simulation.history(machine, entity)) ?? [],
    };
  }
}
