/**
 * What a definition names, checked against itself while it is written.
 *
 * `defineMachine` has one type parameter for all of the definition: `Capture` infers it, literals and all, and then says
 * nothing, so that errors come from `Checked` alone. `Checked` builds, from the names that were captured, the type that
 * the definition must have: for each transition the states of its own region, for each action the events of its target.
 * So an error stands at the wrong name and lists the right ones, and an editor offers these.
 */

import type {
  ContractName,
  EventAction,
  Guard,
  JsonDefinition,
  ServerKeys,
  TimeoutGuard,
  TransitionAction,
  WebhookAction,
} from "./definition.ts";
import type { AnyMachine, EventOf, Machine, RegionOf, StateOf } from "./typed.ts";

/** Infers `T` where it stands, and takes anything. */
type Capture<T> = [T] extends [never] ? T : {};

type Optional = null | undefined;
type Get<T, Key> = Key extends keyof T ? T[Key] : undefined;
type Item<List> = List extends readonly (infer T)[] ? T : never;
type Text<T> = T extends string ? T : never;

/** The states of each region. A flat machine has one region, `_`. */
type RegionsFrom<D> =
  Get<D, "states"> extends readonly (infer State extends string)[]
    ? { readonly _: State }
    : { readonly [R in Item<Get<D, "regions">> as Text<Get<R, "id">>]: Text<Item<Get<R, "states">>> };

/** What snapshots show. */
type StateFrom<D> =
  Get<D, "states"> extends readonly (infer State extends string)[]
    ? State
    : Get<D, "regions"> extends readonly unknown[]
      ? RegionsFrom<D>
      : string | { readonly [region: string]: string };

type OnOf<Transition> = Transition extends { readonly on: infer On extends string } ? On : never;

/** The event types of its transitions. */
type EventsFrom<D> = Exclude<OnOf<Item<Get<D, "transitions">>>, "$timeout">;

type IdFrom<D> = Text<Get<D, "machine_id">>;

/** The states of a region; of any, where there is no such region. */
type In<N, Region> = Region extends keyof N ? N[Region] : N[keyof N];

/** What is known of all of a definition, where one of its parts is checked. */
interface Scope {
  readonly id: unknown;
  readonly regions: unknown;
  readonly event: unknown;
  readonly contract: unknown;
  readonly machines: unknown;
}

interface ScopeOf<D, Machines> extends Scope {
  readonly id: IdFrom<D>;
  readonly regions: RegionsFrom<D>;
  readonly event: EventsFrom<D>;
  readonly contract: Get<D, "contract">;
  readonly machines: Machines;
}

/** Says in an error what a key is not: keys have no other way to. */
type No<Kind extends string, Name> = `\`${Text<Name>}\` is no ${Kind} of this machine`;

type CheckedGuard<S extends Scope, Form> = S["contract"] extends Optional | "statewright.v1" ? Form : unknown;

/** The event of a transition and its guard, which a timeout must have. */
type Trigger<S extends Scope, On> = On extends "$timeout"
  ? { readonly on: On; readonly guard: CheckedGuard<S, TimeoutGuard> }
  : { readonly on: string; readonly guard?: CheckedGuard<S, Guard> | Optional };

interface FlatMove<State> {
  readonly region?: Optional;
  readonly from: State;
  readonly to: State;
  readonly description?: string | Optional;
}

interface RegionMove<N, Region> {
  readonly region: keyof N;
  readonly from: In<N, Region>;
  readonly to: In<N, Region>;
  readonly description?: string | Optional;
}

type FlatTransitions<S extends Scope, State, Transitions> = {
  readonly [I in keyof Transitions]: FlatMove<State> & Trigger<S, Get<Transitions[I], "on">>;
};

type RegionTransitions<S extends Scope, Transitions> = {
  readonly [I in keyof Transitions]: RegionMove<S["regions"], Get<Transitions[I], "region">> &
    Trigger<S, Get<Transitions[I], "on">>;
};

/** The machine of that id among those that are given. */
type Given<S extends Scope, Id> = Extract<Item<S["machines"]>, { readonly id: Id }>;

