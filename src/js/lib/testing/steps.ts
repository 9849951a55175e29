// Steps: events and waits, that a machine goes through.

import { optionsOf } from "../given.ts";
import { machineOf } from "../kin.ts";
import { kindOf, wrong } from "../wrong.ts";
import type { AnyMachine, ContextOf, EventInput, Machine, Sent, Snapshot, TypesOf } from "../typed.ts";

/** An event as it is sent, with what it says. */
export type StepEvent<M> = Extract<EventInput<TypesOf<M>>, { readonly type: string }>;

/** A step: an event is sent, or time passes. */
export type Step<M = AnyMachine> =
  | { readonly event: StepEvent<M>; readonly wait?: never }
  /** Milliseconds, after which due timeouts fire. */
  | { readonly wait: number; readonly event?: never };

/** A step that a machine went through. */
export interface Played<M = AnyMachine> {
  readonly step: Step<M>;
  /** The time of the step, in milliseconds. */
  readonly now: number;
  readonly before: Snapshot<TypesOf<M>>;
  readonly after: Snapshot<TypesOf<M>>;
  /** What was answered to its event; undefined for a wait. */
  readonly sent?: Sent<TypesOf<M>>;
  /** Everything that was committed: due timeouts, then the event. */
  readonly commits: Sent["timeouts"];
}

/** Where steps begin. */
export interface Start<M = AnyMachine> {
  /** The id of the entity; `entity` if left out. */
  readonly id?: string;
  readonly context?: ContextOf<M>;
  /** When it is made, in milliseconds since the epoch; 0 if left out. */
  readonly now?: number;
}

/** A new entity of a machine, whatever its context is said to be. */
export function begin(machine: AnyMachine, { id = "entity", context = {}, now = 0 }: Start): Snapshot {
  return machine.create(id, context, { now });
}

/**
 * One step: an event happens a millisecond after the step before it, so that no two are the same event.
 *
 * Where more timeouts are due than are applied at once, all of them are.
 */
export function take(machine: AnyMachine, before: Snapshot, step: Step, at: number): Played {
  if (step.event !== undefined) {
    const now = at + 1;
    const sent = machine.send(before, { timestamp: now, ...step.event }, { now });
    const commits = [...sent.timeouts, ...(sent.before ?? []), ...(sent.commit ? [sent.commit] : [])];
    return { step, now, before, after: sent.snapshot, sent, commits };
  }
  const now = at + step.wait;
  const commits = [];
  let after = before;
  for (let more = true; more;) {
    const advanced = machine.advance(after, now);
    commits.push(...advanced.timeouts);
    after = advanced.snapshot;
    more = advanced.more && advanced.timeouts.length > 0;
  }
  return { step, now, before, after, commits };
}

/**
 * Goes through steps with a new entity, and tells after each what came of it.
 *
 * @throws {StatewrightError} where the machine cannot be asked; that it refuses an event is told in `sent`.
 */
export function* play<M extends Machine>(
  machine: M,
  steps: Iterable<Step<M>>,
  start: Start<M> = {},
): Generator<Played<M>, void, undefined> {
  // Inside, nothing of a machine's types is known or needed.
  const [any, all] = [machineOf(machine as AnyMachine), steps as Iterable<Step>];
  let now = optionsOf(start, ["id", "context", "now"]).now ?? 0;
  let snapshot = begin(any, start);
  if (typeof all !== "object" || all === null || !(Symbol.iterator in all)) {
    throw wrong("steps", `it is ${kindOf(all)}`, "a list of steps");
  }
  let place = 0;
  for (const step of all) {
    check(step, `steps[${place}]`);
    place += 1;
    const played = take(any, snapshot, step, now);
    ({ now, after: snapshot } = played);
    yield played as Played<M>;
  }
}

/** Refuses what is no step. */
function check(step: Step, path: string): void {
  if (typeof step !== "object" || step === null) {
    throw wrong(path, `it is ${kindOf(step)}`, "an object with `event` or `wait`");
  }
  if (step.event !== undefined) return;
  if (Number.isSafeInteger(step.wait) && step.wait >= 0) return;
  throw wrong(
    `${path}.wait`,
    `it is ${kindOf(step.wait)}`,
    "whole milliseconds from 0, where there is no `event`",
  );
}
