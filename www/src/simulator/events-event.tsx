import { Ellipsis, Play } from "lucide";
import type { JSX } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import type { Explanation } from "statewright";

import { IconButton } from "../parts/button.tsx";
import { messageOf } from "../parts/failure.tsx";
import { TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { countOf, type Draft, type Drafts } from "./events-draft.ts";
import type { Address } from "./events-offers.ts";
import type { Model, SentEvent } from "./model.ts";
import type { Subject } from "./model-view.ts";
import { fieldsOf, paramsOf } from "./params-fields.ts";
import { ParamsForm } from "./params-form.tsx";
import { Why } from "./why.tsx";
import { whyNot } from "./why-text.ts";

/** The id of the heading of the events. */
export const EVENTS_HEAD = "sim-events-head";

export interface EventProps {
  readonly model: Model;
  /** Told after it was sent, before what came of it is drawn. */
  readonly onSent: () => void;
  readonly drafts: Drafts;
  readonly event_type: string;
  readonly of: Subject;
  readonly address: Address;
  /** The guards of the transitions that could take it: their fields are asked for. */
  readonly guards: readonly unknown[];
  /** Where it leads. */
  readonly moves: readonly {
    readonly from: string;
    readonly to: string;
    readonly when: string | undefined;
  }[];
  /** Whether an entity that is not made yet would take it: nothing can be asked of it. */
  readonly unmade?: boolean;
  /** Whose event it is, where that is to be said. */
  readonly whose?: string;
}

/** An event: its button, what it would do, the params that its guards read, and why it cannot happen where it cannot. */
export function EventItem(props: EventProps): JSX.Element {
  const { model, onSent, drafts, event_type, of, address, guards, moves, unmade = false, whose } = props;
  const id = useId();
  const [more, setMore] = useState(false);
  const draft = drafts.of(of.machine_id, event_type);
  const { typed, timestamp, version } = draft.value;
  const fields = useMemo(() => fieldsOf(guards), [guards]);
  const { params, problems } = paramsOf(fields, typed);
  const at = countOf(timestamp);
  const expected = countOf(version);
  const event: SentEvent = {
    type: event_type,
    ...(Object.keys(params).length === 0 ? {} : { params }),
    ...(at.value === undefined ? {} : { timestamp: at.value }),
    ...(expected.value === undefined ? {} : { expectedVersion: expected.value }),
    ...(address.target === undefined ? {} : { target: address.target }),
  };
  const view = model.view.value;
  const asked = useMemo(() => explained(model, of, address, event, unmade), [view, draft.value, address]);
  const isOdd = problems.size > 0 || at.problem !== undefined || expected.problem !== undefined;
  const reason = isOdd ? "Correct what is typed first" : unmade ? askedOfNobody(asked, moves) : asked.reason;
  const send = () => {
    if (reason !== undefined) return;
    const { machine_id, entity_id } = address.to;
    model.act((session) => session.send(machine_id, entity_id, event));
    // They are of one event, and out of sight when the next is sent.
    draft.value = { ...draft.value, timestamp: "", version: "" };
    onSent();
  };
  const context = useMemo(() => contextOf(model, of), [view, of]);
  return (
    <li class={reason === undefined ? "sim-event" : "sim-event sim-event-closed"}>
      <div class="sim-event-line">
        <button
          type="button"
          class="sim-event-button"
          aria-disabled={reason !== undefined}
          aria-describedby={`${id}-moves ${id}-reason`}
          title={event_type}
          onClick={send}
        >
          <Icon icon={Play} size={12} />
          <span>{event_type}</span>
        </button>
        <span class="sim-event-moves" id={`${id}-moves`}>
          {moves.map(({ from, to, when }) => (
            <span key={`${from}→${to}→${when ?? ""}`} class="sim-move" title={moveText({ from, to, when })}>
              {from} → {to}
              {moves.length > 1 && when !== undefined && <span class="muted"> if {when}</span>}
            </span>
          ))}
          {moves.length === 0 && (
            <span class="sim-event-reason" id={`${id}-reason`}>
              {whose !== undefined && <strong>{whose}: </strong>}
              {reason}
            </span>
          )}
        </span>
        <IconButton
          icon={Ellipsis}
          label={`More of ${event_type}`}
          pressed={more}
          onClick={() => setMore(!more)}
        />
      </div>
      <ParamsForm
        fields={fields}
        typed={typed}
        problems={problems}
        context={context}
        onTyped={(next) => (draft.value = { ...draft.value, typed: next })}
        onEnter={send}
      />
      {moves.length > 0 && (
        <p class="sim-event-reason" id={`${id}-reason`} aria-live={fields.length > 0 ? "polite" : "off"}>
          {/* Beside a form there is always a line, so that nothing jumps while it is filled in. */}
          {reason ?? (fields.length > 0 && `Would move ${asked.explanation?.transition ?? "it"}`)}
        </p>
      )}
      {!more && <Kept draft={draft.value} />}
      {more && (
        <More draft={draft.value} onDraft={(next) => (draft.value = next)} other={problems.get(undefined)}>
          {asked.explanation !== undefined && <Why explanation={asked.explanation} />}
        </More>
      )}
    </li>
  );
}

/** Of an entity that is not made yet nothing more is known than its guards. */
function askedOfNobody({ reason }: Asked, moves: EventProps["moves"]): string | undefined {
  const conditions = moves.flatMap(({ when }) => (when === undefined ? [] : [when]));
  return reason === undefined || conditions.length === 0 ? reason : `Only if ${conditions.join(", or ")}`;
}

function moveText({ from, to, when }: EventProps["moves"][number]): string {
  return when === undefined ? `${from} → ${to}` : `${from} → ${to} if ${when}`;
}

interface Asked {
  readonly explanation?: Explanation;
  readonly reason?: string | undefined;
}

/** Asks what the event would do. */
function explained(model: Model, of: Subject, { to }: Address, event: SentEvent, unmade: boolean): Asked {
  try {
    const explanation = model.explain(to, event);
    const reason = whyNot(explanation);
    const isForwarded = event.target === undefined && of.entity_id !== to.entity_id;
    if (reason === undefined || !isForwarded || unmade) return { explanation, reason };
    // Its own entity knows better why not.
    const own = model.explain(of, event);
    return { explanation: own, reason: whyNot(own) ?? reason };
  } catch (error) {
    return { reason: messageOf(error) };
  }
}

function contextOf(model: Model, of: Subject): ReadonlyMap<string, unknown> {
  const entity = model.view.value?.entities.find(
    ({ machine_id, entity_id }) => machine_id === of.machine_id && entity_id === of.entity_id,
  );
  return new Map(Object.entries(entity?.context ?? {}));
}

/** What is typed where it is not seen. */
function Kept({ draft: { typed, timestamp, version } }: { draft: Draft }): JSX.Element | null {
  const kept = [
    typed.other.trim() === "" ? undefined : `other params ${typed.other}`,
    timestamp.trim() === "" ? undefined : `timestamp ${timestamp}`,
    version.trim() === "" ? undefined : `expected version ${version}`,
  ].filter((part) => part !== undefined);
  if (kept.length === 0) return null;
  return <p class="sim-event-reason">With {kept.join(", ")}</p>;
}

interface MoreProps {
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
  /** What is wrong with the other params. */
  readonly other: string | undefined;
  readonly children: JSX.Element | false;
}

/** What is seldom needed: other params, the event's own time, and the version that it expects. */
function More({ draft, onDraft, other, children }: MoreProps): JSX.Element {
  const { typed, timestamp, version } = draft;
  return (
    <div class="sim-more">
      <TextField
        label="Other params (JSON)"
        value={typed.other}
        placeholder='{"note": "by phone"}'
        problem={other}
        onInput={(text) => onDraft({ ...draft, typed: { ...typed, other: text } })}
      />
      <div class="sim-more-pair">
        <TextField
          label="Timestamp (ms)"
          value={timestamp}
          placeholder="now"
          problem={countOf(timestamp).problem}
          onInput={(text) => onDraft({ ...draft, timestamp: text })}
        />
        <TextField
          label="Expected version"
          value={version}
          placeholder="any"
          problem={countOf(version).problem}
          onInput={(text) => onDraft({ ...draft, version: text })}
        />
      </div>
      {children}
    </div>
  );
}
