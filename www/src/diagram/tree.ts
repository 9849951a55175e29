// What a diagram is told besides the definition.

/** A move of history, to be shown as just taken. */
export interface Taken {
  readonly machine_id: string;
  readonly entity_id: string;
  /** `_` of a flat machine. */
  readonly region: string;
  readonly from_state: string;
  readonly to_state: string;
  /** The event's type, or `$join`, `$timeout`, `$sub_complete`, `$sub_cancel`, `$sub_resume`. */
  readonly event_type: string;
}

/** The entry of a parent's compound state that a child belongs to. */
export interface ParentEntry {
  readonly region: string;
  readonly state: string;
  readonly seq: number;
}

/** An entity with its children, as `tree` of a simulation and `?tree=true` of a service show it. */
export interface Tree {
  readonly machine_id: string;
  readonly entity_id: string;
  readonly current_state: string | Readonly<Record<string, string>>;
  readonly region_entries: Readonly<Record<string, { readonly state: string; readonly seq: number }>>;
  readonly children?: readonly Tree[] | undefined;
  readonly parent?: ParentEntry | undefined;
  /** Of a managed child. */
  readonly instance?: { readonly status: string; readonly ended?: number | undefined } | undefined;
  /** Of a legacy child that has ended. */
  readonly legacy?: { readonly status: string; readonly ended?: number | undefined } | undefined;
}

/** How many entities are in a state. */
export interface Count {
  readonly region: string;
  readonly state: string;
  readonly entities: number;
}

/** A state of a machine, as the diagram was told of it. */
export interface Place {
  readonly machine_id: string;
  readonly region: string;
  readonly state: string;
}
