import type { OutboxItem } from "statewright/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { SelectField } from "../../parts/field.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../ago.tsx";
import { apiPath } from "../curl.ts";
import { useLive } from "../live.ts";
import { client } from "../service.ts";
import { useActing } from "./acting.ts";
import { CopyCurl } from "./copy-curl.tsx";
import { EffectActions, EffectDialog, EffectStatus } from "./outbox-rows.tsx";
import type { Subject } from "./subject.ts";

const STATUSES = ["pending", "done", "skipped", "dead", "cancelled"] as const;
const PAGE = 50;

type Status = (typeof STATUSES)[number];

/** What the entity called for, and what became of it. */
export function OutboxSection({ subject: { machine, entity } }: { subject: Subject }): JSX.Element {
  const [status, setStatus] = useState<Status>();
  const [opened, setOpened] = useState<string>();
  const [older, setOlder] = useState<{
    of: unknown;
    items: readonly OutboxItem[];
    next: string | undefined;
  }>();
  const { busy, error, run } = useActing();
  const query = { machine, entity, limit: PAGE, ...(status === undefined ? {} : { status }) };
  const live = useLive(
    async (signal) => {
      const { items, next } = await client().outbox.list(query, { signal });
      return { items, next };
    },
    [machine, entity, status],
    { keep: true },
  );
  const { value } = live;
  // Older pages go on from the page that they were read behind.
  const behind = older?.of === value ? older : undefined;
  const next = behind === undefined ? value?.next : behind.next;
  const more = () =>
    run(async () => {
      if (next === undefined) return;
      const page = await client().outbox.list({ ...query, cursor: next });
      setOlder({ of: value, items: [...(behind?.items ?? []), ...page.items], next: page.next });
    });
  return (
    <div class="stack">
      <div class="row con-entity-between">
        <SelectField
          label="Status"
          value={status ?? ""}
          options={[{ value: "", label: "any" }, ...STATUSES.map((each) => ({ value: each, label: each }))]}
          onSelect={(chosen) => setStatus(STATUSES.find((each) => each === chosen))}
        />
        <CopyCurl request={() => ({ method: "GET", path: apiPath("outbox"), query })} />
      </div>
      {live.error !== undefined && <Failure error={live.error} what="Could not read the outbox" />}
      {value === undefined ? (
        live.error === undefined && <p class="loading">Reading the outbox…</p>
      ) : (
        <Table
          caption="Outbox rows of the entity"
          keyOf={({ id }) => id}
          rows={[...value.items, ...(behind?.items ?? [])]}
          empty={status === undefined ? "The entity has called for nothing yet." : `Nothing is ${status}.`}
          columns={[
            {
              head: "Effect",
              cell: (item) => (
                <>
                  <button
                    type="button"
                    class="con-entity-link con-entity-effect"
                    onClick={() => setOpened(item.id)}
                  >
                    {item.kind} to {item.sink}
                  </button>
                  {item.error !== null && <p class="con-entity-why">{item.error}</p>}
                </>
              ),
            },
            { head: "Status", cell: (item) => <EffectStatus item={item} /> },
            { head: "Version", align: "end", cell: ({ version }) => version },
            { head: "Tries", align: "end", cell: ({ attempt }) => attempt },
            { head: "Made", cell: ({ created_at }) => <Ago at={created_at} now={live.at} /> },
            { head: "Actions", cell: (item) => <EffectActions item={item} /> },
          ]}
        />
      )}
      {error !== undefined && <Failure error={error} what="Could not read older rows" />}
      {next !== undefined && (
        <p>
          <Button busy={busy} onClick={more}>
            Show older rows
          </Button>
        </p>
      )}
      {opened !== undefined && <EffectDialog id={opened} onClose={() => setOpened(undefined)} />}
    </div>
  );
}
