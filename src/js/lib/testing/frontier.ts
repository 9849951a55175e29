// Which situations a search looks at: all of them, or only those that have something new.

import { FLAT_REGION } from "../reserved.ts";
import type { Snapshot } from "../typed.ts";

/**
 * What of a situation must be new for it to be looked at: all of it together, or a single state that some region was never in.
 *
 * The situations of a parallel machine are as many as the product of its regions' states. To reach one state, most of the
 * other regions do not matter; so what is looked at can be as many as all states together.
 */
type Novelty = "whole" | "state";

/** The situations that were seen. */
export class Frontier {
  readonly #novelty: Novelty;
  readonly #fields: readonly string[];
  readonly #seen = new Set<string>();

  /** @param fields the fields of contexts that make a difference */
  constructor(novelty: Novelty, fields: readonly string[]) {
    this.#novelty = novelty;
    this.#fields = fields;
  }

  /** Whether a situation has something that none before it had; from now on it has been seen. */
  admit(snapshot: Snapshot): boolean {
    const before = this.#seen.size;
    for (const text of this.#marks(snapshot)) this.#seen.add(text);
    return this.#seen.size > before;
  }

  #marks(snapshot: Snapshot): readonly string[] {
    const parts = this.#parts(snapshot, "");
    return this.#novelty === "state" ? parts : [JSON.stringify(parts)];
  }

  /** The states of an entity and of those below it, each as a text. */
  #parts({ current_state: state, context, children = [] }: Snapshot, place: string): readonly string[] {
    const states = typeof state === "string" ? [[FLAT_REGION, state]] : Object.entries(state);
    const members: Readonly<Record<string, unknown>> = { ...context };
    const own = [...states, ...this.#fields.map((field) => ["", field, members[field] ?? null])];
    const below = children.flatMap((child) => {
      const { machine_id, instance, parent } = child;
      return this.#parts(
        child,
        JSON.stringify([place, machine_id, parent?.region, parent?.state, instance?.status]),
      );
    });
    return [...own.map((part) => JSON.stringify([place, ...part])), ...below];
  }
}
