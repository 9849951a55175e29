import { Send } from "lucide";
import { type Entity, type Explanation, StatewrightError, type TransitionResponse } from "statewright/client";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "../../../parts/button.tsx";
import { Failure } from "../../../parts/failure.tsx";
import { apiPath, type CurlRequest } from "../../curl.ts";
import { client } from "../../service.ts";
import { useActing } from "../acting.ts";
import { CopyCurl } from "../copy-curl.tsx";
import { entityLink } from "../subject.ts";
import { outcomeOf } from "../words.ts";
import { type EventRequest, freshKey, versionAt } from "./draft.ts";
import { Explained, Waiting } from "./explained.tsx";
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

/** What the service said to the request before it was sent. */
interface Foreseen {
  readonly explanation: Explanation;
  readonly answer: TransitionResponse | undefined;
  /** Why the dry run was refused: so would be the event. */
  readonly refusal: unknown;
  /** The version that was there. */
  readonly version: number | undefined;
}

/** One request: what it would do, and then what it did. It has one key, so that it is applied once however often it is sent. */
export function Intent({ request, dry, time, tree, onDone }: IntentProps): JSX.Element {
  const { to, body } = request;
  const [key, setKey] = useState(freshKey);
  const [foreseen, setForeseen] = useState<Foreseen>();
  const [sent, setSent] = useState<TransitionResponse>();
  const asking = useActing();
  const sending = useActing();
  const result = useRef<HTMLDivElement>(null);
  const outcome = useRef<HTMLHeadingElement>(null);
  const { entities } = client();
  const refused = sending.error !== undefined && !isUnsure(sending.error);

  useEffect(() => {
    // The service keeps a refusal under its key: asked anew, it is another intent.
    if (refused) setKey(freshKey());
    sending.forget();
    asking.run(async () => {
      const explanation = await entities.explain(to.machine, to.entity, body);
      let answer: TransitionResponse | undefined;
      let refusal: unknown;
      if (dry) {
        try {
          const trial = { ...body, dry_run: true };
          answer = await entities.transition(to.machine, to.entity, trial, { idempotencyKey: null });
        } catch (error) {
          if (!(error instanceof StatewrightError)) throw error;
          refusal = error;
        }
      }
      setForeseen({ explanation, answer, refusal, version: versionAt(tree, { to, ...body }) });
    });
  }, [time]);
  // What came is below the form: what matters of it shall be seen.
  useEffect(() => result.current?.scrollIntoView({ block: "nearest" }), [foreseen, sent, sending.error]);
  // The button that sent it is gone: the keyboard goes on from what came of it.
  useEffect(() => outcome.current?.focus(), [sent]);

  const send = (): void =>
    sending.run(async () => {
      setSent(await entities.transition(to.machine, to.entity, body, { idempotencyKey: key }));
    });

  const now = versionAt(tree, { to, ...body });
  const moved = foreseen?.version !== undefined && now !== undefined && now !== foreseen.version;
  const wouldApply = foreseen?.answer !== undefined && outcomeOf(foreseen.answer) === "applied";
  const at = (last: string): string => apiPath("machines", to.machine, "entities", to.entity, last);
  const post = (last: string, sentBody: object, headers?: CurlRequest["headers"]) => () => ({
    method: "POST",
    path: at(last),
    body: sentBody,
    ...(headers === undefined ? {} : { headers }),
  });
  return (
    <div class="con-send-intent stack" ref={result} aria-live="polite">
      {asking.error !== undefined && <Failure error={asking.error} what="It would be refused" />}
      {foreseen === undefined && asking.busy && <p class="loading">Asking what it would do…</p>}
      {foreseen !== undefined && asking.error === undefined && sent === undefined && (
        <>
          <Explained explanation={foreseen.explanation} />
          {foreseen.answer !== undefined && <OutcomeOf answer={foreseen.answer} />}
          {foreseen.refusal !== undefined && <Failure error={foreseen.refusal} what="It would be refused" />}
          {moved && (
            <p class="notice notice-warn">
              The entity has moved since: it was at version {foreseen.version}, and is at {now}. Check again
              before it is sent.
            </p>
          )}
        </>
      )}
      {foreseen !== undefined && asking.error === undefined && sent === undefined && refused && (
        <Failure error={sending.error} what="The service refused the event" />
      )}
      {foreseen !== undefined && asking.error === undefined && sent === undefined && dry && !refused && (
        <>
          {sending.error !== undefined && (
            <>
              <Failure error={sending.error} what="It is not known whether the event was applied" />
              <p class="muted">Sending it again is safe: it has the same key, and is applied once.</p>
            </>
          )}
          <div class="row">
            <Button
              icon={Send}
              kind={wouldApply && !moved ? "primary" : "plain"}
              busy={sending.busy}
              onClick={send}
            >
              {sending.error !== undefined
                ? "Send again"
                : wouldApply
                  ? `Send ${body.event_type}`
                  : "Send it all the same"}
            </Button>
          </div>
          <p class="con-send-key">
            Idempotency-Key <code>{key}</code>: sent twice, it is applied once.
          </p>
        </>
      )}
      {sent !== undefined && (
        <>
          <h3 ref={outcome} tabIndex={-1}>
            Sent: {body.event_type}
          </h3>
          <OutcomeOf answer={sent} />
          <p class="con-send-key">
            Idempotency-Key <a href={entityLink(to, "receipts", new URLSearchParams({ key }))}>{key}</a>
          </p>
          <div class="row">
            <Button onClick={onDone}>Send another event</Button>
          </div>
        </>
      )}
      {foreseen !== undefined && sent === undefined && <Waiting explanation={foreseen.explanation} />}
      <div class="row">
        <CopyCurl of="explain" request={post("explain", body)} />
        <CopyCurl of="send" request={post("transition", body, { "Idempotency-Key": key })} />
      </div>
    </div>
  );
}

/** Whether a request may have been applied though it failed. */
function isUnsure(error: unknown): boolean {
  return !(error instanceof StatewrightError) || error.status === 0 || error.status >= 500;
}