/** The events of the machine that an action goes to: this one, one that is given, or one that is not known here. */
type EventsAt<S extends Scope, Target> = Target extends S["id"]
  ? S["event"]
  : [Given<S, Target>] extends [never]
    ? string
    : EventOf<Given<S, Target>>;

type CheckedAction<S extends Scope, A> =
  Get<A, "type"> extends "transition"
    ? TransitionAction<EventsAt<S, Get<A, "machine_id">> & string>
    : WebhookAction | EventAction | TransitionAction;

type CheckedActions<S extends Scope, Actions> = {
  readonly [I in keyof Actions]: {
    readonly on_enter: In<S["regions"], Get<Actions[I], "region">>;
    readonly region?: keyof S["regions"] | Optional;
    readonly action: CheckedAction<S, Get<Actions[I], "action">>;
  };
};

type CheckedJoinActions<S extends Scope, Actions> = {
  readonly [I in keyof Actions]: Actions[I] extends { readonly on_enter: unknown }
    ? CheckedActions<S, readonly [Actions[I]]>[0]
    : CheckedAction<S, Actions[I]>;
};

type CheckedJoins<S extends Scope, Joins> = {
  readonly [I in keyof Joins]: {
    readonly when: { readonly [Region in keyof S["regions"]]?: S["regions"][Region] };
    readonly target_region: keyof S["regions"];
    readonly target_state: In<S["regions"], Get<Joins[I], "target_region">>;
    readonly trigger?: "edge" | "level" | Optional;
    readonly actions?: CheckedJoinActions<S, Get<Joins[I], "actions">> | Optional;
    readonly description?: string | Optional;
  };
};

/** Where a child's end leads: from its states, if it is known. */
type CheckedEnds<State, Child> = [Child] extends [never]
  ? { readonly [final: string]: State }
  : { readonly [Final in StateOf<Child>]?: State };

/** A rule of completion: of a child that is known, with a state of each of its regions. */
interface CheckedRule<State, Child> {
  readonly when: [Child] extends [never]
    ? { readonly [region: string]: string }
    : { readonly [Region in RegionOf<Child>]: StateOf<Child, Region> };
  readonly target: State;
}

interface ManagedChild<State, Child> {
  readonly machine_id: string;
  readonly lifecycle: "managed";
  readonly on_final?: CheckedEnds<State, Child> | Optional;
  readonly complete_when?: readonly CheckedRule<State, Child>[] | Optional;
  readonly reentry?: "refuse" | "fresh" | "resume" | Optional;
}

interface LegacyChild<State, Child> {
  readonly machine_id: string;
  readonly lifecycle?: Optional;
  readonly on_final?: CheckedEnds<State, Child> | Optional;
}

type CheckedChild<S extends Scope, State, Sub> =
  Get<Sub, "lifecycle"> extends Optional
    ? LegacyChild<State, Given<S, Get<Sub, "machine_id">>>
    : ManagedChild<State, Given<S, Get<Sub, "machine_id">>>;

type CheckedChildren<S extends Scope, State, Children> = {
  readonly [Compound in keyof Children]: Compound extends State
    ? CheckedChild<S, State, Children[Compound]>
    : No<"state", Compound>;
} & { readonly [Compound in State & string]?: unknown };

type CheckedRegions<S extends Scope, Regions> = {
  readonly [I in keyof Regions]: {
    readonly id: string;
    readonly description?: string | Optional;
    readonly states: readonly string[];
    readonly initial_state: Item<Get<Regions[I], "states">>;
    readonly sub_machines?:
      CheckedChildren<S, Item<Get<Regions[I], "states">>, Get<Regions[I], "sub_machines">> | Optional;
  };
};

interface CheckedHead extends ServerKeys {
  readonly machine_id: string;
  readonly contract?: ContractName | Optional;
  readonly label?: string | Optional;
  readonly description?: string | Optional;
  readonly meta?: unknown;
}

