import { Search } from "lucide";
import { type Receipt, StatewrightError } from "statewright/client";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { TextField } from "../../parts/field.tsx";
import { apiPath } from "../curl.ts";
import { refreshAll, useLive } from "../live.ts";
import { place, replacePlace } from "../place.ts";
import { client } from "../service.ts";
import { CopyCurl } from "./copy-curl.tsx";
import { EffectDialog } from "./outbox-rows.tsx";
import { ReceiptCard } from "./receipt-card.tsx";
import type { Subject } from "./subject.ts";

/** An event's identity begins so: it is one within its entity. */
function queryOf(key: string, { machine, entity }: Subject): { machine?: string; entity?: string } {
  return key.startsWith("[") ? { machine, entity } : {};
}

/** The receipts of a key; none where nothing is kept for it. */
async function readReceipts(key: string, subject: Subject, signal: AbortSignal): Promise<readonly Receipt[]> {
  try {
    return await client().receipts(key, queryOf(key, subject), { signal });
  } catch (refused) {
    if (!(refused instanceof StatewrightError) || refused.code !== "NOT_FOUND") throw refused;
    return [];
  }
}

/** What became of a request by its Idempotency-Key, or of an event by its identity. */
export function ReceiptsSection({ subject }: { subject: Subject }): JSX.Element {
  const asked = place.value.filters.get("key") ?? "";
  const [key, setKey] = useState(asked);
  const { machine, entity } = subject;
  useEffect(() => setKey(asked), [asked]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (key === "") return;
    if (key === asked) refreshAll();
    else replacePlace(["entity", machine, entity, "receipts"], new URLSearchParams({ key }));
  };
  return (
    <div class="stack">
      <form class="con-entity-ask" onSubmit={submit}>
        <TextField
          label="Idempotency-Key, or the identity of an event"
          value={key}
          onInput={setKey}
          hint="Keys are kept for seven days; the identities of events for as long as the entity is there. The history has them."
        />
        <div class="row">
          <Button type="submit" icon={Search} disabled={key === ""}>
            Read receipts
          </Button>
          {key !== "" && (
            <CopyCurl
              request={() => ({
                method: "GET",
                path: apiPath("receipts", key),
                query: queryOf(key, subject),
              })}
            />
          )}
        </div>
      </form>
      {asked !== "" && <Receipts key={asked} asked={asked} subject={subject} />}
    </div>
  );
}

function Receipts({ asked, subject }: { asked: string; subject: Subject }): JSX.Element {
  const { value, error } = useLive((signal) => readReceipts(asked, subject, signal), [asked, subject]);
  const [opened, setOpened] = useState<string>();
  return (
    <div class="stack" aria-live="polite">
      {error !== undefined && <Failure error={error} what="Could not read receipts" />}
      {value === undefined && error === undefined && <p class="loading">Reading receipts…</p>}
      {value?.length === 0 && (
        <p class="empty">
          Nothing is kept for <code>{asked}</code>: no request or event had it, or it is forgotten.
        </p>
      )}
      {value?.map((receipt, at) => (
        <ReceiptCard key={at} receipt={receipt} onEffect={setOpened} />
      ))}
      {opened !== undefined && <EffectDialog id={opened} onClose={() => setOpened(undefined)} />}
    </div>
  );
}
