import type { Source, Tried } from "statewright/client";
import type { JSX } from "preact";

import { Json } from "../../parts/json.tsx";
import { Time } from "../../parts/time.tsx";
import { entityLink } from "../entity/subject.ts";
import { consoleLink } from "../place.ts";
import { Meeting } from "./meeting.tsx";

/** What a request would become, or why it would become nothing: in the service's words. */
export function Verdict({ source, tried }: { source: Source; tried: Tried }): JSX.Element {
  const { event } = tried;
  return (
    <article class="card stack con-source-verdict" aria-label="What it would become">
      {event === undefined ? (
        <>
          <h3>
            <span class="badge badge-warn">no event</span> It would become no event
          </h3>
          <p>{tried.problem}</p>
          {tried.path !== undefined && (
            <p class="muted">
              By <code>{tried.path}</code> {tried.path === "body" ? "of the request" : "of the source"}.
            </p>
          )}
        </>
      ) : (
        <>
          <h3>
            <span class="badge badge-good">event</span> It would become {event.event_type} for{" "}
            {event.entity_id}
          </h3>
          <dl class="con-details">
            <dt>Event</dt>
            <dd>
              <code>{event.event_type}</code>
            </dd>
            <dt>Entity</dt>
            <dd>
              <a href={entityLink({ machine: source.machine, entity: event.entity_id })}>{event.entity_id}</a>{" "}
              <span class="muted">of {source.machine}</span>
            </dd>
            <dt>Delivery</dt>
            <dd>
              <a href={consoleLink(["look-up"], new URLSearchParams({ key: event.identity }))}>
                {event.identity}
              </a>{" "}
              <span class="muted">counts once</span>
            </dd>
            {event.timestamp !== undefined && (
              <>
                <dt>At</dt>
                <dd>
                  <Time at={event.timestamp} />
                </dd>
              </>
            )}
          </dl>
          {Object.keys(event.params).length === 0 ? (
            <p class="muted">It has no params.</p>
          ) : (
            <Json value={event.params} label="Params" />
          )}
          <Meeting machine={source.machine} event={event} creates={source["create"] !== false} />
        </>
      )}
      <Signature tried={tried} />
    </article>
  );
}

const SIGNATURES: ReadonlyMap<string, readonly [badge: string, text: string]> = new Map([
  ["valid", ["badge-good", "The signature holds."]],
  ["invalid", ["badge-bad", "The signature does not hold: the request itself would be answered 401."]],
  ["absent", ["", "There is no signature: the request itself would be answered 401."]],
]);

function Signature({ tried: { signature, signature_problem: problem } }: { tried: Tried }): JSX.Element {
  const [badge, text] = SIGNATURES.get(signature) ?? ["", ""];
  return (
    <div>
      <p>
        <span class={`badge ${badge}`}>signature {signature}</span> {text}
      </p>
      {problem !== undefined && <p class="muted">{problem}</p>}
    </div>
  );
}