interface CheckedFlat<S extends Scope, State, D> extends CheckedHead {
  readonly states: readonly string[];
  readonly initial_state: State;
  readonly regions?: Optional;
  readonly transitions: FlatTransitions<S, State, Get<D, "transitions">>;
  readonly joins?: Optional;
  readonly actions?: CheckedActions<S, Get<D, "actions">> | Optional;
  readonly sub_machines?: CheckedChildren<S, State, Get<D, "sub_machines">> | Optional;
  readonly broadcast?: Optional;
}

interface CheckedParallel<S extends Scope, D> extends CheckedHead {
  readonly states?: Optional;
  readonly initial_state?: Optional;
  readonly regions: CheckedRegions<S, Get<D, "regions">>;
  readonly transitions: RegionTransitions<S, Get<D, "transitions">>;
  readonly joins?: CheckedJoins<S, Get<D, "joins">> | Optional;
  readonly actions?: CheckedActions<S, Get<D, "actions">> | Optional;
  readonly sub_machines?: Optional;
  readonly broadcast?: readonly S["event"][] | Optional;
}

/** Whether the names of a definition are plain strings: of JSON, or put together while it runs. */
type IsLoose<D> = string extends IdFrom<D> | EventsFrom<D> | RegionsFrom<D>[keyof RegionsFrom<D>]
  ? true
  : false;

/** The type that a definition must have, by what it names. */
export type CheckedDefinition<D, Machines> =
  IsLoose<D> extends true
    ? JsonDefinition
    : Get<D, "states"> extends readonly (infer State)[]
      ? CheckedFlat<ScopeOf<D, Machines>, State, D>
      : CheckedParallel<ScopeOf<D, Machines>, D>;

/** What is known of contexts and params: `{} as { context: Order; events: { pay: { amount: number } } }`. */
export interface TypeHints {
  readonly context?: object;
  /** The params of events, by type. Others take any object. */
  readonly events?: object;
}

/** Every event whose params are declared is one of the machine. */
type CheckedHints<Hints, Event> = Hints extends { readonly events: infer Events }
  ? { readonly events: { readonly [Type in keyof Events]: Type extends Event ? object : No<"event", Type> } }
  : unknown;

/** What `defineMachine` is given beside the definition. */
export interface DefineOptions<Machines = readonly AnyMachine[], Hints = TypeHints> {
  /** The machines that the definition refers to: those of its children. */
  readonly machines?: Machines;
  /** What TypeScript is to know of contexts and params. It is not looked at when it runs. */
  readonly types?: Hints;
}

/** A legacy child takes what its parent does not: the parent takes the events of any machine that is given. */
type ForwardedEvents<D, Machines> =
  | (Get<D, "sub_machines"> extends infer Children ? Children[keyof Children] : never)
  | (Item<Get<D, "regions">> extends infer R
      ? R extends { readonly sub_machines: infer Children }
        ? Children[keyof Children]
        : never
      : never) extends infer Child
  ? Child extends { readonly lifecycle: "managed" }
    ? never
    : Machines extends readonly [AnyMachine, ...AnyMachine[]]
      ? EventOf<Machines[number]>
      : string & {}
  : never;

/** How `defineMachine` is called. */
export interface DefineMachine {
  /**
   * Compiles a definition.
   *
   * Its names are literal types without `as const`: a state, region or event that is not there does not compile. A
   * definition of JSON (`import order from "./order.json"`) is taken as well; its names are strings.
   *
   * @throws {StatewrightError} `BAD_REQUEST`, with every fault in `details.faults`.
   */
  <const D, const Machines extends readonly AnyMachine[] = readonly [], Hints extends TypeHints = {}>(
    definition: Capture<D> & NoInfer<CheckedDefinition<D, Machines>>,
    options?: DefineOptions<Machines, Hints & NoInfer<CheckedHints<Hints, EventsFrom<D>>>>,
  ): Machine<{
    readonly id: IdFrom<D>;
    readonly state: StateFrom<D>;
    readonly regions: RegionsFrom<D>;
    readonly event: EventsFrom<D> | ForwardedEvents<D, Machines>;
    readonly params: Hints extends { readonly events: infer Events extends object } ? Events : {};
    readonly context: Hints extends { readonly context: infer Context extends object }
      ? Context
      : { readonly [key: string]: unknown };
  }>;
}
