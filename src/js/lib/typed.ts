/// <reference lib="esnext.disposable" preserve="true" />

/**
 * What a machine and everything made from it are to TypeScript. The runtime (core.ts, steps.ts, instance.ts,
 * simulate.ts) implements these interfaces and knows no more than strings.
 */

import type { Definition } from "./definition.ts";
import type { StatewrightError } from "./errors.ts";

/** What is known of a machine: unions of literals where its definition was written in TypeScript, `string` otherwise. */
export interface MachineTypes {
  /** Its `machine_id`. */
  readonly id: string;
  /** As snapshots and answers show it: a state's name, or of a parallel machine a state for each region. */
  readonly state: string | { readonly [region: string]: string };
  /** The states of each region; a flat machine has the region `_`. */
  readonly regions: { readonly [region: string]: string };
  /** The event types that its transitions take, without `$timeout`. */
  readonly event: string;
  /** The params of events, of those for which they were declared. */
  readonly params: object;
  /** The context of its entities. */
  readonly context: object;
}

/** What a machine of any definition is. */
export type AnyMachine = Machine<MachineTypes>;

/** The machine of an id among several; also those whose ids are not known. */
export type MachineById<Machines extends readonly AnyMachine[], Id> = WithId<Machines[number], Id>;

type WithId<M, Id> = M extends { readonly id: infer Own } ? (Id extends Own ? M : never) : never;

/** The types of a machine, or of an instance of it. */
export type TypesOf<M> = M extends { readonly "~types"?: infer T }
  ? T extends MachineTypes
    ? T
    : never
  : never;

/** The id of a machine. */
export type IdOf<M> = TypesOf<M>["id"];
/** The states of a machine: of one region, or of all together. */
export type StateOf<M, Region extends RegionOf<M> = RegionOf<M>> = TypesOf<M>["regions"][Region];
/** The regions of a machine; `_` of a flat one. */
export type RegionOf<M> = keyof TypesOf<M>["regions"] & string;
/** The event types of a machine. */
export type EventOf<M> = TypesOf<M>["event"];
/** The context of a machine's entities. */
export type ContextOf<M> = TypesOf<M>["context"];
/** The params of an event; any object where they were not declared. */
export type ParamsOf<M, Event extends EventOf<M>> = ParamsFor<TypesOf<M>, Event>;
/** The snapshots of a machine's entities. */
export type SnapshotOf<M> = Snapshot<TypesOf<M>>;

type ParamsFor<T extends MachineTypes, Event> = Event extends keyof T["params"] ? T["params"][Event] : object;

/** A step of the way to a managed child. */
export interface TargetStep {
  /** The compound state. */
  readonly state: string;
  /** Its region; `_`, that of a flat machine, where it is left out. */
  readonly region?: string;
  /** The entry instance, where it matters which. */
  readonly seq?: number;
}

/** What an event may say besides its type and params. */
export interface EventDetails {
  /** When it happened, in milliseconds since the epoch: with its type and its target its identity. Now, if left out. */
  readonly timestamp?: number;
  /** Refused unless the entity has this version. */
  readonly expectedVersion?: number;
}

/** An event with its params, which may be left out where none of them is required. */
export type EventObject<Type extends string, Params> = EventDetails & {
  readonly type: Type;
} & ({} extends Params ? { readonly params?: Params } : { readonly params: Params });

/** An event for a managed child below: the child's machine knows its type. */
export interface TargetedEvent extends EventDetails {
  readonly type: string;
  readonly params?: object;
  /** The way to the child; empty for the entity itself. */
  readonly target: readonly TargetStep[];
}

type Undeclared<Type, Params> = Exclude<Type, keyof Params> & string;
/** The declared events whose params may be left out. */
type Bare<Type, Params> = { [E in Type & keyof Params]: {} extends Params[E] ? E : never }[Type &
  keyof Params];

/** The events of a machine that may be sent by their type alone. */
type EventName<Type, Params> = Undeclared<Type, Params> | Bare<Type, Params>;

