/**
 * A machine's definition as it is written: what docs/machine.schema.json says, in TypeScript.
 *
 * What a definition names is checked against itself, without `as const`, by {@link CheckedDefinition}; here stand the
 * shapes in which every name is a string.
 */

/** Any JSON value. */
export type Json =
  string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/** The rules that a machine runs by; `statewright.v1` when left out. */
export type ContractName = "statewright.v1" | "statemachine-e1e4.v1" | "statemachine-nested.v1";

/** The comparisons of a guard. `ne` is another name of `neq`. */
export type GuardOp = "eq" | "neq" | "ne" | "gt" | "gte" | "lt" | "lte" | "contains";

/** A comparison of a param, or else of a context field, with a value. */
export interface Comparison {
  readonly field: string;
  readonly op: GuardOp;
  readonly value: unknown;
}

/** A guard: a comparison, or `all` or `any` of guards, up to 32 deep. */
export type Guard = Comparison | { readonly all: readonly Guard[] } | { readonly any: readonly Guard[] };

/** The guard of a `$timeout`: its delay, a positive integer, and conditions on the context beside it. */
export type TimeoutGuard = Delay & Condition;

type Delay =
  | { readonly timeout_seconds: number; readonly after_ms?: null | undefined }
  | { readonly after_ms: number; readonly timeout_seconds?: null | undefined };

type Condition =
  | Comparison
  | { readonly all: readonly Guard[] }
  | { readonly any: readonly Guard[] }
  | { readonly field?: null; readonly all?: null; readonly any?: null };

/** A text, or a secret of the tenant that is put in when it is sent. */
export type HeaderValue = string | { readonly secret: string; readonly prefix?: string | null | undefined };

/** An HTTP request. Texts and the body may take values from the entity and the event: docs/effects.md. */
export interface WebhookAction {
  readonly type: "webhook";
  readonly url: string;
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | null | undefined;
  readonly headers?: { readonly [name: string]: HeaderValue } | null | undefined;
  readonly body?: unknown;
  readonly signed?: boolean | null | undefined;
}

/** An event to the operator's event collector. */
export interface EventAction {
  readonly type: "event";
  readonly event_type: string;
}

/** An event to an entity of another machine, or of this one. */
export interface TransitionAction<Event extends string = string> {
  readonly type: "transition";
  readonly machine_id: string;
  /** A text with places such as `{/context/order}`. */
  readonly entity_id: string;
  readonly event_type: Event;
  readonly params?: { readonly [name: string]: unknown } | null | undefined;
  /** Whether the entity is made where it does not exist; true when left out. */
  readonly create?: boolean | null | undefined;
}

/** What an action does. */
export type Action = WebhookAction | EventAction | TransitionAction;

/** An action and the state whose entry calls for it; without `region`, a state of that name in any region. */
export interface ActionDef {
  readonly on_enter: string;
  readonly region?: string | null | undefined;
  readonly action: Action;
}

/** In state `from`, on event `on`, if the guard passes, to state `to`. */
export interface TransitionDef {
  readonly region?: string | null | undefined;
  readonly from: string;
  readonly to: string;
  readonly on: string;
  readonly guard?: Guard | TimeoutGuard | null | undefined;
  readonly description?: string | null | undefined;
}

/** When each region of `when` is in its state, the target region moves in the same commit. */
export interface JoinDef {
  readonly when: { readonly [region: string]: string };
  readonly target_region: string;
  readonly target_state: string;
  readonly trigger?: "edge" | "level" | null | undefined;
  readonly actions?: readonly (Action | ActionDef)[] | null | undefined;
  readonly description?: string | null | undefined;
}

/** When a managed child is complete, and the state that its parent then moves to. */
export interface CompletionRule {
  readonly when: { readonly [region: string]: string };
  readonly target: string;
}

/** The child machine of a compound state. */
export interface SubMachineDef {
  readonly machine_id: string;
  readonly lifecycle?: "managed" | null | undefined;
  readonly on_final?: { readonly [state: string]: string } | null | undefined;
  readonly complete_when?: readonly CompletionRule[] | null | undefined;
  readonly reentry?: "refuse" | "fresh" | "resume" | null | undefined;
}

/** A region of a parallel machine. */
export interface RegionDef {
  readonly id: string;
  readonly description?: string | null | undefined;
  readonly states: readonly string[];
  readonly initial_state: string;
  readonly sub_machines?: { readonly [state: string]: SubMachineDef } | null | undefined;
}

/** What a service adds to a definition that it gives; where it is sent back, it is left out. */
export interface ServerKeys {
  readonly tenant_id?: unknown;
  readonly revision?: unknown;
  readonly content_hash?: unknown;
  readonly created_at?: unknown;
  readonly updated_at?: unknown;
  readonly warnings?: unknown;
}

/** A machine's definition: flat with `states` and `initial_state`, or parallel with `regions`. docs/definitions.md. */
export interface Definition extends ServerKeys {
  readonly machine_id: string;
  readonly contract?: ContractName | null | undefined;
  readonly label?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly meta?: unknown;
  readonly states?: readonly string[] | null | undefined;
  readonly initial_state?: string | null | undefined;
  readonly regions?: readonly RegionDef[] | null | undefined;
  readonly transitions: readonly TransitionDef[];
  readonly joins?: readonly JoinDef[] | null | undefined;
  readonly actions?: readonly ActionDef[] | null | undefined;
  readonly sub_machines?: { readonly [state: string]: SubMachineDef } | null | undefined;
  readonly broadcast?: readonly string[] | null | undefined;
}

/**
 * A definition whose texts are no literals, as an imported JSON file has them: it has the shape of a {@link Definition},
 * and what else is wrong with it is found when it is compiled.
 */
export interface JsonDefinition extends ServerKeys {
  readonly machine_id: string;
  readonly contract?: string | null | undefined;
  readonly label?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly meta?: unknown;
  readonly states?: readonly string[] | null | undefined;
  readonly initial_state?: string | null | undefined;
  readonly regions?:
    | readonly {
        readonly id: string;
        readonly states: readonly string[];
        readonly initial_state: string;
        readonly description?: string | null | undefined;
        readonly sub_machines?: object | null | undefined;
      }[]
    | null
    | undefined;
  readonly transitions: readonly {
    readonly region?: string | null | undefined;
    readonly from: string;
    readonly to: string;
    readonly on: string;
    readonly guard?: unknown;
    readonly description?: string | null | undefined;
  }[];
  readonly joins?:
    | readonly {
        readonly when: object;
        readonly target_region: string;
        readonly target_state: string;
        readonly trigger?: string | null | undefined;
        readonly actions?: readonly object[] | null | undefined;
        readonly description?: string | null | undefined;
      }[]
    | null
    | undefined;
  readonly actions?:
    | readonly {
        readonly on_enter: string;
        readonly region?: string | null | undefined;
        readonly action: object;
      }[]
    | null
    | undefined;
  readonly sub_machines?: object | null | undefined;
  readonly broadcast?: readonly string[] | null | undefined;
}
