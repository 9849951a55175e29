// How effects, receipts, the scheduler and sources look. Pure.

import type { components } from "statewright/client";

import { anything, both, flag, having, list, map, maybe, number, object, text } from "./shape.ts";

type Schemas = components["schemas"];

/** An effect in the outbox. */
export const effect = object<Schemas["OutboxItem"]>({
  attempt: number,
  created_at: number,
  due_at: maybe(number),
  entity_id: text,
  error: maybe(text),
  event_id: text,
  finished_at: maybe(number),
  id: text,
  kind: text,
  machine_id: text,
  phase: maybe(text),
  sink: text,
  status: text,
  version: number,
});

/** A page of the outbox. */
export const outbox = object<Schemas["Outbox"]>({
  counts: object<Schemas["OutboxCounts"]>({
    cancelled: number,
    dead: number,
    done: number,
    pending: number,
    skipped: number,
  }),
  items: list(effect),
  oldest_pending: maybe(number),
});

/** An effect with what is sent, and its attempts. */
export const effectWithAttempts = both(
  effect,
  object<Pick<Schemas["OutboxEntry"], "attempts" | "effect">>({
    attempts: list(
      object<Schemas["Attempt"]>({
        at: number,
        attempt: number,
        body: maybe(text),
        error: maybe(text),
        ms: number,
        status: maybe(number),
      }),
    ),
    effect: map(anything),
  }),
);

/** What became of a request, or of an event. */
export const receipt = having(
  "scope",
  object<Schemas["RequestReceipt"]>({
    answer: anything,
    at: number,
    entity_id: maybe(text),
    expires_at: number,
    key: text,
    machine_id: maybe(text),
    outbox: list(text),
    outcome: text,
    scope: text,
    status: maybe(number),
  }),
  object<Schemas["EventReceipt"]>({
    at: number,
    entity_id: text,
    identity: text,
    machine_id: text,
    outbox: list(text),
    outcome: text,
    row: number,
  }),
);

/** The scheduler: its last pass, and timers in trouble. */
export const scheduler = object<Schemas["Scheduler"]>({
  failing: list(
    object<Schemas["FailingTimer"]>({
      due_at: maybe(number),
      entity_id: text,
      error: maybe(text),
      failures: number,
      machine_id: text,
      next_try_at: maybe(number),
      region: text,
    }),
  ),
  last_pass: maybe(
    object<Schemas["Pass"]>({
      at: number,
      due: number,
      failed: number,
      fired: number,
      lag_ms: number,
      more: flag,
      parked: number,
      rearmed: number,
      scanned: number,
      stale: number,
    }),
  ),
  overdue: list(object<Schemas["Overdue"]>({ from_ms: number, timers: number, to_ms: maybe(number) })),
  parked: list(
    object<Schemas["ParkedTimer"]>({
      due_at: maybe(number),
      entity_id: text,
      error: text,
      machine_id: text,
      region: text,
    }),
  ),
});

/** A source of webhooks. */
export const source = object<Schemas["Source"]>({
  counts: object<Schemas["Counts"]>({
    applied: number,
    bad_signature: number,
    duplicate: number,
    handshake: number,
    no_transition: number,
    refused: number,
    unmapped: number,
  }),
  created_at: number,
  id: text,
  machine: text,
  mapping: map(anything),
  scheme: object<Schemas["Scheme"]>({ header: maybe(text), type: text }),
  secret: text,
  updated_at: number,
});

/** What a source makes of a request. */
export const tried = object<Schemas["Tried"]>({
  event: maybe(
    object<Schemas["MappedEvent"]>({
      entity_id: text,
      event_type: text,
      identity: text,
      params: map(anything),
      timestamp: maybe(number),
    }),
  ),
  mapped: flag,
  path: maybe(text),
  problem: maybe(text),
  signature: text,
  signature_problem: maybe(text),
});

/** How far a call for many effects came. */
export const done = object<{ cursor?: string; more: boolean }>({ cursor: maybe(text), more: flag });
