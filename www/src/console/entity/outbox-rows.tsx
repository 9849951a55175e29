import "./entity.css";

import { Ban, RotateCcw, Send } from "lucide";
import type { OutboxEntry, OutboxItem } from "statewright/client";
import type { JSX } from "preact";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Json } from "../../parts/json.tsx";
import { Dialog, tell } from "../../parts/overlays.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { apiPath } from "../curl.ts";
import { useLive } from "../live.ts";
import { client } from "../service.ts";
import { useActing } from "./acting.ts";
import { CopyCurl } from "./copy-curl.tsx";
import { entityLink } from "./subject.ts";

const STATUS = {
  pending: "badge-live",
  done: "badge-good",
  skipped: "",
  dead: "badge-bad",
  cancelled: "badge-warn",
} as const;

/** What became of an effect, and what it waits for. */
export function EffectStatus({ item }: { item: OutboxItem }): JSX.Element {
  return (
    <>
      <span class={`badge ${STATUS[item.status]}`}>{item.status}</span>
      {item.phase !== null && <span class="muted"> {item.phase}</span>}
    </>
  );
}

/** One effect: what is sent, each attempt, and what can be done about it. */
export function EffectDialog({ id, onClose }: { id: string; onClose: () => void }): JSX.Element {
  const live = useLive((signal) => client().outbox.get(id, { signal }), [id]);
  const { value, error } = live;
  return (
    <Dialog title={value === undefined ? "Effect" : `${value.kind} to ${value.sink}`} onClose={onClose} wide>
      <div class="dialog-body">
        {error !== undefined && <Failure error={error} what="Could not read the effect" />}
        {value === undefined ? (
          error === undefined && <p class="loading">Reading…</p>
        ) : (
          <Effect entry={value} />
        )}
      </div>
      <div class="dialog-actions">
        <CopyCurl request={() => ({ method: "GET", path: apiPath("outbox", id) })} />
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Effect({ entry }: { entry: OutboxEntry }): JSX.Element {
  return (
    <>
      <dl class="con-details">
        <dt>Status</dt>
        <dd>
          <EffectStatus item={entry} />
        </dd>
        <dt>Id</dt>
        <dd>
          <code>{entry.id}</code>
        </dd>
        <dt>Called for by</dt>
        <dd>
          {/* A state record has no view. */}
          {entry.effect["type"] === "record.transition" ? (
            entry.entity_id
          ) : (
            <a href={entityLink({ machine: entry.machine_id, entity: entry.entity_id })}>{entry.entity_id}</a>
          )}{" "}
          <span class="muted">
            of {entry.machine_id}, version {entry.version}
          </span>
        </dd>
        <dt>Made</dt>
        <dd>
          <Time at={entry.created_at} />
        </dd>
        {entry.due_at !== null && (
          <>
            <dt>Due</dt>
            <dd>
              <Time at={entry.due_at} />
            </dd>
          </>
        )}
        {entry.finished_at !== null && (
          <>
            <dt>Over</dt>
            <dd>
              <Time at={entry.finished_at} />
            </dd>
          </>
        )}
        {entry.error !== null && (
          <>
            <dt>Error</dt>
            <dd>{entry.error}</dd>
          </>
        )}
      </dl>
      <EffectActions item={entry} />
      <h3>Attempts</h3>
      <div class="con-entity-attempts">
        <Table
          caption="Attempts"
          keyOf={({ attempt }) => attempt}
          rows={entry.attempts}
          empty="It has not been tried."
          columns={[
            { head: "Attempt", align: "end", cell: ({ attempt }) => attempt },
            { head: "At", cell: ({ at }) => <Time at={at} /> },
            { head: "Took", align: "end", cell: ({ ms }) => `${ms} ms` },
            { head: "Answer", cell: ({ status }) => status ?? <span class="muted">none</span> },
            { head: "Error", cell: ({ error }) => error ?? "" },
            { head: "Body", cell: ({ body }) => body !== undefined && body !== null && <code>{body}</code> },
          ]}
        />
      </div>
      <h3>What is sent</h3>
      <Json value={entry.effect} label="What is sent" />
    </>
  );
}

/** Sends it again, or calls it off: whichever its status allows. */
export function EffectActions({ item }: { item: OutboxItem }): JSX.Element {
  const { busy, error, run } = useActing();
  const redrive = () =>
    run(async ({ client, ask }) => {
      const yes = await ask({
        title: "Redrive the effect?",
        body: (
          <p>
            It becomes pending again with all its tries, under the same id, and is sent to {item.sink}. A
            receiver that had it already can tell by the id.
          </p>
        ),
        action: "Redrive",
      });
      if (!yes) return;
      await client.outbox.redrive(item.id);
      tell("The effect is pending again");
    });
  // It would be sent anyway, and later.
  const sendNow = () =>
    run(async ({ client }) => {
      await client.outbox.redrive(item.id);
      tell("The effect is due now");
    });
  const cancel = () =>
    run(async ({ client, ask }) => {
      const yes = await ask({
        title: "Cancel the effect?",
        body: (
          <p>
            It is not sent to {item.sink} any more, unless it is redriven. If it is being sent right now, it
            may arrive all the same. The entity stays where it is.
          </p>
        ),
        action: "Cancel the effect",
        danger: true,
      });
      if (!yes) return;
      const { may_be_delivered } = await client.outbox.cancel(item.id);
      tell(may_be_delivered ? "Cancelled while it was being sent: it may have been delivered" : "Cancelled");
    });
  return (
    <>
      <div class="row">
        {item.status === "pending" ? (
          <>
            {item.phase === "waiting" && (
              <Button icon={Send} busy={busy} onClick={sendNow}>
                Send now
              </Button>
            )}
            <Button icon={Ban} kind="danger" busy={busy} onClick={cancel}>
              Cancel
            </Button>
          </>
        ) : (
          item.status !== "done" && (
            <Button icon={RotateCcw} busy={busy} onClick={redrive}>
              Redrive
            </Button>
          )
        )}
      </div>
      {error !== undefined && <Failure error={error} what="The service refused it" />}
    </>
  );
}