/** The events of a machine with what they say, or one for a child. */
type EventDetail<Type, Params> =
  | EventObject<Undeclared<Type, Params>, object>
  | { [E in Type & keyof Params]: EventObject<E & string, Params[E]> }[Type & keyof Params]
  | TargetedEvent;

/** An event as it is sent: its type alone, or an object that says more. */
export type EventInput<T extends MachineTypes = MachineTypes> =
  EventName<T["event"], T["params"]> | EventDetail<T["event"], T["params"]>;

/** An entity, and the entry of a compound state that a child of it belongs to. */
export interface Owner {
  readonly machine_id: string;
  readonly entity_id: string;
  readonly region: string;
  readonly state: string;
  readonly seq: number;
}

/** The current entry of a region. */
export interface RegionEntry<State extends string = string> {
  readonly state: State;
  /** The number of the entry: higher in later ones. */
  readonly seq: number;
  readonly entered_at: number;
  readonly basis?: string;
  /** The history row that started it, where a service tells it. */
  readonly row?: number | null;
  /** The identity of that row; null at creation. */
  readonly key?: string | null;
  /** When its timer is due, where one is armed. */
  readonly due_at?: number;
  /** Why its timer is parked, where it is. */
  readonly parked?: string;
}

/** The place of a managed child in its tree. */
export interface InstancePlace {
  readonly status: string;
  readonly depth: number;
  readonly path: readonly Owner[];
  readonly started: number;
  readonly ended?: number;
}

/** What became of a legacy child; left out, it lives. */
export interface LegacyPlace {
  readonly status: string;
  readonly started: number;
  readonly ended?: number;
}

/**
 * An entity as plain JSON: the service's view of it, with the tree below it. It can be kept, sent and structured-cloned;
 * nothing else is needed to go on from it.
 */
export interface Snapshot<T extends MachineTypes = MachineTypes> {
  readonly machine_id: T["id"];
  readonly entity_id: string;
  readonly current_state: T["state"];
  readonly context: T["context"];
  /** Grows by one with each commit that changes the entity; 1 at first. */
  readonly state_version: number;
  /** Milliseconds since the epoch. */
  readonly updated_at: number;
  readonly region_entries: {
    readonly [Region in keyof T["regions"]]: RegionEntry<T["regions"][Region] & string>;
  };
  readonly children?: readonly ChildSnapshot[];
  /** What the service's views say more: `tenant_id`, `created_at`, `revision`. It is carried along. */
  readonly tenant_id?: string;
  readonly created_at?: number;
  readonly revision?: number;
}

/** A child in its parent's snapshot. */
export interface ChildSnapshot extends Snapshot {
  readonly instance?: InstancePlace;
  readonly legacy?: LegacyPlace;
  readonly parent?: { readonly region: string; readonly state: string; readonly seq: number };
  readonly first_seq?: number;
  readonly cancelled_with?: string;
}

/** A step of an entity's history, as a commit writes it. */
export interface HistoryRow {
  readonly machine_id: string;
  readonly entity_id: string;
  /** `_` on a flat machine. */
  readonly region: string;
  readonly from_state: string;
  readonly to_state: string;
  /** The event's type, or `$join`, `$timeout`, `$sub_complete`, `$sub_cancel`, `$sub_resume`. */
  readonly event_type: string;
  readonly event_params: { readonly [name: string]: unknown };
  readonly actions_dispatched: readonly DispatchedAction[];
  readonly timestamp: number;
  readonly created_at: number;
  readonly identity_key: string;
  readonly cause: { readonly [detail: string]: unknown };
}

/** An action as answers and the history list it. */
export interface DispatchedAction {
  readonly action_type: "webhook" | "event" | "transition";
  readonly state: string;
  readonly region?: string;
  readonly entity_id?: string;
  readonly url?: string;
  readonly event_type?: string;
  readonly machine_id?: string;
  readonly target?: string;
}

