// What is taken out of a running service into the simulator. It goes from view to view in memory alone.

import { signal } from "@preact/signals";
import type { JsonDefinition, Scenario } from "statewright";

/** A live entity as a simulation begins with it. */
export interface Handover {
  readonly definitions: readonly JsonDefinition[];
  readonly scenario: Scenario;
  /** What the simulator shows first. */
  readonly subject: { readonly machine_id: string; readonly entity_id: string };
  /** What the fork is of. */
  readonly name: string;
}

/** What the simulator shall show next at `#/fork`. */
export const handover = signal<Handover | undefined>(undefined);
