import { Send } from "lucide";
import { type Entity, StatewrightError, type TransitionResponse } from "statewright/client";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "../../../parts/button.tsx";
import { Failure } from "../../../parts/failure.tsx";
import { apiPath, type CurlRequest } from "../../curl.ts";
import { type Acting, useActing } from "../acting.ts";
import { CopyCurl } from "../copy-curl.tsx";
import { entityLink, type Subject } from "../subject.ts";
import { outcomeOf } from "../words.ts";
import { type EventRequest, freshKey, versionAt } from "./draft.ts";
import { Waiting } from "./explained.tsx";
import { foresee, Foreseen, type Foresight } from "./foresight.tsx";
import { OutcomeOf } from "./outcome.tsx";

export interface IntentProps {
  readonly request: EventRequest;
  /** Whether it is run without being written, beside being explained. */
  readonly dry: boolean;
  /** Another number asks anew. */
  readonly time: number;
  readonly tree: Entity;
  readonly onDone: () => void;
}

/** Whether a request may have been applied though it failed. */
function isUnsure(error: unknown): boolean {
  return !(error instanceof StatewrightError) || error.status === 0 || error.status >= 500;
}

/** One request: what it would do, and then what it did. It has one key, so that it is applied once however often it is sent. */
export function Intent({ request, dry, time, tree, onDone }: IntentProps): JSX.Element {
  const { to, body } = request;
  const [key, setKey] = useState(freshKey);
  const [foresight, setForesight] = useState<Foresight & { readonly version: number | undefined }>();
  const [sent, setSent] = useState<TransitionResponse>();
  const asking = useActing();
  const sending = useActing();
  const result = useRef<HTMLDivElement>(null);
  const refused = sending.error !== undefined && !isUnsure(sending.error);

  useEffect(() => {
    // The service keeps an answer under its key, a refusal too: asked anew after one, it is another intent.
    if (refused || sent !== undefined) setKey(freshKey());
    setSent(undefined);
    sending.forget();
    asking.run(async ({ client }) => {
      setForesight({ ...(await foresee(request, dry, client)), version: versionAt(tree, { to, ...body }) });
    });
  }, [time]);
  // What came is below the form: what matters of it shall be seen.
  useEffect(() => result.current?.scrollIntoView({ block: "nearest" }), [foresight, sent, sending.error]);

  const send = (): void =>
    sending.run(async ({ client }) => {
      setSent(await client.entities.transition(to.machine, to.entity, body, { idempotencyKey: key }));
    });
  const now = versionAt(tree, { to, ...body });
  const moved = foresight?.version !== undefined && now !== undefined && now !== foresight.version;
  const shown = sent === undefined && asking.error === undefined ? foresight : undefined;
  return (
    <div class="con-send-intent stack" ref={result} aria-live="polite">
      {asking.error !== undefined && <Failure error={asking.error} what="It would be refused" />}
      {foresight === undefined && asking.busy && <p class="loading">Asking what it would do…</p>}
      {shown !== undefined && (
        <>
          <Foreseen foresight={shown} />
          {moved && !refused && (
            <p class="notice notice-warn">
              The entity has moved since: it was at version {shown.version}, and is at {now}. Check again
              before it is sent.
            </p>
          )}
          {refused && <Failure error={sending.error} what="The service refused the event" />}
          {dry && !refused && (
            <Sending
              event={body.event_type}
              idempotencyKey={key}
              sending={sending}
              wouldApply={shown.answer !== undefined && outcomeOf(shown.answer) === "applied"}
              primary={!moved}
              onSend={send}
            />
          )}
          <Waiting explanation={shown.explanation} />
        </>
      )}
      {sent !== undefined && (
        <Sent to={to} event={body.event_type} idempotencyKey={key} answer={sent} onDone={onDone} />
      )}
      <Curls request={request} idempotencyKey={key} />
    </div>
  );
}

interface SendingProps {
  readonly event: string;
  readonly idempotencyKey: string;
  readonly sending: Acting;
  readonly wouldApply: boolean;
  /** Whether sending is the thing to do next, where it would be applied. */
  readonly primary: boolean;
  readonly onSend: () => void;
}

function Sending({ event, idempotencyKey, sending, wouldApply, primary, onSend }: SendingProps): JSX.Element {
  const unsure = sending.error !== undefined;
  const says = wouldApply ? `Send ${event}` : "Send it all the same";
  return (
    <>
      {unsure && (
        <>
          <Failure error={sending.error} what="It is not known whether the event was applied" />
          <p class="muted">Sending it again is safe: it has the same key, and is applied once.</p>
        </>
      )}
      <div class="row">
        <Button
          icon={Send}
          kind={wouldApply && primary ? "primary" : "plain"}
          busy={sending.busy}
          onClick={onSend}
        >
          {unsure ? "Send again" : says}
        </Button>
      </div>
      <p class="con-send-key">
        Idempotency-Key <code>{idempotencyKey}</code>: sent twice, it is applied once.
      </p>
    </>
  );
}

interface SentProps {
  readonly to: Subject;
  readonly event: string;
  readonly idempotencyKey: string;
  readonly answer: TransitionResponse;
  readonly onDone: () => void;
}

function Sent({ to, event, idempotencyKey: key, answer, onDone }: SentProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  // The button that sent it is gone: the keyboard goes on from what came of it.
  useEffect(() => heading.current?.focus(), []);
  return (
    <>
      <h3 ref={heading} tabIndex={-1}>
        Sent: {event}
      </h3>
      <OutcomeOf answer={answer} />
      <p class="con-send-key">
        Idempotency-Key <a href={entityLink(to, "receipts", new URLSearchParams({ key }))}>{key}</a>
      </p>
      <div class="row">
        <Button onClick={onDone}>Send another event</Button>
      </div>
    </>
  );
}

function Curls({
  request: { to, body },
  idempotencyKey,
}: {
  request: EventRequest;
  idempotencyKey: string;
}): JSX.Element {
  const post = (last: string): Omit<CurlRequest, "connection"> => ({
    method: "POST",
    path: apiPath("machines", to.machine, "entities", to.entity, last),
    body,
  });
  return (
    <div class="row">
      <CopyCurl of="explain" request={() => post("explain")} />
      <CopyCurl
        of="send"
        request={() => ({ ...post("transition"), headers: { "Idempotency-Key": idempotencyKey } })}
      />
    </div>
  );
}
