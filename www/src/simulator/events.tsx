import "./events.css";

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JsonDefinition } from "statewright";

import { guardText } from "../diagram/guard.ts";
import { Button } from "../parts/button.tsx";
import { Failure } from "../parts/failure.tsx";
import { Drafts } from "./events-draft.ts";
import { EventItem, EVENTS_HEAD } from "./events-event.tsx";
import { type Address, type Closed, closedOf, type Group, groupsOf, type Offer } from "./events-offers.ts";
import { SendAnother } from "./events-send.tsx";
import type { Model, Subject } from "./model.ts";
import { joinText } from "./why-text.ts";

/** How many events are shown at once; more are asked for. */
const PAGE = 25;

/** What can happen now, what cannot and why not, and what happens by itself. */
export function EventsPane({ model }: { model: Model }): JSX.Element {
  const [drafts] = useState(() => new Drafts());
  const subject = model.subject.value;
  const view = model.view.value;
  if (subject === undefined || view?.tree === undefined) {
    return (
      <section class="sim-events" aria-label="What can happen now">
        <h2>What can happen now</h2>
        <p class="muted">There is no entity. Create one to begin.</p>
        <Refused model={model} />
      </section>
    );
  }
  return <Events model={model} drafts={drafts} subject={subject} />;
}

interface Shared {
  readonly model: Model;
  readonly drafts: Drafts;
  readonly onSent: () => void;
}

function Events({ model, drafts, subject }: Omit<Shared, "onSent"> & { subject: Subject }): JSX.Element {
  const view = model.view.value;
  const definitions = model.definitions.value;
  const groups = useMemo(
    () => groupsOf(view?.events ?? [], subject, view?.entities ?? []),
    [view?.events, subject],
  );
  const closed = useMemo(
    () => (view?.tree === undefined ? [] : closedOf(view.tree, definitions, view.events)),
    [view?.tree, definitions],
  );
  const head = useRef<HTMLHeadingElement>(null);
  const sent = useRef(false);
  const onSent = () => (sent.current = true);
  // The button may be gone with the state: then the keyboard goes on from the heading.
  useLayoutEffect(() => {
    if (sent.current && document.activeElement === document.body) head.current?.focus();
    sent.current = false;
  }, [view]);
  return (
    <section class="sim-events" aria-label="What can happen now">
      <h2 id={EVENTS_HEAD} ref={head} tabIndex={-1}>
        What can happen now
      </h2>
      <Refused model={model} />
      {groups.length === 0 && <p class="muted">No event moves it any more.</p>}
      {groups.map((group) => (
        <OfferGroup
          key={group.key}
          model={model}
          drafts={drafts}
          onSent={onSent}
          group={group}
          alone={groups.length === 1}
        />
      ))}
      <Joins model={model} subject={subject} />
      {closed.length > 0 && <ClosedGroup model={model} drafts={drafts} onSent={onSent} closed={closed} />}
      <SendAnother model={model} />
    </section>
  );
}

/** What was refused last, where it is seen. */
function Refused({ model }: { model: Model }): JSX.Element | null {
  const { value } = model.failure;
  if (value === undefined) return null;
  return (
    <div class="sim-refused">
      <Failure error={value} what="That was refused." />
      <Button onClick={() => (model.failure.value = undefined)}>Dismiss</Button>
    </div>
  );
}

function definitionOf(definitions: readonly JsonDefinition[], machine: string): JsonDefinition | undefined {
  return definitions.find(({ machine_id }) => machine_id === machine);
}

function OfferGroup({
  model,
  drafts,
  onSent,
  group,
  alone,
}: Shared & { group: Group; alone: boolean }): JSX.Element {
  const { of, regions, offers } = group;
  const [most, setMost] = useState(PAGE);
  const place = placeOf(offers[0]?.address);
  return (
    <div class="sim-group">
      <h3 class={alone && regions.length === 0 ? "only-read" : "sim-group-head"} title={of.entity_id}>
        <span class="sim-group-name">{place === undefined ? of.entity_id : of.machine_id}</span>
        {place !== undefined && <span class="sim-group-place">in {place}</span>}
        {regions.length > 0 && <span class="badge">{regions.join(", ")}</span>}
      </h3>
      <ul class="sim-list">
        {offers.slice(0, most).map((offer) => (
          <OfferItem key={offer.key} model={model} drafts={drafts} onSent={onSent} offer={offer} />
        ))}
      </ul>
      <MoreOf count={offers.length - most} onMore={() => setMost(most + PAGE)} />
    </div>
  );
}

/** Where below the subject it is: the states on the way. */
function placeOf(address: Address | undefined): string | undefined {
  if (address?.target === undefined || address.target.length === 0) return undefined;
  return address.target.map(({ state }) => state).join(" › ");
}

function MoreOf({ count, onMore }: { count: number; onMore: () => void }): JSX.Element | null {
  if (count <= 0) return null;
  return <Button onClick={onMore}>{`Show ${Math.min(count, PAGE)} more of ${count}`}</Button>;
}

function OfferItem({ model, drafts, onSent, offer }: Shared & { offer: Offer }): JSX.Element {
  const definition = definitionOf(model.definitions.value, offer.of.machine_id);
  const guards = useMemo(
    () => offer.moves.map(({ index }) => definition?.transitions[index]?.guard),
    [offer, definition],
  );
  const moves = offer.moves.map(({ from, to }, at) => ({ from, to, when: guardText(guards[at]) }));
  return (
    <EventItem
      model={model}
      drafts={drafts}
      onSent={onSent}
      event_type={offer.event_type}
      of={offer.of}
      address={offer.address}
      guards={guards}
      moves={moves}
      unmade={offer.unmade}
    />
  );
}

const NO_GUARDS: readonly unknown[] = [];

function ClosedGroup({ model, drafts, onSent, closed }: Shared & { closed: readonly Closed[] }): JSX.Element {
  const [most, setMost] = useState(PAGE);
  const subject = model.subject.value;
  return (
    <div class="sim-group">
      <h3 class="sim-group-head">Cannot happen now</h3>
      <ul class="sim-list">
        {closed.slice(0, most).map(({ key, event_type, of, address }) => (
          <EventItem
            key={key}
            model={model}
            drafts={drafts}
            onSent={onSent}
            event_type={event_type}
            of={of}
            address={address}
            guards={NO_GUARDS}
            moves={[]}
            {...(of.entity_id === subject?.entity_id ? {} : { whose: of.entity_id })}
          />
        ))}
      </ul>
      <MoreOf count={closed.length - most} onMore={() => setMost(most + PAGE)} />
    </div>
  );
}

/** The joins that wait, and for what. */
function Joins({ model, subject }: { model: Model; subject: Subject }): JSX.Element | null {
  const view = model.view.value;
  const joins = useMemo(() => {
    const definition = definitionOf(model.definitions.value, subject.machine_id);
    if (!definition?.joins || definition.joins.length === 0) return [];
    const event = definition.transitions.find(({ on }) => !on.startsWith("$"))?.on ?? "any";
    try {
      return model.explain(subject, { type: event }).joins;
    } catch {
      // Each event says for itself why nothing can be told.
      return [];
    }
  }, [view, subject]);
  if (joins.length === 0) return null;
  return (
    <div class="sim-group">
      <h3 class="sim-group-head">Joins that wait</h3>
      <ul class="sim-joins">
        {joins.map((join) => (
          <li key={join.index}>{joinText(join)}</li>
        ))}
      </ul>
    </div>
  );
}
