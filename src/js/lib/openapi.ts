// Made from docs/openapi.json by scripts/openapi-types.ts; do not edit: `node scripts/openapi-types.ts` makes it anew.

export interface paths {
  readonly "/api/machines": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** All machines of the tenant, in the order of their creation. */
    readonly get: operations["listMachines"];
    readonly put?: never;
    /** Registers a machine. It must not exist yet. */
    readonly post: operations["createMachine"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/validate": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /**
     * Checks a definition as a registration would, and registers nothing. Where a tenant is named, its machines are those
     *     that the definition may name as children.
     */
    readonly post: operations["validateMachine"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** One machine. */
    readonly get: operations["getMachine"];
    /** Gives a machine a new revision. */
    readonly put: operations["replaceMachine"];
    readonly post?: never;
    /** Deletes a machine without entities, and its revisions. */
    readonly delete: operations["deleteMachine"];
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/counts": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** How many entities are in each state of each region. */
    readonly get: operations["countEntities"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/diagram": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** A machine as a diagram. */
    readonly get: operations["drawMachine"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/entities": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** The entities of a machine. */
    readonly get: operations["listEntities"];
    readonly put?: never;
    /** Makes an entity in the machine's initial state. It must not exist yet. */
    readonly post: operations["createEntity"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/entities/{entity_id}": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** One entity; with `tree=true` everything below it too. */
    readonly get: operations["getEntity"];
    readonly put?: never;
    readonly post?: never;
    /** Deletes an entity with everything below it, their history and their timers. A live managed child stays. */
    readonly delete: operations["deleteEntity"];
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/entities/{entity_id}/events": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** The events that an entity, and what lives below it, can take where it is now, and the target that leads there. */
    readonly get: operations["listEvents"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/entities/{entity_id}/explain": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Why an event would move an entity or not: every candidate transition with the clauses that fail and the values seen. */
    readonly post: operations["explain"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/entities/{entity_id}/history": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** What happened to an entity. */
    readonly get: operations["getHistory"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/entities/{entity_id}/release": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Frees an entity's parked timers, so that the scanner tries them again. */
    readonly post: operations["releaseTimers"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/entities/{entity_id}/transition": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Applies one event to an entity that exists. */
    readonly post: operations["transition"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/evaluate": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Applies one event. An entity that does not exist is made first. */
    readonly post: operations["evaluate"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/evaluate/batch": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Applies up to 1,000 events, each on its own: the failure of one undoes no other. */
    readonly post: operations["evaluateBatch"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/machines/{machine_id}/revisions": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** The revisions of a machine, newest first. */
    readonly get: operations["listRevisions"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/outbox": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** The tenant's effects, newest first; those that are pending oldest first. And how many there are of each status. */
    readonly get: operations["listOutbox"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/outbox/cancel": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Calls off all pending effects of a filter, up to 1,000 in a call. */
    readonly post: operations["cancelEffects"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/outbox/redrive": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Has all effects of a filter sent again, up to 1,000 in a call. */
    readonly post: operations["redriveEffects"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/outbox/{outbox_id}": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** One effect: what is sent, and its attempts. */
    readonly get: operations["getOutbox"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/outbox/{outbox_id}/cancel": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Calls off an effect that is pending. */
    readonly post: operations["cancelEffect"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/outbox/{outbox_id}/redrive": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Has an effect sent again that is dead, cancelled or skipped; one that waits is sent now. */
    readonly post: operations["redriveEffect"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/receipts/{key}": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** What became of a request with an Idempotency-Key, of a webhook's delivery, or of an event, newest first. */
    readonly get: operations["getReceipts"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/scheduler": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** What the scanner of due timers did last, and which timers of the tenant are overdue, parked or failing. */
    readonly get: operations["scheduler"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/secrets": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** The tenant's secrets by name, without their values. */
    readonly get: operations["listSecrets"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/secrets/{name}": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    /** Makes or replaces a secret. Without a value the service makes one up, and tells it this once. */
    readonly put: operations["putSecret"];
    readonly post?: never;
    /** Deletes a secret with all its values. */
    readonly delete: operations["deleteSecret"];
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/secrets/{name}/previous": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    readonly post?: never;
    /** Ends a rotation: the value before is not live any more. */
    readonly delete: operations["deletePreviousSecret"];
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/secrets/{name}/rotate": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Gives a secret a new value, and leaves the one so far live beside it. One before that is dropped. */
    readonly post: operations["rotateSecret"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/sources": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** The tenant's webhook sources, with what was counted of each. */
    readonly get: operations["listSources"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/sources/{source_id}": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** One webhook source. */
    readonly get: operations["getSource"];
    /** Registers or replaces a webhook source: who signs, and what its requests become. */
    readonly put: operations["putSource"];
    readonly post?: never;
    /** Deletes a webhook source: its requests are answered 401 from then on. */
    readonly delete: operations["deleteSource"];
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/sources/{source_id}/try": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Shows what a request would become. Nothing is written, and it need not be signed. */
    readonly post: operations["trySource"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/state/create": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Makes a state record at version 1. It must not exist yet. */
    readonly post: operations["createRecord"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/state/get": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Reads a state record. */
    readonly post: operations["getRecord"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/state/transition": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Moves a state record, where it is in the state and at the version that the caller says, and makes its event. */
    readonly post: operations["moveRecord"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/subscriptions": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** The tenant's subscriptions, in the order of their creation. */
    readonly get: operations["listSubscriptions"];
    readonly put?: never;
    /** Makes a subscription under an id of the service's own. */
    readonly post: operations["createSubscription"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/api/subscriptions/{subscription_id}": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** One subscription. */
    readonly get: operations["getSubscription"];
    /** Makes or replaces a subscription. What is held for one that becomes active is presented. */
    readonly put: operations["putSubscription"];
    readonly post?: never;
    /** Deletes a subscription. What waits for it is skipped. */
    readonly delete: operations["deleteSubscription"];
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/health": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** Whether the service answers. */
    readonly get: operations["health"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/hooks/{tenant}/{source_id}": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly get?: never;
    readonly put?: never;
    /** Takes in a provider's webhook. It needs no API key: it is signed with the source's secret. */
    readonly post: operations["hook"];
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
  readonly "/openapi.json": {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    /** This document. */
    readonly get: operations["openapi"];
    readonly put?: never;
    readonly post?: never;
    readonly delete?: never;
    readonly options?: never;
    readonly head?: never;
    readonly patch?: never;
    readonly trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    /** @description An action that was called for. */
    readonly Action:
      | {
          /** @enum {string} */
          readonly action_type: "webhook";
          /** @description The entity that entered it, where it is another than the answer's. */
          readonly entity_id?: string;
          /** @description The region of that state, in a parallel machine. */
          readonly region?: string;
          /** @description The state whose entry calls for it. */
          readonly state: string;
          readonly url: string;
        }
      | {
          /** @enum {string} */
          readonly action_type: "event";
          /** @description The entity that entered it, where it is another than the answer's. */
          readonly entity_id?: string;
          readonly event_type: string;
          /** @description The region of that state, in a parallel machine. */
          readonly region?: string;
          /** @description The state whose entry calls for it. */
          readonly state: string;
        }
      | {
          /** @enum {string} */
          readonly action_type: "transition";
          /** @description The entity that entered it, where it is another than the answer's. */
          readonly entity_id?: string;
          readonly event_type: string;
          readonly machine_id: string;
          /** @description The region of that state, in a parallel machine. */
          readonly region?: string;
          /** @description The state whose entry calls for it. */
          readonly state: string;
          /** @description The entity that it is sent to, as the definition writes it. */
          readonly target: string;
        };
    /** @description A JSON object. */
    readonly AnyObject: {
      readonly [key: string]: unknown;
    };
    /** @description Any JSON value. */
    readonly Anything: unknown;
    /** @description An attempt to deliver an effect. */
    readonly Attempt: {
      /** Format: int64 */
      readonly at: number;
      /** Format: int64 */
      readonly attempt: number;
      /** @description The first 1,024 bytes of what the receiver answered. */
      readonly body?: string | null;
      readonly error?: string | null;
      /**
       * Format: int64
       * @description How long it took.
       */
      readonly ms: number;
      /**
       * Format: int32
       * @description The receiver's HTTP status.
       */
      readonly status?: number | null;
    };
    /** @description Up to 1,000 events. */
    readonly BatchRequest: {
      readonly events: readonly components["schemas"]["EvaluateRequest"][];
    };
    /** @description What each event of a batch did, in their order. */
    readonly BatchResponse: {
      /** Format: int64 */
      readonly failed: number;
      readonly results: readonly components["schemas"]["BatchResult"][];
      /** Format: int64 */
      readonly succeeded: number;
      /** Format: int64 */
      readonly total: number;
    };
    /** @description What one event of a batch did. */
    readonly BatchResult: {
      readonly entity_id?: string;
      /** @description `CODE: message`. */
      readonly error?: string;
      readonly result?: components["schemas"]["TransitionResponse"];
    };
    /** @description How many effects were called off. */
    readonly Cancelled: {
      /** Format: int64 */
      readonly cancelled: number;
      readonly cursor?: string;
      /** @description Whether there may be others: send the call again with this `cursor`. */
      readonly more: boolean;
    };
    /** @description A transition on an event, and whether it is taken. */
    readonly Candidate: {
      /** @description The clauses that make its guard fail. */
      readonly clauses: readonly components["schemas"]["Clause"][];
      readonly from: string;
      /**
       * Format: int64
       * @description Its place in the definition.
       */
      readonly index: number;
      readonly label: string;
      /** @description Whether its guard holds. */
      readonly passes: boolean;
      /** @description The region that it moves, in a parallel machine. */
      readonly region?: string;
      /** @description Whether its region is in `from`. */
      readonly state_matches: boolean;
      /** @description Whether the event takes it. */
      readonly taken: boolean;
      readonly to: string;
    };
    /** @description What caused a history row. */
    readonly Cause: {
      /** @description Of a join, a cancellation and a resumption: the identity of the row that set it off. */
      readonly by?: string | null;
      /** @description Of a completion: the child that came to its end. */
      readonly child?: components["schemas"]["ChildName"];
      /**
       * Format: int64
       * @description Of a timeout: when it was due.
       */
      readonly due_at?: number;
      /**
       * Format: int64
       * @description Of a join: its place in the definition.
       */
      readonly join?: number;
      /** @description Of a completion: the identity of the child's row; null where it was at its end from the start. */
      readonly key?: string | null;
      /** @description `event`, `timeout`, `join`, `managed`, `legacy`, `cancel` or `resume`. */
      readonly via: string;
    } & {
      readonly [key: string]: unknown;
    };
    /** @description A child. */
    readonly ChildName: {
      readonly entity_id: string;
      readonly machine_id: string;
    };
    /** @description A clause that makes a guard fail. */
    readonly Clause: {
      readonly expected?: components["schemas"]["Anything"];
      readonly field?: string;
      readonly op?: components["schemas"]["GuardOperator"];
      /** @description Where it stands, such as `guard.all[0]`. */
      readonly path: string;
      /** @description Why it fails, where the values alone do not say it. */
      readonly reason?: string;
      /** @description What was found; a large value is not shown in full. */
      readonly seen?: components["schemas"]["Anything"];
      readonly source?: components["schemas"]["ValueSource"];
    };
    /** @description An entity whose rows cannot be read. */
    readonly CorruptEntity: {
      readonly entity_id: string;
      /** @description Why: what reading it by itself answers as its `error`. */
      readonly error: components["schemas"]["ProblemDetail"];
      readonly machine_id: string;
      readonly tenant_id: string;
    };
    /** @description How many entities are in a state of a region. */
    readonly Count: {
      /** Format: int64 */
      readonly entities: number;
      /** @description The region; `_` in a flat machine. */
      readonly region: string;
      readonly state: string;
    };
    /** @description How many requests of a source became what. */
    readonly Counts: {
      /** Format: int64 */
      readonly applied: number;
      /** Format: int64 */
      readonly bad_signature: number;
      /** Format: int64 */
      readonly duplicate: number;
      /** Format: int64 */
      readonly handshake: number;
      /** Format: int64 */
      readonly no_transition: number;
      /** Format: int64 */
      readonly refused: number;
      /** Format: int64 */
      readonly unmapped: number;
    };
    /**
     * @description A machine's definition; docs/machine.schema.json has all of it.
     * @example {
     *       "initial_state": "pending",
     *       "machine_id": "order",
     *       "states": [
     *         "pending",
     *         "paid",
     *         "shipped"
     *       ],
     *       "transitions": [
     *         {
     *           "from": "pending",
     *           "guard": {
     *             "field": "amount",
     *             "op": "gt",
     *             "value": 0
     *           },
     *           "on": "pay",
     *           "to": "paid"
     *         },
     *         {
     *           "from": "paid",
     *           "on": "ship",
     *           "to": "shipped"
     *         }
     *       ]
     *     }
     */
    readonly Definition: {
      /** @description `statewright.v1`, the default, or `statemachine-e1e4.v1`. */
      readonly contract?: string;
      /** @description Where an entity of a flat machine starts. */
      readonly initial_state?: string;
      /** @description Joins between the regions. */
      readonly joins?: readonly components["schemas"]["AnyObject"][];
      /** @description Its id; in a PUT the path has it. */
      readonly machine_id?: string;
      /** @description Actions on entering states. */
      readonly on_enter?: components["schemas"]["AnyObject"];
      /** @description Regions of a parallel machine. */
      readonly regions?: readonly components["schemas"]["AnyObject"][];
      /** @description States of a flat machine. */
      readonly states?: readonly components["schemas"]["Anything"][];
      /** @description Child machines of a flat machine's states; on a parallel machine each region has its own. */
      readonly sub_machines?: {
        readonly [key: string]: components["schemas"]["SubMachine"];
      };
      /** @description Transitions of a flat machine. */
      readonly transitions?: readonly components["schemas"]["AnyObject"][];
    } & {
      readonly [key: string]: unknown;
    };
    /**
     * @description A language for diagrams.
     * @enum {string}
     */
    readonly DiagramFormat: "mermaid" | "dot";
    /** @description An entity below that would take an event. */
    readonly Elsewhere: {
      readonly entity_id: string;
      /** @description Whether the event gets there without a target. */
      readonly forwarded?: boolean;
      readonly machine_id: string;
      /** @description The `target` that leads there; none below a legacy child. */
      readonly target?: readonly components["schemas"]["Step"][];
      /** @description The label of the transition that it would take. */
      readonly transition: string;
    };
    /** @description An entity. */
    readonly Entity: {
      /** @description With `tree=true`: its children, live and ended, managed and legacy, in the order of their starts. */
      readonly children?: readonly components["schemas"]["Entity"][];
      readonly context: {
        readonly [key: string]: unknown;
      };
      /** Format: int64 */
      readonly created_at: number;
      /** @description A state, or a map from region to state. */
      readonly current_state: components["schemas"]["StateOrRegions"];
      readonly entity_id: string;
      /** @description Its place in its tree, where it is a managed child. */
      readonly instance?: components["schemas"]["Instance"];
      readonly machine_id: string;
      /** @description With `tree=true`, of each child: the entry of its parent that it belongs to. */
      readonly parent?: components["schemas"]["ParentEntry"];
      /** @description The current entry of each region: its state, sequence number, time and cause. */
      readonly region_entries: {
        readonly [key: string]: components["schemas"]["RegionEntry"];
      };
      /** Format: int64 */
      readonly revision: number;
      /** Format: int64 */
      readonly state_version: number;
      readonly tenant_id: string;
      /** Format: int64 */
      readonly updated_at: number;
    };
    /**
     * @description An event for an entity that its params name.
     * @example {
     *       "entity_key": "order_id",
     *       "event_type": "pay",
     *       "params": {
     *         "amount": 42,
     *         "order_id": "o-1"
     *       }
     *     }
     */
    readonly EvaluateRequest: {
      /** @description Whether effects are to be sent. */
      readonly dispatch?: boolean;
      /** @description Answer what would happen, and write nothing. */
      readonly dry_run?: boolean;
      /** @description The name of the param that holds the entity's id. */
      readonly entity_key: string;
      readonly event_type: string;
      /**
       * Format: int64
       * @description Refused unless the entity has this version; 0 means that it must not exist.
       */
      readonly expected_version?: number;
      /** @description Put the explanation in the answer. */
      readonly explain?: boolean;
      readonly params: {
        readonly [key: string]: unknown;
      };
      /** @description The way to a managed child; empty for the entity itself. */
      readonly target?: readonly components["schemas"]["Step"][];
      /**
       * Format: int64
       * @description When it happened (milliseconds since the epoch). With the type it is the event's identity.
       */
      readonly timestamp?: number;
    };
    /** @description What became of an event. */
    readonly EventReceipt: {
      /** Format: int64 */
      readonly at: number;
      readonly entity_id: string;
      readonly identity: string;
      readonly machine_id: string;
      /** @description The effects of its commit, up to 1,000. */
      readonly outbox: readonly string[];
      readonly outcome: string;
      /**
       * Format: int64
       * @description The history row.
       */
      readonly row: number;
    };
    /** @description What an event would do, and why. */
    readonly Explanation: {
      /** @description Every transition on the event, with the clauses that fail and the values seen. */
      readonly candidates: readonly components["schemas"]["Candidate"][];
      readonly current_state: components["schemas"]["StateOrRegions"];
      /** @description The live entities below that would take the event, if it were for them. */
      readonly elsewhere?: readonly components["schemas"]["Elsewhere"][];
      readonly entity_id: string;
      readonly event_type: string;
      /** @description The joins that wait, and what for. */
      readonly joins: readonly components["schemas"]["WaitingJoin"][];
      readonly machine_id: string;
      /** @description The next timeout of the entity. */
      readonly next_timeout?: components["schemas"]["NextTimeout"];
      /** @description Why it would be refused. */
      readonly refusal?: components["schemas"]["WouldRefuse"];
      /** @description The label of the transition that it would take. */
      readonly transition?: string;
      readonly would: components["schemas"]["Would"];
    };
    /** @description A timer of an entity that fails. */
    readonly FailingTimer: {
      /** Format: int64 */
      readonly due_at: number | null;
      readonly entity_id: string;
      readonly error: string | null;
      /** Format: int64 */
      readonly failures: number;
      readonly machine_id: string;
      /** Format: int64 */
      readonly next_try_at: number | null;
      readonly region: string;
    };
    /**
     * @description A fault of a definition.
     * @example {
     *       "expected": "one of `open`, `shut` (did you mean `open`?)",
     *       "path": "$.initial_state",
     *       "problem": "`opne` is no state of this machine"
     *     }
     */
    readonly Fault: {
      /** @description What would be right. */
      readonly expected: string;
      /** @description Its JSON path. */
      readonly path: string;
      readonly problem: string;
    };
    /** @description A join that fired. */
    readonly FiredJoin: {
      /** @description The entity whose join it is, where it is another than the answer's. */
      readonly entity_id?: string;
      readonly from_state: string;
      readonly target_region: string;
      readonly target_state: string;
    };
    /**
     * @description A comparison of a guard.
     * @enum {string}
     */
    readonly GuardOperator: "eq" | "neq" | "ne" | "gt" | "gte" | "lt" | "lte" | "contains";
    /** @description Whether the service answers. */
    readonly Health: {
      /** @example state-machine */
      readonly service: string;
      /** @example ok */
      readonly status: string;
      readonly version: string;
    };
    /**
     * @description An order of history rows.
     * @enum {string}
     */
    readonly HistoryOrder: "timestamp" | "newest" | "id";
    /** @description One step of an entity's history. */
    readonly HistoryRow: {
      readonly actions_dispatched: readonly components["schemas"]["Action"][];
      readonly cause: components["schemas"]["Cause"];
      /** Format: int64 */
      readonly created_at: number;
      readonly entity_id: string;
      readonly event_params: {
        readonly [key: string]: unknown;
      };
      /** @description The event's type, or `$join`, `$timeout`, `$sub_complete`, `$sub_cancel` or `$sub_resume`. */
      readonly event_type: string;
      readonly from_state: string;
      /** Format: int64 */
      readonly id: number;
      readonly identity_key: string;
      readonly machine_id: string;
      /** @description The region that moved; `_` in a flat machine. */
      readonly region: string;
      /** Format: int64 */
      readonly revision: number;
      readonly tenant_id: string;
      /** Format: int64 */
      readonly timestamp: number;
      readonly to_state: string;
    };
    /** @description What a provider is told. */
    readonly HookAnswer: {
      /** @description Why it was refused. */
      readonly code?: string;
      /** @description `applied`, `duplicate`, `no_transition`, `refused`, `unmapped` or `handshake`. */
      readonly outcome: string;
      /** @description Why it is no event. */
      readonly problem?: string;
    } & {
      readonly [key: string]: unknown;
    };
    /**
     * @description What becomes of live entities with a new revision.
     * @enum {string}
     */
    readonly InFlight: "follow" | "pin";
    /** @description The place of a managed child in its tree. */
    readonly Instance: {
      /**
       * Format: int32
       * @description Its level; a root is at 0.
       */
      readonly depth: number;
      /**
       * Format: int64
       * @description Where it has ended.
       */
      readonly ended?: number;
      /** @description Its managed ancestors, the root first, each with the entry that leads on to it. */
      readonly path: readonly components["schemas"]["Owner"][];
      /** Format: int64 */
      readonly started: number;
      readonly status: components["schemas"]["Status"];
    };
    /** @description A secret that was written. */
    readonly KeptSecret: {
      /** Format: int64 */
      readonly created_at: number;
      readonly name: string;
      readonly previous: boolean;
      /** Format: int64 */
      readonly rotated_at: number | null;
      /** Format: int64 */
      readonly updated_at: number;
      /** @description The value that the service made up, this once; never in a replay. */
      readonly value?: string;
      /** Format: int64 */
      readonly version: number;
    };
    /** @description What became of a managed child. */
    readonly Life: {
      /**
       * Format: int32
       * @description Its level; a root is at 0.
       */
      readonly depth: number;
      readonly entity_id: string;
      /** @description The identity of that row. */
      readonly key: string | null;
      readonly kind: components["schemas"]["LifeKind"];
      readonly machine_id: string;
      readonly parent: components["schemas"]["Owner"];
      /** @description The identity of that row. */
      readonly parent_key?: string;
      /**
       * Format: int64
       * @description The parent's history row.
       */
      readonly parent_row?: number;
      /** @description Where a completion led the parent. */
      readonly parent_to?: string;
      /**
       * Format: int64
       * @description The history row that says so; null where none does.
       */
      readonly row: number | null;
    };
    /**
     * @description What can become of a managed child.
     * @enum {string}
     */
    readonly LifeKind: "started" | "completed" | "cancelled" | "resumed";
    /** @description An entity in a list; or, where its rows cannot be read, its name and the error. */
    readonly ListedEntity: components["schemas"]["Entity"] | components["schemas"]["CorruptEntity"];
    /** @description Live entities that a new revision has no place for. */
    readonly LiveState: {
      /**
       * Format: int64
       * @description How many, counted up to 1,000.
       */
      readonly entities: number;
      readonly region: string;
      /** @description Null for a region that the new revision adds. */
      readonly state: string | null;
    };
    /** @description A machine: its definition as it was given, and what the service adds. */
    readonly Machine: {
      readonly content_hash: string;
      /** Format: int64 */
      readonly created_at: number;
      readonly machine_id: string;
      /** Format: int64 */
      readonly revision: number;
      readonly tenant_id: string;
      /** Format: int64 */
      readonly updated_at: number;
      /** @description What deserves a second look, if anything; in the answers to POST and PUT alone. */
      readonly warnings?: readonly components["schemas"]["Warning"][];
    } & {
      readonly [key: string]: unknown;
    };
    /** @description An event that a request becomes. */
    readonly MappedEvent: {
      readonly entity_id: string;
      readonly event_type: string;
      /** @description It has one effect by this, however often it is delivered. */
      readonly identity: string;
      readonly params: {
        readonly [key: string]: unknown;
      };
      /** Format: int64 */
      readonly timestamp?: number;
    };
    /** @description A region that is not in the state that a join waits for. */
    readonly MissingState: {
      /** @description The state that it is in. */
      readonly current: string;
      readonly region: string;
      /** @description The state that is waited for. */
      readonly state: string;
    };
    /** @description An entity to be made. */
    readonly NewEntity: {
      /** @description What its guards can read from the start. */
      readonly context?: components["schemas"]["AnyObject"];
      readonly entity_id: string;
    };
    /**
     * @description A state record to be made.
     * @example {
     *       "data": {
     *         "balance": 0
     *       },
     *       "id": "w-1",
     *       "machine": "wallet",
     *       "state": "open"
     *     }
     */
    readonly NewRecord: {
      /** @description Any JSON; null where it is left out. */
      readonly data?: components["schemas"]["Anything"];
      readonly id: string;
      readonly machine: string;
      readonly state: string;
    };
    /**
     * @description A webhook source to be registered.
     * @example {
     *       "machine": "pull-request",
     *       "mapping": {
     *         "entity_id": "{/repository/full_name}#{/number}",
     *         "event_type": "/action",
     *         "params": {
     *           "title": "/pull_request/title"
     *         }
     *       },
     *       "scheme": {
     *         "type": "github"
     *       },
     *       "secret": "github"
     *     }
     */
    readonly NewSource: {
      /**
       * @description Whether it takes requests.
       * @default true
       */
      readonly active?: boolean;
      /**
       * @description Whether an entity that does not exist is made.
       * @default true
       */
      readonly create?: boolean;
      /** @description The machine whose entities its events are for. */
      readonly machine: string;
      /** @description What its requests become; docs/webhooks.md has all of it. */
      readonly mapping: components["schemas"]["AnyObject"];
      readonly scheme: components["schemas"]["Scheme"];
      /** @description The name of the secret that its requests are signed with. */
      readonly secret: string;
      /**
       * Format: int64
       * @description How far the signed time may be from now, in seconds; 300 where it is left out.
       */
      readonly tolerance?: number;
    };
    /**
     * @description A subscription to be made. What is left out, any transition has.
     * @example {
     *       "machine": "order",
     *       "sink": {
     *         "type": "webhook",
     *         "url": "https://shipping.example/hook"
     *       },
     *       "source": "machines",
     *       "to": "paid"
     *     }
     */
    readonly NewSubscription: {
      /**
       * @description `false` holds what there is to present until it is `true` again.
       * @default true
       */
      readonly active?: boolean;
      /** @description The type of the event; of machines alone. */
      readonly event?: string;
      readonly from?: string;
      readonly machine?: string;
      readonly sink: components["schemas"]["Sink"];
      readonly source: components["schemas"]["SubscriptionSource"];
      readonly to?: string;
    };
    /** @description A timeout to come. */
    readonly NextTimeout: {
      /** Format: int64 */
      readonly at: number;
      readonly from: string;
      readonly region: string;
      readonly to: string;
    };
    /** @description Effects, and how many there are. */
    readonly Outbox: {
      readonly counts: components["schemas"]["OutboxCounts"];
      readonly items: readonly components["schemas"]["OutboxItem"][];
      /**
       * Format: int64
       * @description When the oldest that is pending was made.
       */
      readonly oldest_pending: number | null;
    };
    /** @description An effect that was called off. */
    readonly OutboxCancelled: components["schemas"]["OutboxItem"] & {
      /** @description Whether it was being sent: it may have been delivered. */
      readonly may_be_delivered: boolean;
      readonly was: components["schemas"]["OutboxPhase"] | null;
    };
    /** @description How many effects there are of each status, each up to 10,000. */
    readonly OutboxCounts: {
      /** Format: int64 */
      readonly cancelled: number;
      /** Format: int64 */
      readonly dead: number;
      /** Format: int64 */
      readonly done: number;
      /** Format: int64 */
      readonly pending: number;
      /** Format: int64 */
      readonly skipped: number;
    };
    /** @description An effect with what is sent, and its attempts. */
    readonly OutboxEntry: components["schemas"]["OutboxItem"] & {
      /** @description The last 20, the latest last. */
      readonly attempts: readonly components["schemas"]["Attempt"][];
      /** @description What is sent; secrets by their names alone. */
      readonly effect: components["schemas"]["AnyObject"];
    };
    /** @description Which effects are meant. What is left out, any effect has. */
    readonly OutboxFilter: {
      /** @description The `cursor` of the call before. */
      readonly cursor?: string;
      readonly entity?: string;
      readonly machine?: string;
      /**
       * Format: int64
       * @description Made after this time (milliseconds since the epoch).
       */
      readonly newer_than?: number;
      /**
       * Format: int64
       * @description Made before this time (milliseconds since the epoch).
       */
      readonly older_than?: number;
      readonly status?: components["schemas"]["OutboxStatus"];
    };
    /** @description An effect. */
    readonly OutboxItem: {
      /**
       * Format: int64
       * @description The number of its latest attempt.
       */
      readonly attempt: number;
      /** Format: int64 */
      readonly created_at: number;
      /** Format: int64 */
      readonly due_at: number | null;
      readonly entity_id: string;
      readonly error: string | null;
      /** @description What the receiver knows it by, the same in all its presentations. */
      readonly event_id: string;
      /** Format: int64 */
      readonly finished_at: number | null;
      readonly id: string;
      /** @description `webhook`, `event`, `transition` or `presentation`. */
      readonly kind: string;
      readonly machine_id: string;
      readonly phase: components["schemas"]["OutboxPhase"] | null;
      /** @description An address, `event`, a machine and an entity, or a subscription. */
      readonly sink: string;
      readonly status: components["schemas"]["OutboxStatus"];
      /** Format: int64 */
      readonly version: number;
    };
    /**
     * @description What a pending effect waits for.
     * @enum {string}
     */
    readonly OutboxPhase: "queued" | "due" | "waiting" | "claimed" | "held";
    /**
     * @description What became of an effect.
     * @enum {string}
     */
    readonly OutboxStatus: "pending" | "done" | "skipped" | "dead" | "cancelled";
    /** @description How many timers are late by so much. */
    readonly Overdue: {
      /** Format: int64 */
      readonly from_ms: number;
      /**
       * Format: int64
       * @description How many, counted up to 10,000.
       */
      readonly timers: number;
      /**
       * Format: int64
       * @description Null for no bound.
       */
      readonly to_ms: number | null;
    };
    /** @description An entity, and the entry of a compound state that a child of it belongs to. */
    readonly Owner: {
      readonly entity_id: string;
      readonly machine_id: string;
      /** @description The region of the compound state; `_` in a flat machine. */
      readonly region: string;
      /** Format: int64 */
      readonly seq: number;
      readonly state: string;
    };
    /** @description The entry of a parent's compound state that a child belongs to. */
    readonly ParentEntry: {
      /** @description The region of the compound state; `_` in a flat machine. */
      readonly region: string;
      /** Format: int64 */
      readonly seq: number;
      readonly state: string;
    };
    /** @description A timer whose commit is refused: it waits for a new revision, or to be released. */
    readonly ParkedTimer: {
      /** Format: int64 */
      readonly due_at: number | null;
      readonly entity_id: string;
      readonly error: string;
      readonly machine_id: string;
      readonly region: string;
    };
    /** @description A pass of the scanner. */
    readonly Pass: {
      /** Format: int64 */
      readonly at: number;
      /**
       * Format: int64
       * @description How many entities these belong to.
       */
      readonly due: number;
      /**
       * Format: int64
       * @description How many entities failed, and are tried again later.
       */
      readonly failed: number;
      /**
       * Format: int64
       * @description How many timeouts it applied.
       */
      readonly fired: number;
      /**
       * Format: int64
       * @description How late the oldest timer was, in milliseconds.
       */
      readonly lag_ms: number;
      /** @description Whether more is due than one pass takes. */
      readonly more: boolean;
      /**
       * Format: int64
       * @description How many timers it parked.
       */
      readonly parked: number;
      /**
       * Format: int64
       * @description How many entities had their due times worked out anew.
       */
      readonly rearmed: number;
      /**
       * Format: int64
       * @description How many due timers it read.
       */
      readonly scanned: number;
      /**
       * Format: int64
       * @description How many entities had changed meanwhile, and are left to the next pass.
       */
      readonly stale: number;
    };
    /** @description An event that an entity, or one below it, can take where it is. */
    readonly PossibleEvent: {
      /** @description That entity. */
      readonly entity_id: string;
      readonly event_type: string;
      /** @description Whether it gets there without a target, from legacy child to legacy child. */
      readonly forwarded?: boolean;
      readonly from: string;
      /** @description Whether params or context decide if it is taken. */
      readonly guarded: boolean;
      /**
       * Format: int64
       * @description The transition's place in the definition.
       */
      readonly index: number;
      readonly label: string;
      /** @description The machine of the entity that takes it. */
      readonly machine_id: string;
      /** @description The region that it moves, in a parallel machine. */
      readonly region?: string;
      /** @description The `target` that leads there from the entity asked; empty for itself, none below a legacy child. */
      readonly target?: readonly components["schemas"]["Step"][];
      readonly to: string;
    };
    /** @description An error. */
    readonly Problem: {
      readonly error: components["schemas"]["ProblemDetail"];
    };
    /** @description What went wrong. Some codes add fields of their own. */
    readonly ProblemDetail: {
      /**
       * Format: int64
       * @description Of `VERSION_CONFLICT`: the version that the entity has; null where it does not exist.
       */
      readonly actual?: number | null;
      /**
       * @description Names are stable.
       * @enum {string}
       */
      readonly code:
        | "BAD_REQUEST"
        | "UNAUTHORIZED"
        | "NOT_FOUND"
        | "METHOD_NOT_ALLOWED"
        | "CONFLICT"
        | "EVENT_IDENTITY_CONFLICT"
        | "TARGET_NOT_ACTIVE"
        | "INSTANCE_NOT_ACTIVE"
        | "INSTANCE_CONFLICT"
        | "INSTANCE_ACTIVE"
        | "UNCORRELATED_CHILD_FINAL"
        | "NESTING_DEPTH_EXCEEDED"
        | "CASCADE_LIMIT"
        | "VERSION_CONFLICT"
        | "JOIN_CASCADE_LIMIT"
        | "LIVE_STATES"
        | "OUTBOX_STATUS"
        | "LIMIT_REACHED"
        | "IDEMPOTENCY_IN_FLIGHT"
        | "IDEMPOTENCY_MISMATCH"
        | "INBOX_UNAVAILABLE"
        | "STATE_EXISTS"
        | "STATE_CONFLICT"
        | "STATE_NOT_FOUND"
        | "STATE_INVALID_ARG"
        | "STATE_STORE"
        | "STATE_DISABLED"
        | "SECRETS_DISABLED"
        | "MISCONFIGURED"
        | "PAYLOAD_TOO_LARGE"
        | "UNSUPPORTED_MEDIA_TYPE"
        | "INTERNAL_ERROR"
        | "CORRUPT_INSTANCE"
        | "TIMEOUTS_PENDING"
        | "SCHEMA_MISMATCH";
      /** @description Of `STATE_EXISTS` and `STATE_CONFLICT`: the state record that is there. */
      readonly current?: components["schemas"]["Record"];
      /**
       * Format: int64
       * @description Of `VERSION_CONFLICT`: the version that was asked for.
       */
      readonly expected?: number;
      /** @description All faults of a definition. */
      readonly faults?: readonly components["schemas"]["Fault"][];
      /** @description Of `LIVE_STATES`: the entities that the new revision has no place for. */
      readonly live?: readonly components["schemas"]["LiveState"][];
      /** @description What was wrong, where, and what would be right. */
      readonly message: string;
      /** @description The JSON path, the header or the parameter that is wrong. */
      readonly path?: string;
      /** @description Of `STATE_CONFLICT`: why. */
      readonly reason?: string;
      /** @description Whether the same request can succeed later. */
      readonly retry: boolean;
    };
    /** @description What became of something. */
    readonly Receipt: components["schemas"]["RequestReceipt"] | components["schemas"]["EventReceipt"];
    /** @description A state record. */
    readonly Record: {
      /** Format: int64 */
      readonly created_at: number;
      /** @description Any JSON. */
      readonly data: components["schemas"]["Anything"];
      readonly id: string;
      readonly machine: string;
      readonly state: string;
      /** Format: int64 */
      readonly updated_at: number;
      /** Format: int64 */
      readonly version: number;
    };
    /** @description What a creation and a move answer. */
    readonly RecordAnswer: {
      /** @description A move's event: the same in all its presentations. */
      readonly event_id?: string;
      readonly ok: boolean;
      readonly record: components["schemas"]["Record"];
    };
    /** @description What a look at a state record answers. */
    readonly RecordFound: {
      readonly found: boolean;
      readonly record?: components["schemas"]["Record"];
    };
    /**
     * @description A move of a state record.
     * @example {
     *       "expected_version": 1,
     *       "from": "open",
     *       "id": "w-1",
     *       "machine": "wallet",
     *       "to": "frozen"
     *     }
     */
    readonly RecordMove: {
      /** @description New data, null too; left out, the data stays. */
      readonly data?: components["schemas"]["Anything"];
      /**
       * Format: int64
       * @description The version that it must have.
       */
      readonly expected_version: number;
      /** @description The state that it must be in. */
      readonly from: string;
      readonly id: string;
      readonly machine: string;
      /** @description The state that it gets. */
      readonly to: string;
    };
    /**
     * @description Which state record.
     * @example {
     *       "id": "w-1",
     *       "machine": "wallet"
     *     }
     */
    readonly RecordName: {
      readonly id: string;
      readonly machine: string;
    };
    /** @description How many effects are sent again. */
    readonly Redriven: {
      readonly cursor?: string;
      /** @description Whether there may be others: send the call again with this `cursor`. */
      readonly more: boolean;
      /** Format: int64 */
      readonly redriven: number;
    };
    /** @description The current entry of a region. */
    readonly RegionEntry: {
      /** @description Always `exact`. */
      readonly basis: string;
      /**
       * Format: int64
       * @description When its timeout is due, where it has one.
       */
      readonly due_at?: number;
      /** Format: int64 */
      readonly entered_at: number;
      /** @description The identity of that row; null at creation. */
      readonly key: string | null;
      /** @description Why its timeout is parked, where it is. */
      readonly parked?: string;
      /**
       * Format: int64
       * @description The history row that made it; null at creation.
       */
      readonly row: number | null;
      /**
       * Format: int64
       * @description Its number among the entity's entries.
       */
      readonly seq: number;
      readonly state: string;
    };
    /** @description One of a broadcast's transitions. */
    readonly RegionTransition: {
      readonly from_state: string;
      readonly region: string;
      readonly to_state: string;
      /** @description Its label. */
      readonly transition: string;
    };
    /** @description What a release of timers did. */
    readonly Released: {
      /**
       * Format: int64
       * @description How many timers were parked.
       */
      readonly released: number;
    };
    /** @description What became of a request with a key. */
    readonly RequestReceipt: {
      /** @description The answer that was given. */
      readonly answer: components["schemas"]["Anything"];
      /** Format: int64 */
      readonly at: number;
      readonly entity_id?: string;
      /**
       * Format: int64
       * @description When the receipt is forgotten.
       */
      readonly expires_at: number;
      readonly key: string;
      readonly machine_id?: string;
      /** @description The effects of its commits, up to 1,000. */
      readonly outbox: readonly string[];
      readonly outcome: string;
      /**
       * Format: int64
       * @description Of a batch: how many of its events have an outcome.
       */
      readonly parts?: number;
      /** @description Method and path, `hook:` and a source, or `effect`. */
      readonly scope: string;
      /** Format: int64 */
      readonly state_version?: number;
      /**
       * Format: int32
       * @description The HTTP status of the answer; null while a batch is under way.
       */
      readonly status: number | null;
    };
    /** @description A revision of a machine. */
    readonly Revision: {
      /** @description Equal hashes, equal definitions. */
      readonly content_hash: string;
      /** Format: int64 */
      readonly created_at: number;
      readonly definition: {
        readonly [key: string]: unknown;
      };
      /**
       * Format: int64
       * @description The revision that entities made on this one run by now.
       */
      readonly effective: number;
      /** @description Whether new entities start on it. */
      readonly head: boolean;
      readonly label?: string;
      /** Format: int64 */
      readonly revision: number;
      /**
       * Format: int64
       * @description The revision whose entities it took over.
       */
      readonly supersedes?: number;
    };
    /** @description The scanner's last pass, and the timers of a tenant that are late or in trouble. */
    readonly Scheduler: {
      readonly failing: readonly components["schemas"]["FailingTimer"][];
      readonly last_pass: components["schemas"]["Pass"] | null;
      readonly overdue: readonly components["schemas"]["Overdue"][];
      readonly parked: readonly components["schemas"]["ParkedTimer"][];
    };
    /** @description Who signs, and how. */
    readonly Scheme: {
      /** @description Of `hmac-sha256`: `hex` or `base64`. */
      readonly encoding?: string;
      /** @description Of `hmac-sha256`: the header with the signature. */
      readonly header?: string;
      /** @description Of `hmac-sha256`: what stands before the signature. */
      readonly prefix?: string;
      /** @description Of `hmac-sha256`: the header with the time that is signed too. */
      readonly timestamp_header?: string;
      /** @description `standard-webhooks`, `github`, `stripe`, `slack` or `hmac-sha256`. */
      readonly type: string;
    };
    /** @description A secret, without its values. */
    readonly Secret: {
      /** Format: int64 */
      readonly created_at: number;
      readonly name: string;
      /** @description Whether the value before is live as well. */
      readonly previous: boolean;
      /** Format: int64 */
      readonly rotated_at: number | null;
      /** Format: int64 */
      readonly updated_at: number;
      /**
       * Format: int64
       * @description How many values it has had.
       */
      readonly version: number;
    };
    /** @description A new value for a secret. */
    readonly SecretValue: {
      /** @description The value; left out, the service makes one up. */
      readonly value?: string;
    };
    /** @description Where transitions are presented: a signed webhook, or a Queue. */
    readonly Sink:
      | {
          /** @description The name of the secret that signs; `webhook-signing` where none is given. */
          readonly secret?: string;
          /** @enum {string} */
          readonly type: "webhook";
          readonly url: string;
        }
      | {
          /** @description A Queue binding of the Worker. */
          readonly binding: string;
          /** @enum {string} */
          readonly type: "queue";
        };
    /** @description A webhook source. */
    readonly Source: {
      readonly counts: components["schemas"]["Counts"];
      /** Format: int64 */
      readonly created_at: number;
      readonly id: string;
      readonly machine: string;
      readonly mapping: components["schemas"]["AnyObject"];
      readonly scheme: components["schemas"]["Scheme"];
      readonly secret: string;
      /** Format: int64 */
      readonly updated_at: number;
    } & {
      readonly [key: string]: unknown;
    };
    /** @description The state of a flat machine, or the states of a parallel machine by region. */
    readonly StateOrRegions:
      | string
      | {
          readonly [key: string]: string;
        };
    /**
     * @description Whether a child takes part in its tree.
     * @enum {string}
     */
    readonly Status: "active" | "completed" | "cancelled";
    /** @description A step of the way to a managed child. */
    readonly Step: {
      /** @description The region of the compound state; left out, `_`, that of a flat machine. */
      readonly region?: string;
      /**
       * Format: int64
       * @description The entry instance, where it matters which.
       */
      readonly seq?: number;
      /** @description The compound state. */
      readonly state: string;
    };
    /** @description The child machine of a state. */
    readonly SubMachine: {
      /** @description Where the parent goes when the managed child's regions are where a rule says. */
      readonly complete_when?: readonly components["schemas"]["AnyObject"][];
      /** @description `managed`; left out, the child is a legacy one, to which events are forwarded. */
      readonly lifecycle?: string;
      /** @description The child's machine. */
      readonly machine_id: string;
      /** @description Where the parent goes when the flat child is in a state. */
      readonly on_final?: {
        readonly [key: string]: string;
      };
      /** @description What comes of entering the state again: `refuse`, the default, `fresh` or `resume`. */
      readonly reentry?: string;
    };
    /** @description A legacy child that handled an event. */
    readonly SubMachineAnswer: {
      /** @description Whether its completion moved its parent on. */
      readonly auto_completed: boolean;
      readonly current_state: components["schemas"]["StateOrRegions"];
      readonly entity_id: string;
      readonly machine_id: string;
      readonly previous_state: components["schemas"]["StateOrRegions"];
      /** @description `a → b`, where it moved. */
      readonly transition?: string;
    };
    /** @description A subscription. */
    readonly Subscription: {
      readonly active: boolean;
      /** Format: int64 */
      readonly created_at: number;
      readonly event?: string;
      readonly from?: string;
      readonly id: string;
      readonly machine?: string;
      readonly sink: components["schemas"]["Sink"];
      readonly source: components["schemas"]["SubscriptionSource"];
      readonly to?: string;
      /** Format: int64 */
      readonly updated_at: number;
    };
    /**
     * @description What transitions a subscription tells of.
     * @enum {string}
     */
    readonly SubscriptionSource: "records" | "machines";
    /** @description The entity that a target led to. */
    readonly Target: {
      /**
       * Format: int32
       * @description Its level; a root is at 0.
       */
      readonly depth: number;
      readonly entity_id: string;
      readonly machine_id: string;
    };
    /**
     * @description An event for the entity that the path names.
     * @example {
     *       "event_type": "ship",
     *       "params": {}
     *     }
     */
    readonly TransitionRequest: {
      /** @description Answer what would happen, and write nothing. */
      readonly dry_run?: boolean;
      readonly event_type: string;
      /**
       * Format: int64
       * @description Refused unless the entity has this version.
       */
      readonly expected_version?: number;
      /** @description Put the explanation in the answer. */
      readonly explain?: boolean;
      readonly params?: components["schemas"]["AnyObject"];
      /** @description The way to a managed child; empty for the entity itself. */
      readonly target?: readonly components["schemas"]["Step"][];
      /**
       * Format: int64
       * @description When it happened (milliseconds since the epoch). With the type it is the event's identity.
       */
      readonly timestamp?: number;
    };
    /** @description What an event did. */
    readonly TransitionResponse: {
      /** @description The actions that were called for, in order. */
      readonly actions_dispatched?: readonly components["schemas"]["Action"][];
      readonly current_state: components["schemas"]["StateOrRegions"];
      /** @description Whether nothing was written, because only an answer was asked for. */
      readonly dry_run?: boolean;
      readonly entity_id: string;
      /** @description The explanation, where it was asked for. */
      readonly explain?: components["schemas"]["Explanation"];
      /** @description What became of managed children, in the order of the commit. */
      readonly instances?: readonly components["schemas"]["Life"][];
      /** @description The joins that followed, in order. */
      readonly joins_fired?: readonly components["schemas"]["FiredJoin"][];
      readonly previous_state: components["schemas"]["StateOrRegions"];
      /** @description Why nothing moved. */
      readonly reason?: string;
      /** @description The region that moved, in a parallel machine. */
      readonly region?: string;
      /**
       * Format: int64
       * @description The entity's version after it.
       */
      readonly state_version: number;
      /** @description The legacy child that handled it. */
      readonly sub_machine?: components["schemas"]["SubMachineAnswer"];
      /** @description The entity that the target led to, where one was given. */
      readonly target?: components["schemas"]["Target"];
      /**
       * Format: int64
       * @description How many due timeouts were applied before it.
       */
      readonly timeouts_fired?: number;
      /** Format: int64 */
      readonly timestamp: number;
      /** @description `a → b`, or null where nothing moved. */
      readonly transition: string | null;
      /** @description The transitions of a broadcast. */
      readonly transitions?: readonly components["schemas"]["RegionTransition"][];
      readonly triggered_by: string;
    };
    /** @description A request that a source might get. */
    readonly Trial: {
      /** @description The body: JSON, or its very text. */
      readonly body: components["schemas"]["Anything"];
      /** @description Its headers. */
      readonly headers?: {
        readonly [key: string]: string;
      };
    };
    /** @description What a request would become. */
    readonly Tried: {
      /** @description Which. */
      readonly event?: components["schemas"]["MappedEvent"];
      /** @description Whether it becomes an event. */
      readonly mapped: boolean;
      /** @description The part of the source that is about. */
      readonly path?: string;
      /** @description Why it becomes none. */
      readonly problem?: string;
      /** @description `valid`, `invalid` or `absent`. */
      readonly signature: string;
      /** @description Why its headers do not sign it. */
      readonly signature_problem?: string;
    };
    /** @description What a check of a definition found. */
    readonly Validation: {
      /** @description Every fault: where, what is wrong, and what would be right. */
      readonly faults: readonly components["schemas"]["Fault"][];
      /** @description Whether it would be registered. */
      readonly valid: boolean;
      /** @description What is allowed and may not be meant. */
      readonly warnings: readonly components["schemas"]["Warning"][];
    };
    /**
     * @description Where a guard found a value.
     * @enum {string}
     */
    readonly ValueSource: "param" | "context" | "absent";
    /** @description A join that waits. */
    readonly WaitingJoin: {
      /**
       * Format: int64
       * @description Its place in the definition.
       */
      readonly index: number;
      /** @description The regions that are not in the state it waits for; none where it fired before, and its target moved on. */
      readonly missing: readonly components["schemas"]["MissingState"][];
      readonly target_region: string;
      readonly target_state: string;
    };
    /** @description What of a definition deserves a second look. */
    readonly Warning: {
      readonly kind: components["schemas"]["WarningKind"];
      readonly message: string;
      /** @description The JSON path that it is about. */
      readonly path: string;
    };
    /**
     * @description What a warning is about.
     * @enum {string}
     */
    readonly WarningKind:
      | "unreachable_state"
      | "shadowed_transition"
      | "impossible_join"
      | "unstable_join"
      | "unhandled_event"
      | "dead_end"
      | "uncovered_completion"
      | "refused_reentry"
      | "impossible_guard"
      | "unknown_place"
      | "malformed_guard"
      | "ignored_key";
    /**
     * @description What would come of an event.
     * @enum {string}
     */
    readonly Would: "transition" | "no_transition" | "forward" | "refused";
    /** @description Why an event would be refused. */
    readonly WouldRefuse: {
      /**
       * @description Names are stable.
       * @enum {string}
       */
      readonly code:
        | "BAD_REQUEST"
        | "UNAUTHORIZED"
        | "NOT_FOUND"
        | "METHOD_NOT_ALLOWED"
        | "CONFLICT"
        | "EVENT_IDENTITY_CONFLICT"
        | "TARGET_NOT_ACTIVE"
        | "INSTANCE_NOT_ACTIVE"
        | "INSTANCE_CONFLICT"
        | "INSTANCE_ACTIVE"
        | "UNCORRELATED_CHILD_FINAL"
        | "NESTING_DEPTH_EXCEEDED"
        | "CASCADE_LIMIT"
        | "VERSION_CONFLICT"
        | "JOIN_CASCADE_LIMIT"
        | "LIVE_STATES"
        | "OUTBOX_STATUS"
        | "LIMIT_REACHED"
        | "IDEMPOTENCY_IN_FLIGHT"
        | "IDEMPOTENCY_MISMATCH"
        | "INBOX_UNAVAILABLE"
        | "STATE_EXISTS"
        | "STATE_CONFLICT"
        | "STATE_NOT_FOUND"
        | "STATE_INVALID_ARG"
        | "STATE_STORE"
        | "STATE_DISABLED"
        | "SECRETS_DISABLED"
        | "MISCONFIGURED"
        | "PAYLOAD_TOO_LARGE"
        | "UNSUPPORTED_MEDIA_TYPE"
        | "INTERNAL_ERROR"
        | "CORRUPT_INSTANCE"
        | "TIMEOUTS_PENDING"
        | "SCHEMA_MISMATCH";
      readonly message: string;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  readonly listMachines: {
    readonly parameters: {
      readonly query?: {
        /** @description At most so many; without it, everything up to 10,000 rows or 8 MiB. */
        readonly limit?: number;
        /** @description Where the page before ended: the `cursor` of its `Link` header. */
        readonly cursor?: string;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The machines. */
      readonly 200: {
        headers: {
          /** @description The next page, where there is one: `<…>; rel="next"` */
          readonly Link?: string | null;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["Machine"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly createMachine: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["Definition"];
      };
    };
    readonly responses: {
      /** @description The machine, with warnings about its definition if there are any. */
      readonly 201: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Machine"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly validateMachine: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant. Without it, the definition is checked alone. */
        readonly "X-Tenant-Id"?: string | null;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["Definition"];
      };
    };
    readonly responses: {
      /** @description Whether it is valid, every fault, and warnings of what may not be meant. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Validation"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly getMachine: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The machine at its newest revision. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Machine"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly replaceMachine: {
    readonly parameters: {
      readonly query?: {
        /**
         * @description `follow`, the default: live entities move to the new revision, if every state they are in is still there.
         *     `pin`: they stay on theirs.
         */
        readonly in_flight?: components["schemas"]["InFlight"];
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["Definition"];
      };
    };
    readonly responses: {
      /** @description The machine at its new revision, with warnings if there are any. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Machine"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly deleteMachine: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description It is gone. */
      readonly 204: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content?: never;
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly countEntities: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The counts. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["Count"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly drawMachine: {
    readonly parameters: {
      readonly query?: {
        /** @description `mermaid`, the default, or `dot` for Graphviz. */
        readonly format?: components["schemas"]["DiagramFormat"];
        /** @description An entity whose current states are to be marked. */
        readonly entity_id?: string;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The text of the diagram. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "text/plain; charset=utf-8": string;
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly listEntities: {
    readonly parameters: {
      readonly query?: {
        /** @description Those in this state; with `region` on a parallel machine. */
        readonly state?: string;
        /** @description The region that `state` is of. */
        readonly region?: string;
        /** @description Those written at this time or later (milliseconds since the epoch). */
        readonly updated_since?: number;
        /** @description Those written before this time. */
        readonly updated_before?: number;
        /** @description Those whose id starts so. */
        readonly prefix?: string;
        /** @description At most so many; without it, everything up to 10,000 rows or 8 MiB. */
        readonly limit?: number;
        /** @description Where the page before ended: the `cursor` of its `Link` header. */
        readonly cursor?: string;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The entities. */
      readonly 200: {
        headers: {
          /** @description The next page, where there is one: `<…>; rel="next"` */
          readonly Link?: string | null;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["ListedEntity"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly createEntity: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["NewEntity"];
      };
    };
    readonly responses: {
      /** @description The entity. */
      readonly 201: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Entity"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly getEntity: {
    readonly parameters: {
      readonly query?: {
        /** @description Whether everything that lives or lived below it is nested in it. */
        readonly tree?: boolean;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
        /**
         * @description The entity: 1 to 256 bytes without control characters; a child's id, `{parent}::sub::{state}`, up to 2,048.
         * @example o-1
         */
        readonly entity_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The entity. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Entity"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly deleteEntity: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
        /**
         * @description The entity: 1 to 256 bytes without control characters; a child's id, `{parent}::sub::{state}`, up to 2,048.
         * @example o-1
         */
        readonly entity_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description It is gone. */
      readonly 204: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content?: never;
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly listEvents: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
        /**
         * @description The entity: 1 to 256 bytes without control characters; a child's id, `{parent}::sub::{state}`, up to 2,048.
         * @example o-1
         */
        readonly entity_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The events. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["PossibleEvent"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly explain: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
        /**
         * @description The entity: 1 to 256 bytes without control characters; a child's id, `{parent}::sub::{state}`, up to 2,048.
         * @example o-1
         */
        readonly entity_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["TransitionRequest"];
      };
    };
    readonly responses: {
      /** @description The explanation. Nothing is written. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Explanation"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly getHistory: {
    readonly parameters: {
      readonly query?: {
        /** @description `timestamp`, the default: by the events' timestamps, then by id. `newest`: the other way round. `id`: in the order of the commits. */
        readonly order?: components["schemas"]["HistoryOrder"];
        /** @description At most so many; without it, everything up to 10,000 rows or 8 MiB. */
        readonly limit?: number;
        /** @description Where the page before ended: the `cursor` of its `Link` header. */
        readonly cursor?: string;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
        /**
         * @description The entity: 1 to 256 bytes without control characters; a child's id, `{parent}::sub::{state}`, up to 2,048.
         * @example o-1
         */
        readonly entity_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The rows: an array, or one JSON text a line with `Accept: application/x-ndjson`. */
      readonly 200: {
        headers: {
          /** @description The next page, where there is one: `<…>; rel="next"` */
          readonly Link?: string | null;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["HistoryRow"][];
          readonly "application/x-ndjson": string;
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly releaseTimers: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
        /**
         * @description The entity: 1 to 256 bytes without control characters; a child's id, `{parent}::sub::{state}`, up to 2,048.
         * @example o-1
         */
        readonly entity_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description How many there were. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Released"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly transition: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
        /**
         * @description The entity: 1 to 256 bytes without control characters; a child's id, `{parent}::sub::{state}`, up to 2,048.
         * @example o-1
         */
        readonly entity_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["TransitionRequest"];
      };
    };
    readonly responses: {
      /** @description What the event did, or the reason why it did nothing. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["TransitionResponse"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly evaluate: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant. Without it, the event's `params.key_prefix` names it. */
        readonly "X-Tenant-Id"?: string | null;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["EvaluateRequest"];
      };
    };
    readonly responses: {
      /** @description What the event did, or the reason why it did nothing. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["TransitionResponse"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly evaluateBatch: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant. Without it, the event's `params.key_prefix` names it. */
        readonly "X-Tenant-Id"?: string | null;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["BatchRequest"];
      };
    };
    readonly responses: {
      /** @description A result or an error for each event, in their order. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["BatchResponse"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly listRevisions: {
    readonly parameters: {
      readonly query?: {
        /** @description At most so many; without it, everything up to 10,000 rows or 8 MiB. */
        readonly limit?: number;
        /** @description Where the page before ended: the `cursor` of its `Link` header. */
        readonly cursor?: string;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The machine: 1 to 128 bytes without control characters.
         * @example order
         */
        readonly machine_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The revisions. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["Revision"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly listOutbox: {
    readonly parameters: {
      readonly query?: {
        /** @description Those of this status. */
        readonly status?: components["schemas"]["OutboxStatus"];
        /** @description Those of this machine, or of this machine of state records. */
        readonly machine?: string;
        /** @description Those of this entity or record. */
        readonly entity?: string;
        /** @description Those made before this time (milliseconds since the epoch). */
        readonly older_than?: number;
        /** @description Those made after this time (milliseconds since the epoch). */
        readonly newer_than?: number;
        /** @description At most so many. */
        readonly limit?: number;
        /** @description Where the page before ended: the `cursor` of its `Link` header. */
        readonly cursor?: string;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The effects. */
      readonly 200: {
        headers: {
          /** @description The next page, where there is one: `<…>; rel="next"` */
          readonly Link?: string | null;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Outbox"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly cancelEffects: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["OutboxFilter"];
      };
    };
    readonly responses: {
      /** @description How many. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Cancelled"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly redriveEffects: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["OutboxFilter"];
      };
    };
    readonly responses: {
      /** @description How many. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Redriven"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly getOutbox: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /** @description The effect's row. */
        readonly outbox_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The effect. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["OutboxEntry"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly cancelEffect: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /** @description The effect's row. */
        readonly outbox_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The effect as it is now. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["OutboxCancelled"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly redriveEffect: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /** @description The effect's row. */
        readonly outbox_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The effect as it is now. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["OutboxItem"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly getReceipts: {
    readonly parameters: {
      readonly query?: {
        /** @description With an event's identity: its machine. */
        readonly machine?: string;
        /** @description With an event's identity: its entity. */
        readonly entity?: string;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /** @description An Idempotency-Key, a webhook's delivery, an effect; or an event's identity, `["evt",…]`. */
        readonly key: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description What became of it. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["Receipt"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly scheduler: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The last pass, and overdue timers by lateness. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Scheduler"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly listSecrets: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The secrets. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["Secret"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly putSecret: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The secret.
         * @example webhook-signing
         */
        readonly name: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["SecretValue"];
      };
    };
    readonly responses: {
      /** @description It is replaced; nothing but the new value is live. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["KeptSecret"];
        };
      };
      /** @description It is new. */
      readonly 201: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["KeptSecret"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly deleteSecret: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The secret.
         * @example webhook-signing
         */
        readonly name: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description It is gone. */
      readonly 204: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content?: never;
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly deletePreviousSecret: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The secret.
         * @example webhook-signing
         */
        readonly name: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description It is gone. */
      readonly 204: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content?: never;
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly rotateSecret: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The secret.
         * @example webhook-signing
         */
        readonly name: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["SecretValue"];
      };
    };
    readonly responses: {
      /** @description Both values are live. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["KeptSecret"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly listSources: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The sources. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["Source"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly getSource: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The source.
         * @example github
         */
        readonly source_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The source. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Source"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly putSource: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The source.
         * @example github
         */
        readonly source_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["NewSource"];
      };
    };
    readonly responses: {
      /** @description It is replaced. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Source"];
        };
      };
      /** @description It is new. */
      readonly 201: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Source"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly deleteSource: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The source.
         * @example github
         */
        readonly source_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description It is gone. */
      readonly 204: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content?: never;
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly trySource: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The source.
         * @example github
         */
        readonly source_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["Trial"];
      };
    };
    readonly responses: {
      /** @description The event, or why there is none. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Tried"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly createRecord: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["NewRecord"];
      };
    };
    readonly responses: {
      /** @description The record. */
      readonly 201: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["RecordAnswer"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly getRecord: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["RecordName"];
      };
    };
    readonly responses: {
      /** @description The record, or that there is none. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["RecordFound"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly moveRecord: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["RecordMove"];
      };
    };
    readonly responses: {
      /** @description The record as it is now, and its event. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["RecordAnswer"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly listSubscriptions: {
    readonly parameters: {
      readonly query?: {
        /** @description At most so many; without it, everything up to 10,000 rows or 8 MiB. */
        readonly limit?: number;
        /** @description Where the page before ended: the `cursor` of its `Link` header. */
        readonly cursor?: string;
      };
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The subscriptions. */
      readonly 200: {
        headers: {
          /** @description The next page, where there is one: `<…>; rel="next"` */
          readonly Link?: string | null;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": readonly components["schemas"]["Subscription"][];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly createSubscription: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["NewSubscription"];
      };
    };
    readonly responses: {
      /** @description The subscription. */
      readonly 201: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Subscription"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly getSubscription: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
      };
      readonly path: {
        /**
         * @description The subscription.
         * @example shipping
         */
        readonly subscription_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description The subscription. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Subscription"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly putSubscription: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The subscription.
         * @example shipping
         */
        readonly subscription_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["NewSubscription"];
      };
    };
    readonly responses: {
      /** @description It is replaced. */
      readonly 200: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Subscription"];
        };
      };
      /** @description It is new. */
      readonly 201: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Subscription"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly deleteSubscription: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: {
        /** @description The tenant: 1 to 128 bytes without control characters. */
        readonly "X-Tenant-Id"?: string;
        /** @description The request has one effect, however often it is sent with this key: its answer is given again, for 7 days. */
        readonly "Idempotency-Key"?: string;
      };
      readonly path: {
        /**
         * @description The subscription.
         * @example shipping
         */
        readonly subscription_id: string;
      };
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description It is gone. */
      readonly 204: {
        headers: {
          /** @description `true` where the answer was given before. */
          readonly "Idempotency-Replayed"?: string;
          readonly [name: string]: unknown;
        };
        content?: never;
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly health: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description It does. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Health"];
        };
      };
    };
  };
  readonly hook: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path: {
        /**
         * @description The tenant: 1 to 128 bytes without control characters.
         * @example demo
         */
        readonly tenant: string;
        /**
         * @description The source.
         * @example github
         */
        readonly source_id: string;
      };
      readonly cookie?: never;
    };
    /** @description What the provider sends, to the byte that it signed. */
    readonly requestBody: {
      readonly content: {
        readonly "application/json": components["schemas"]["Anything"];
        readonly "application/x-www-form-urlencoded": string;
        readonly "text/plain": string;
      };
    };
    readonly responses: {
      /** @description What became of it; or what the provider needs to set the source up. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["HookAnswer"];
          readonly "text/plain; charset=utf-8": string;
        };
      };
      /** @description It is no event for the source's mapping. */
      readonly 202: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["HookAnswer"];
        };
      };
      /** @description It is refused. */
      readonly default: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["Problem"];
        };
      };
    };
  };
  readonly openapi: {
    readonly parameters: {
      readonly query?: never;
      readonly header?: never;
      readonly path?: never;
      readonly cookie?: never;
    };
    readonly requestBody?: never;
    readonly responses: {
      /** @description OpenAPI 3.1, made from the code that answers. */
      readonly 200: {
        headers: {
          readonly [name: string]: unknown;
        };
        content: {
          readonly "application/json": components["schemas"]["AnyObject"];
        };
      };
    };
  };
}
