import type { JsonDefinition, Scenario } from "statewright";

/** Something to start from: machines, and what was done with them so far. */
export interface Example {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The machine that it is about first. */
  readonly definitions: readonly JsonDefinition[];
  /** Played, it stops where it is worth going on. `npx statewright check` would pass it. */
  readonly scenario: Scenario;
  /** The entity to look at. */
  readonly subject: { readonly machine_id: string; readonly entity_id: string };
}
