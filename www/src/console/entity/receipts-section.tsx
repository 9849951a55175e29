import { Search } from "lucide";
import { type Receipt, StatewrightError } from "statewright/client";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { TextField } from "../../parts/field.tsx";
import { apiPath } from "../curl.ts";
import { place, replacePlace } from "../place.ts";
import { client } from "../service.ts";
import { useActing } from "./acting.ts";
import { CopyCurl } from "./copy-curl.tsx";
import { EffectDialog } from "./outbox-rows.tsx";
import { ReceiptCard } from "./receipt-card.tsx";
import type { Subject } from "./subject.ts";

/** An event's identity begins so: it is one within its entity. */
function queryOf(key: string, { machine, entity }: Subject): { machine?: string; entity?: string } {
  return key.startsWith("[") ? { machine, entity } : {};
}

/** What became of a request by its Idempotency-Key, or of an event by its identity. */
export function ReceiptsSection({ subject }: { subject: Subject }): JSX.Element {
  const asked = place.value.filters.get("key") ?? "";
  const [key, setKey] = useState(asked);
  const [read, setRead] = useState<{ key: string; receipts: readonly Receipt[] }>();
  const [opened, setOpened] = useState<string>();
  const { busy, error, run } = useActing();
  const { machine, entity } = subject;
  const look = (wanted: string) =>
    run(async () => {
      setRead(undefined);
      try {
        setRead({ key: wanted, receipts: await client().receipts(wanted, queryOf(wanted, subject)) });
      } catch (refused) {
        if (!(refused instanceof StatewrightError) || refused.code !== "NOT_FOUND") throw refused;
        setRead({ key: wanted, receipts: [] });
      }
    });
  useEffect(() => {
    if (asked === "") return;
    setKey(asked);
    look(asked);
  }, [asked]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (key === "") return;
    if (key === asked) look(key);
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
          <Button type="submit" icon={Search} busy={busy} disabled={key === ""}>
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
      <div class="stack" aria-live="polite">
        {error !== undefined && <Failure error={error} what="Could not read receipts" />}
        {read?.receipts.length === 0 && (
          <p class="empty">
            Nothing is kept for <code>{read.key}</code>: no request or event had it, or it is forgotten.
          </p>
        )}
        {read?.receipts.map((receipt, at) => (
          <ReceiptCard key={at} receipt={receipt} onEffect={setOpened} />
        ))}
      </div>
      {opened !== undefined && <EffectDialog id={opened} onClose={() => setOpened(undefined)} />}
    </div>
  );
}
