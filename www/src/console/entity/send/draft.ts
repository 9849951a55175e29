// An event as it is put together, before anyone is asked about it. Free of the page.

import type { components, Entity, PossibleEvent } from "statewright/client";

import { withinTree } from "../../fork/definitions.ts";
import type { Subject } from "../subject.ts";

type Step = components["schemas"]["Step"];

/** Where an event goes: the entity that the request names, and the way from it to a child. */
export interface Address {
  readonly to: Subject;
  readonly target?: readonly Step[];
}

/** An event that an entity can take where it is. */
export interface Choice {
  readonly key: string;
  readonly event_type: string;
  /** Who takes it. */
  readonly of: Subject;
  readonly address: Address;
  /** The transitions that may take it. */
  readonly moves: readonly PossibleEvent[];
}

/** An entity that an event can be addressed to. */
export interface Place {
  readonly key: string;
  readonly of: Subject;
  readonly address: Address;
  readonly version: number;
}

/** A request that is ready to be sent. */
export interface EventRequest {
  readonly to: Subject;
  readonly body: {
    readonly event_type: string;
    readonly params?: { [name: string]: unknown };
    readonly target?: Step[];
    readonly expected_version?: number;
    readonly timestamp?: number;
  };
}

function keyOf(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}

/** To whom an event of the list is sent. Below a legacy child no target leads: there it is sent to its entity itself. */
function addressOf(event: PossibleEvent, subject: Subject): Address {
  const { target, forwarded } = event;
  if (forwarded === true) return { to: subject };
  if (target === undefined) return { to: { machine: event.machine_id, entity: event.entity_id } };
  return target.length === 0 ? { to: subject } : { to: subject, target };
}

/** The events that can be taken now, each once, whichever of its transitions takes it. */
export function choicesOf(events: readonly PossibleEvent[], subject: Subject): readonly Choice[] {
  const choices = new Map<string, Choice & { readonly moves: PossibleEvent[] }>();
  for (const event of events) {
    const key = keyOf(event.machine_id, event.entity_id, event.event_type);
    const known = choices.get(key);
    if (known !== undefined) {
      known.moves.push(event);
      continue;
    }
    const of = { machine: event.machine_id, entity: event.entity_id };
    choices.set(key, {
      key,
      event_type: event.event_type,
      of,
      address: addressOf(event, subject),
      moves: [event],
    });
  }
  return [...choices.values()];
}

/** The entity itself and every managed child that lives below it, with the way there. */
export function placesOf(tree: Entity, path: readonly Step[] = [], root = tree): readonly Place[] {
  const of = { machine: tree.machine_id, entity: tree.entity_id };
  const to = { machine: root.machine_id, entity: root.entity_id };
  const here: Place = {
    key: keyOf(of.machine, of.entity),
    of,
    address: path.length === 0 ? { to } : { to, target: path },
    version: tree.state_version,
  };
  const below = (tree.children ?? []).flatMap((child) => {
    const { parent, instance } = child;
    if (instance?.status !== "active" || parent === undefined) return [];
    const { region, state, seq } = parent;
    return placesOf(child, [...path, { region, state, seq }], root);
  });
  return [here, ...below];
}

/** A key that no other intent has. `crypto.randomUUID` is missing from pages that came without TLS. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** A whole number as it was typed; undefined where it is none. */
export function wholeOf(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== "" && Number.isSafeInteger(value) ? value : undefined;
}

/** The version of the entity that a request is for, as it was read last; undefined where it is not in the tree. */
export function versionAt(tree: Entity, { to, target }: Address): number | undefined {
  let at = [...withinTree(tree)].find(
    (each) => each.machine_id === to.machine && each.entity_id === to.entity,
  );
  for (const { region = "_", state, seq } of target ?? []) {
    at = at?.children?.find(
      ({ parent, instance }) =>
        instance?.status === "active" &&
        parent?.region === region &&
        parent.state === state &&
        (seq === undefined || parent.seq === seq),
    );
  }
  return at?.state_version;
}