/** What a commit calls for, rendered: what a service would deliver. `broken` is what could not be rendered. */
export type Effect = {
  /** Its identity: the same wherever the same event is decided. */
  readonly effect_id: string;
  /** The place of its row in the commit. */
  readonly row: number;
  readonly row_key: string;
} & (
  | {
      readonly kind: "webhook";
      readonly url: string;
      readonly method?: string;
      readonly headers?: {
        readonly [name: string]: string | { readonly secret: string; readonly prefix?: string };
      };
      readonly body?: string;
      readonly signed?: boolean;
    }
  | { readonly kind: "event"; readonly event_type: string; readonly params: unknown }
  | {
      readonly kind: "transition";
      readonly machine_id: string;
      readonly entity_id: string;
      readonly event_type: string;
      readonly params?: { readonly [name: string]: unknown };
      readonly create?: boolean;
    }
  | { readonly kind: "broken"; readonly problem: string }
);

/** What became of a managed child. */
export interface Life {
  readonly kind: "started" | "completed" | "cancelled" | "resumed";
  readonly machine_id: string;
  readonly entity_id: string;
  readonly depth: number;
  readonly parent: Owner;
  readonly row: number | null;
  readonly key: string | null;
  readonly parent_to?: string;
  readonly parent_row?: number;
  readonly parent_key?: string;
}

/** What is to be written together, if anything is: rows of history, effects, and what became of children. */
export interface Commit {
  readonly machine_id: string;
  readonly entity_id: string;
  readonly rows: readonly HistoryRow[];
  readonly effects: readonly Effect[];
  readonly lives: readonly Life[];
  readonly versions: readonly {
    readonly machine_id: string;
    readonly entity_id: string;
    readonly state_version: number;
  }[];
}

/** A join that fired. */
export interface FiredJoin {
  readonly target_region: string;
  readonly from_state: string;
  readonly target_state: string;
  readonly entity_id?: string;
}

/** What the service answers to an event. */
export interface Answer<T extends MachineTypes = MachineTypes> {
  readonly entity_id: string;
  readonly previous_state: T["state"];
  readonly current_state: T["state"];
  /** `a → b`; null where nothing moved. */
  readonly transition: string | null;
  readonly region?: string;
  readonly triggered_by: string;
  readonly actions_dispatched?: readonly DispatchedAction[];
  readonly joins_fired?: readonly FiredJoin[];
  readonly timestamp: number;
  /** Why nothing moved. */
  readonly reason?: string;
  readonly sub_machine?: { readonly [detail: string]: unknown };
  readonly target?: { readonly machine_id: string; readonly entity_id: string; readonly depth: number };
  readonly instances?: readonly Life[];
  readonly transitions?: readonly {
    readonly region: string;
    readonly from_state: string;
    readonly to_state: string;
    readonly transition: string;
  }[];
  readonly state_version: number;
  readonly timeouts_fired?: number;
}

/** What became of an event: it moved the entity, was a replay, found no transition, or was refused. */
export type Outcome = Sent["outcome"];

/** What is told of an event, whatever became of it. The snapshot that was given is as it was. */
interface SentInAnyCase<T extends MachineTypes> {
  /** The entity after the event, and after the timeouts that were due before it. */
  readonly snapshot: Snapshot<T>;
  /** The timeouts that were due before the event. They stand, whatever becomes of it. */
  readonly timeouts: readonly Commit[];
  /** What stands before it, too: that a legacy child was made, or was found final and moved its parent on. */
  readonly before?: readonly Commit[];
}

/** An event that moved the entity, or one below it. */
export interface Applied<T extends MachineTypes = MachineTypes> extends SentInAnyCase<T> {
  readonly outcome: "applied";
  /** What the service would answer. */
  readonly answer: Answer<T>;
  /** What is to be written. */
  readonly commit: Commit;
  readonly error?: undefined;
}

/** An event that moved nothing: a replay, or one that no transition takes. */
export interface Unmoved<T extends MachineTypes = MachineTypes> extends SentInAnyCase<T> {
  readonly outcome: "duplicate" | "no_transition";
  readonly answer: Answer<T>;
  readonly commit: null;
  readonly error?: undefined;
}

/** An event that was refused. */
export interface Refused<T extends MachineTypes = MachineTypes> extends SentInAnyCase<T> {
  readonly outcome: "refused";
  readonly answer: null;
  readonly commit: null;
  readonly error: StatewrightError;
}

