import type { JSX } from "preact";
import type { JsonDefinition, SimulatedEntity } from "statewright";

/** A move of history, to be shown as just taken. */
export interface Taken {
  readonly machine_id: string;
  readonly entity_id: string;
  readonly region: string;
  readonly from_state: string;
  readonly to_state: string;
  readonly event_type: string;
}

/** An entity with its children. */
export type Tree = SimulatedEntity;

export interface DiagramProps {
  readonly definition: JsonDefinition;
  readonly machines?: readonly JsonDefinition[];
  readonly tree?: Tree;
  readonly taken?: readonly Taken[];
  readonly counts?: readonly { readonly region: string; readonly state: string; readonly entities: number }[];
  readonly onState?: (place: { machine_id: string; region: string; state: string }) => void;
  readonly mermaid?: () => string | Promise<string>;
  readonly label: string;
  readonly name: string;
}

export function Diagram({ label }: DiagramProps): JSX.Element {
  return <p class="loading">{label}</p>;
}
