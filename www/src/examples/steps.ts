// The steps of which scenarios of examples are made.

import type { Expected, ScenarioStep, TargetStep } from "statewright";

/** When the examples begin: a Monday morning. */
export const START = Date.UTC(2026, 0, 5, 9);
/** In milliseconds. */
export const MINUTE = 60_000;
/** In milliseconds. */
export const HOUR = 60 * MINUTE;
/** In milliseconds. */
export const DAY = 24 * HOUR;

interface Entity {
  readonly machine_id: string;
  readonly entity_id: string;
}

/** An event as a step of a scenario sends it. */
export interface Sent {
  readonly at: number;
  readonly params?: object;
  readonly target?: readonly TargetStep[];
  readonly expect?: Expected;
}

/** An entity is made. */
export function created({ machine_id, entity_id }: Entity, context: object, expect: Expected): ScenarioStep {
  return { op: "create", at: START, args: { machine_id, body: { entity_id, context } }, expect };
}

/** An event is sent. */
export function sent(to: Entity, event_type: string, { at, expect, ...said }: Sent): ScenarioStep {
  const step = { op: "transition", at: START + at, args: { ...to, body: { event_type, ...said } } };
  return expect === undefined ? step : { ...step, expect };
}

/** The clock is turned on, and so many timers fire. */
export function advanced(from: number, to: number, fired: number): ScenarioStep {
  const expect = { body: { fired, parked: 0, more: false } };
  return { op: "advance", at: START + from, args: { to: START + to }, expect };
}

/** An entity is looked at, which is no step: it must be in that state. */
export function found(entity: Entity, state: unknown): ScenarioStep {
  return { op: "entity", args: { ...entity }, expect: { state } };
}
