import "./entity.css";

import type { components, Receipt } from "statewright/client";
import type { JSX } from "preact";

import { counted } from "../../parts/counted.ts";
import { Json } from "../../parts/json.tsx";
import { Time } from "../../parts/time.tsx";
import { entityLink } from "./subject.ts";

type Schemas = components["schemas"];

interface ReceiptCardProps {
  readonly receipt: Receipt;
  /** Shows one of its outbox rows. */
  readonly onEffect: (id: string) => void;
}

/** What became of a request or of an event, and what it called for. */
export function ReceiptCard({ receipt, onEffect }: ReceiptCardProps): JSX.Element {
  const { outbox } = receipt;
  return (
    <article class="card stack" aria-label="Receipt">
      {"scope" in receipt ? <OfRequest receipt={receipt} /> : <OfEvent receipt={receipt} />}
      <section class="stack" aria-label="Its outbox rows">
        <h2>{outbox.length === 0 ? "It called for nothing" : counted(outbox.length, "outbox row")}</h2>
        {outbox.length > 0 && (
          <ul class="con-entity-effects">
            {outbox.map((id) => (
              <li key={id}>
                <button type="button" class="con-entity-link" onClick={() => onEffect(id)}>
                  {id}
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
    </article>
  );
}

function OfRequest({ receipt }: { receipt: Schemas["RequestReceipt"] }): JSX.Element {
  return (
    <>
      <dl class="con-details">
        <dt>Request</dt>
        <dd>
          <code>{receipt.scope}</code>
        </dd>
        <dt>Outcome</dt>
        <dd>
          {receipt.outcome}
          {receipt.status !== null && `, answered with ${receipt.status}`}
          {receipt.state_version !== undefined && `, version ${receipt.state_version}`}
        </dd>
        {receipt.entity_id !== undefined && (
          <>
            <dt>Entity</dt>
            <dd>
              <EntityName machine={receipt.machine_id} entity={receipt.entity_id} />
            </dd>
          </>
        )}
        <dt>At</dt>
        <dd>
          <Time at={receipt.at} />
        </dd>
        <dt>Forgotten</dt>
        <dd>
          <Time at={receipt.expires_at} />
        </dd>
      </dl>
      <Json value={receipt.answer} label="The answer that was given" />
    </>
  );
}

function OfEvent({ receipt }: { receipt: Schemas["EventReceipt"] }): JSX.Element {
  return (
    <dl class="con-details">
      <dt>Event</dt>
      <dd>
        <code>{receipt.identity}</code>
      </dd>
      <dt>Outcome</dt>
      <dd>{receipt.outcome}</dd>
      <dt>Entity</dt>
      <dd>
        <EntityName machine={receipt.machine_id} entity={receipt.entity_id} />
      </dd>
      <dt>At</dt>
      <dd>
        <Time at={receipt.at} />
      </dd>
      <dt>History row</dt>
      <dd>{receipt.row}</dd>
    </dl>
  );
}

function EntityName({ machine, entity }: { machine: string | undefined; entity: string }): JSX.Element {
  if (machine === undefined) return <>{entity}</>;
  return (
    <>
      <a href={entityLink({ machine, entity })}>{entity}</a> <span class="muted">of {machine}</span>
    </>
  );
}
