// What stood before the last step: it is played again up to there.

import { type AnyMachine, simulate } from "statewright";

import type { Model, Subject, View } from "../model.ts";

/** Of more steps it is not looked at. */
const MOST_STEPS = 500;

/** Whether what was before is looked at. */
export function isCompared({ done }: View): boolean {
  return done > 0 && done <= MOST_STEPS;
}

/** A scenario brings its own. */
const NO_MACHINES: readonly AnyMachine[] = [];

const known = new WeakMap<View, Map<string, object | undefined>>();

/** The context of the entity that is looked at, before the last step; nothing where it was not there, or is not known. */
export function contextBefore(model: Model, view: View, subject: Subject): object | undefined {
  if (!isCompared(view)) return undefined;
  const name = JSON.stringify([subject.machine_id, subject.entity_id]);
  const found = known.get(view) ?? new Map<string, object | undefined>();
  known.set(view, found);
  if (!found.has(name)) found.set(name, played(model, subject));
  return found.get(name);
}

function played(model: Model, { machine_id, entity_id }: Subject): object | undefined {
  const session = simulate(NO_MACHINES);
  try {
    session.import(model.scenario());
    session.undo();
    return session.entity(machine_id, entity_id).context;
  } catch {
    // The last step made it.
    return undefined;
  } finally {
    session.free();
  }
}
