import "./send.css";

import type { JsonDefinition } from "statewright";
import type { Entity } from "statewright/client";
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import { Failure } from "../../../parts/failure.tsx";
import { useLive } from "../../live.ts";
import { client } from "../../service.ts";
import type { Subject } from "../subject.ts";
import { choicesOf, type EventRequest } from "./draft.ts";
import { EventForm } from "./event-form.tsx";
import { Intent } from "./intent.tsx";

interface SendPanelProps {
  readonly subject: Subject;
  readonly tree: Entity;
  readonly definitions: readonly JsonDefinition[];
}

/** What the user asked about last, and how. */
interface Asked {
  readonly request: EventRequest;
  /** The request as text: another one is another intent. */
  readonly text: string;
  readonly dry: boolean;
  /** Another number asks anew. */
  readonly time: number;
}

/** Puts an event together, shows what it would do, and then sends it. */
export function SendPanel({ subject, tree, definitions }: SendPanelProps): JSX.Element {
  const { machine, entity } = subject;
  const live = useLive((signal) => client().entities.events(machine, entity, { signal }), [machine, entity]);
  const [asked, setAsked] = useState<Asked>();
  const title = useRef<HTMLHeadingElement>(null);
  const choices = useMemo(() => live.value && choicesOf(live.value, subject), [live.value]);
  return (
    <section class="card con-send" aria-labelledby="con-send-title">
      <h2 id="con-send-title" ref={title} tabIndex={-1}>
        Send an event
      </h2>
      {live.error !== undefined && <Failure error={live.error} what="Could not read the possible events" />}
      {live.value === undefined && live.error === undefined ? (
        <p class="loading">Reading what can happen…</p>
      ) : (
        <EventForm
          subject={subject}
          tree={tree}
          definitions={definitions}
          choices={choices}
          asked={asked?.dry === true}
          onAsk={(request, dry) =>
            setAsked({ request, text: JSON.stringify(request), dry, time: (asked?.time ?? 0) + 1 })
          }
          onEdit={() => setAsked(undefined)}
        />
      )}
      {asked !== undefined && (
        <Intent
          key={asked.text}
          request={asked.request}
          dry={asked.dry}
          time={asked.time}
          tree={tree}
          onDone={() => {
            setAsked(undefined);
            title.current?.focus();
          }}
        />
      )}
    </section>
  );
}