/** What `send` answers. */
export type Sent<T extends MachineTypes = MachineTypes> = Applied<T> | Unmoved<T> | Refused<T>;

/** A new entity, and what its creation writes. */
export interface Started<T extends MachineTypes = MachineTypes> {
  readonly snapshot: Snapshot<T>;
  /** The children that start with it, and what they call for. */
  readonly commit: Commit;
}

/** When something happens, in milliseconds since the epoch; `Date.now()` if left out. */
export interface At {
  readonly now?: number;
}

/** How an event is sent. */
export interface SendOptions extends At {
  /** The entity's rows so far. With them a replay of an event is found, and answered as one. */
  readonly history?: readonly HistoryRow[];
}

/** A comparison that makes a guard fail. */
export interface FailingClause {
  /** Where it stands, such as `guard.all[0]`. */
  readonly path: string;
  readonly field?: string;
  readonly op?: string;
  readonly expected?: unknown;
  /** What it found, if anything. */
  readonly seen?: unknown;
  readonly source?: "param" | "context" | "absent";
  readonly reason?: string;
}

/** A transition on an event, and what stands in its way. */
export interface Candidate {
  /** Its place in the definition's `transitions`. */
  readonly index: number;
  readonly region?: string;
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly state_matches: boolean;
  readonly passes: boolean;
  readonly taken: boolean;
  readonly clauses: readonly FailingClause[];
}

/** Why an event would or would not move an entity. */
export interface Explanation<T extends MachineTypes = MachineTypes> {
  readonly entity_id: string;
  readonly machine_id: string;
  readonly event_type: string;
  readonly current_state: T["state"];
  readonly would: "transition" | "no_transition" | "forward" | "refused";
  readonly transition?: string;
  readonly refusal?: { readonly code: string; readonly message: string };
  readonly candidates: readonly Candidate[];
  readonly joins: readonly {
    readonly index: number;
    readonly target_region: string;
    readonly target_state: string;
    readonly missing: readonly {
      readonly region: string;
      readonly state: string;
      readonly current: string;
    }[];
  }[];
  readonly next_timeout?: NextTimeout;
  readonly elsewhere?: readonly {
    readonly machine_id: string;
    readonly entity_id: string;
    readonly transition: string;
    readonly target?: readonly TargetStep[];
    readonly forwarded?: boolean;
  }[];
}

/** An event that an entity, or one below it, can take where it is. */
export interface PossibleEvent<T extends MachineTypes = MachineTypes> {
  readonly event_type: T["event"] | (string & {});
  readonly region?: string;
  readonly from: string;
  readonly to: string;
  readonly index: number;
  /** Whether params or context decide if it is taken. */
  readonly guarded: boolean;
  readonly label: string;
  readonly machine_id: string;
  readonly entity_id: string;
  readonly target?: readonly TargetStep[];
  readonly forwarded?: boolean;
}

/** A timeout to come, as an explanation tells it. */
export interface NextTimeout {
  /** When it is due, in milliseconds since the epoch. */
  readonly at: number;
  readonly region: string;
  readonly from: string;
  readonly to: string;
}

/** The timer that is due next in an entity or below it. */
export interface Timer {
  readonly machine_id: string;
  readonly entity_id: string;
  readonly region: string;
  readonly state: string;
  /** When it is due, in milliseconds since the epoch. */
  readonly at: number;
}

/** What `advance` answers. */
export interface Advanced<T extends MachineTypes = MachineTypes> {
  readonly snapshot: Snapshot<T>;
  /** The timeouts that fired, in order. */
  readonly timeouts: readonly Commit[];
  /** How many timers were parked, because what they would do is refused. */
  readonly parked: number;
  /** Whether more are due than are applied at once: then `advance` again. */
  readonly more: boolean;
}

/** What a definition says that is allowed and may not be meant. */
export interface DefinitionWarning {
  /** What it is about, such as `unreachable_state`: docs/definitions.md lists them. */
  readonly kind: string;
  /** Where it is: a JSON path. */
  readonly path: string;
  readonly message: string;
}

