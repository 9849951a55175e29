// Which rows a step wrote.

import type { SimulatedRow, Simulation } from "statewright";

import { keyOf, type Subject } from "./model-view.ts";

/** Tells after each step which rows of history are new, over all entities. */
export class NewRows {
  readonly #simulation: Simulation;
  /** Entities by the version that they had, so that only what changed is read. */
  #versions = new Map<string, number>();
  #last = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** The rows that came since it was last asked. */
  next(): readonly SimulatedRow[] {
    const rows: SimulatedRow[] = [];
    const versions = new Map<string, number>();
    for (const entity of this.#simulation.entities()) {
      const { machine_id, entity_id, state_version } = entity;
      const name = keyOf(entity);
      versions.set(name, state_version);
      if (this.#versions.get(name) === state_version) continue;
      rows.push(...this.#simulation.history(machine_id, entity_id).filter(({ id }) => id > this.#last));
    }
    this.#versions = versions;
    rows.sort((a, b) => a.id - b.id);
    this.#last = rows.at(-1)?.id ?? this.#last;
    return rows;
  }

  /** Goes on from what stands now. The highest number of its rows is found by looking at all, where it is not known. */
  standAt(last?: number): void {
    const entities = this.#simulation.entities();
    this.#versions = new Map(entities.map((entity) => [keyOf(entity), entity.state_version]));
    this.#last = last ?? Math.max(0, ...entities.map((entity) => this.#highest(entity)));
  }

  #highest({ machine_id, entity_id }: Subject): number {
    return this.#simulation.history(machine_id, entity_id).reduce((most, { id }) => Math.max(most, id), 0);
  }
}
