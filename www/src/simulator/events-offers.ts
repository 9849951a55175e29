// Which events entities can take, and to whom they are sent.

import type { JsonDefinition, PossibleEvent, TargetStep } from "statewright";

import type { Tree } from "../diagram/diagram.tsx";
import type { Subject } from "./model-view.ts";

/** To whom an event is sent: an entity, and the way from it to a child. */
export interface Address {
  readonly to: Subject;
  readonly target?: readonly TargetStep[];
}

/** An event of an entity: the transitions that take it where it is. */
export interface Offer {
  readonly key: string;
  readonly event_type: string;
  /** Whose event it is. */
  readonly of: Subject;
  readonly address: Address;
  readonly moves: readonly PossibleEvent[];
  /** Whether an entity that is not made yet would take it. */
  readonly unmade: boolean;
}

/** The events of an entity that one of its regions, or the same regions, take. */
export interface Group {
  readonly key: string;
  readonly of: Subject;
  /** Of a parallel machine. */
  readonly regions: readonly string[];
  readonly offers: readonly Offer[];
}

/** An event of a machine that an entity cannot take where it is. */
export interface Closed {
  readonly key: string;
  readonly event_type: string;
  readonly of: Subject;
  readonly address: Address;
}

const keyOf = (...parts: readonly unknown[]): string => JSON.stringify(parts);
const subjectOf = ({ machine_id, entity_id }: Subject): Subject => ({ machine_id, entity_id });
const isSame = (a: Subject, b: Subject): boolean =>
  a.machine_id === b.machine_id && a.entity_id === b.entity_id;

function addressOf(event: PossibleEvent, subject: Subject): Address {
  const { target, forwarded } = event;
  if (forwarded === true || isSame(event, subject)) return { to: subject };
  // Below a legacy child no target leads.
  return target === undefined ? { to: subjectOf(event) } : { to: subject, target };
}

/** An entity and what lives below it, outermost first. */
export function livingOf(tree: Tree): readonly Tree[] {
  const below = (tree.children ?? []) as readonly Tree[];
  return [tree, ...below.filter(isLiving).flatMap(livingOf)];
}

function isLiving(tree: Tree): boolean {
  const { instance, legacy } = tree as { instance?: { ended?: number }; legacy?: { ended?: number } };
  return instance?.ended === undefined && legacy?.ended === undefined;
}

/** Events by who takes them: each entity with its regions, outermost first. */
export function groupsOf(
  events: readonly PossibleEvent[],
  subject: Subject,
  entities: readonly Subject[],
): readonly Group[] {
  const offers = new Map<string, { offer: Offer; moves: PossibleEvent[] }>();
  for (const event of events) {
    const key = keyOf(event.machine_id, event.entity_id, event.event_type);
    const known = offers.get(key);
    if (known !== undefined) {
      known.moves.push(event);
      continue;
    }
    const moves = [event];
    const offer: Offer = {
      key,
      event_type: event.event_type,
      of: subjectOf(event),
      address: addressOf(event, subject),
      moves,
      unmade: !entities.some((entity) => isSame(entity, event)),
    };
    offers.set(key, { offer, moves });
  }
  const groups = new Map<string, { group: Omit<Group, "offers">; offers: Offer[] }>();
  for (const { offer } of offers.values()) {
    const regions = [...new Set(offer.moves.flatMap(({ region }) => (region === undefined ? [] : [region])))];
    const key = keyOf(offer.of.machine_id, offer.of.entity_id, ...regions);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { group: { key, of: offer.of, regions }, offers: [offer] });
    else known.offers.push(offer);
  }
  return [...groups.values()].map(({ group, offers: own }) => ({ ...group, offers: own }));
}

/** The other events of the machines of what lives. */
export function closedOf(
  tree: Tree,
  definitions: readonly JsonDefinition[],
  events: readonly PossibleEvent[],
): readonly Closed[] {
  const open = new Set(
    events.map(({ machine_id, entity_id, event_type }) => keyOf(machine_id, entity_id, event_type)),
  );
  return livingOf(tree).flatMap((entity) => {
    const definition = definitions.find(({ machine_id }) => machine_id === entity.machine_id);
    const types = new Set(definition?.transitions.map(({ on }) => on).filter((on) => !on.startsWith("$")));
    return [...types].flatMap((event_type): Closed[] => {
      const of = subjectOf(entity);
      const key = keyOf(of.machine_id, of.entity_id, event_type);
      return open.has(key) ? [] : [{ key, event_type, of, address: { to: of } }];
    });
  });
}