/** The languages of diagrams. */
export type DiagramFormat = "mermaid" | "dot";

/** How an entity is made. */
export type CreateArguments<T extends MachineTypes> = {} extends T["context"]
  ? [context?: T["context"], options?: At]
  : [context: T["context"], options?: At];

/** How an instance is made. */
export type InstanceArguments<T extends MachineTypes> = {} extends T["context"]
  ? [options?: At & { readonly context?: T["context"] }]
  : [options: At & { readonly context: T["context"] }];

/** A compiled machine. All of it is pure: what it is given stays as it is, and nothing is kept. */
export interface Machine<T extends MachineTypes = MachineTypes> {
  /** What it is to TypeScript; never there at run time. */
  readonly "~types"?: T;
  /** Its `machine_id`. */
  readonly id: T["id"];
  /** Its definition: a frozen copy of what was given. */
  readonly definition: Definition;
  /** The machines that it was given: those of its children. */
  readonly machines: readonly AnyMachine[];
  /** What of its definition deserves a second look. */
  readonly warnings: readonly DefinitionWarning[];

  /** A new entity, and what its creation writes: children that start with it, and effects. */
  start(id: string, ...args: CreateArguments<T>): Started<T>;
  /** A new entity. What its creation writes is told by `start`. */
  create(id: string, ...args: CreateArguments<T>): Snapshot<T>;
  // Not `EventInput<T>`: by that name alone TypeScript's errors would call it, and list no events.
  /** What an event does to an entity. */
  send(
    snapshot: Snapshot<T>,
    event: EventName<T["event"], T["params"]> | EventDetail<T["event"], T["params"]>,
    options?: SendOptions,
  ): Sent<T>;
  /** Why an event would, or would not, move an entity. */
  why(
    snapshot: Snapshot<T>,
    event: EventName<T["event"], T["params"]> | EventDetail<T["event"], T["params"]>,
    options?: At,
  ): Explanation<T>;
  /** The events that an entity can take where it is. */
  events(snapshot: Snapshot<T>, options?: At): readonly PossibleEvent<T>[];
  /** The timeout that is due next, if any is. */
  due(snapshot: Snapshot<T>): Timer | undefined;
  /** An entity at a later time: the timeouts that are due by then have fired, in order. */
  advance(snapshot: Snapshot<T>, now: number): Advanced<T>;
  /** A diagram of the machine, with the states of an entity marked where one is given. */
  diagram(format: DiagramFormat, snapshot?: Snapshot<T>): string;
  /** An entity held in Wasm, for tight loops. */
  instance(id: string, ...args: InstanceArguments<T>): Instance<T>;
  /** An entity held in Wasm, from where a snapshot left it. */
  restore(snapshot: Snapshot<T>, options?: At): Instance<T>;
}

/** An event that an instance knows: a small number, good for this instance alone. */
export type EventHandle = number & { readonly "~handle"?: never };

/** An entity held in Wasm: events are sent to it without JSON. Free it when it is done with, or declare it with `using`. */
export interface Instance<T extends MachineTypes = MachineTypes> {
  /** What it is to TypeScript; never there at run time. */
  readonly "~types"?: T;
  readonly state: T["state"];
  readonly version: number;
  /** Its time, in milliseconds since the epoch. */
  now: number;
  /** When its earliest timer is due, in milliseconds since the epoch; nothing where none is armed. */
  readonly due: number | undefined;
  /** A handle of an event with these params, to be sent again and again, to any instance of the machine. */
  event<E extends T["event"]>(type: E, ...params: ParamsArguments<T, E>): EventHandle;
  /** Sends an event, by handle or by type; whether it moved the entity. */
  send<E extends T["event"] | EventHandle>(
    event: E,
    ...params: E extends number ? [] : ParamsArguments<T, E>
  ): boolean;
  /** The entity as plain JSON. */
  snapshot(): Snapshot<T>;
  free(): void;
  [Symbol.dispose](): void;
}

type ParamsArguments<T extends MachineTypes, E> =
  {} extends ParamsFor<T, E> ? [params?: ParamsFor<T, E>] : [params: ParamsFor<T, E>];
