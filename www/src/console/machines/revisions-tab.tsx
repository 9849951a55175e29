import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Revision } from "statewright/client";

import { JsonDiff } from "../../editor/diff.tsx";
import { Button } from "../../parts/button.tsx";
import { SelectField } from "../../parts/field.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../ago.tsx";
import { LiveFailure } from "../live-failure.tsx";
import { useLive } from "../live.ts";
import { firstRows, pageSize } from "../paging.ts";
import { client } from "../service.ts";
import { definitionText } from "./definition-text.ts";
import type { TabProps } from "./machine.tsx";

const STEP = 50;

/** The revisions, the newest first, and what is between any two of them. */
export function RevisionsTab({ machine, stale }: TabProps): JSX.Element {
  const { machine_id: id } = machine;
  const [count, setCount] = useState(STEP);
  const live = useLive(
    (signal) => firstRows(client().machines.revisions(id, { limit: pageSize(count) }, { signal }), count),
    [id, count],
    { keep: true },
  );
  const { value } = live;
  return (
    <div class="stack">
      <LiveFailure live={live} what="the revisions" told={stale} />
      {value !== undefined && (
        <>
          <div class="con-revisions">
            <Table
              caption={`Revisions of ${id}`}
              rows={value.items}
              keyOf={(row) => row.revision}
              columns={columnsOf(live.at)}
              empty="It has no revisions."
            />
          </div>
          {value.more && (
            <div class="row">
              <Button onClick={() => setCount(value.items.length + STEP)}>Load more</Button>
              <span class="muted">The newest {value.items.length} are shown.</span>
            </div>
          )}
          {value.items.length > 1 ? (
            <Comparison revisions={value.items} />
          ) : (
            <p class="muted">With a second revision, the two can be compared here.</p>
          )}
        </>
      )}
    </div>
  );
}

function columnsOf(now: number | undefined) {
  return [
    {
      head: "Revision",
      cell: ({ revision }: Revision) => revision,
    },
    {
      head: "Label",
      cell: ({ label }: Revision) => (
        <span class="con-cut" title={label}>
          {label ?? "–"}
        </span>
      ),
    },
    { head: "Entities made on it run by", cell: runsBy },
    {
      head: "Hash",
      cell: ({ content_hash }: Revision) => (
        <code class="con-hash" title={content_hash}>
          {content_hash.replace(/^sha256:/, "").slice(0, 12)}
        </code>
      ),
    },
    {
      head: "Made",
      cell: ({ created_at }: Revision) => <Ago at={created_at} now={now} />,
    },
  ];
}

function runsBy({ head, effective, revision }: Revision): JSX.Element {
  return (
    <span class="con-whole">
      {effective === revision ? "this one" : `revision ${effective}`}
      {head && <span class="badge badge-good con-beside">new ones start here</span>}
    </span>
  );
}

function nameOf({ revision, label }: Revision): string {
  return label === undefined ? `Revision ${revision}` : `Revision ${revision}, ${label}`;
}

function Comparison({ revisions }: { revisions: readonly Revision[] }): JSX.Element {
  const [chosen, setChosen] = useState<{ readonly before?: number; readonly after?: number }>({});
  const after = revisions.find(({ revision }) => revision === chosen.after) ?? revisions[0];
  const others = revisions.filter((one) => one !== after);
  const before = revisions.find(({ revision }) => revision === chosen.before) ?? others[0];
  const options = revisions.map((one) => ({ value: String(one.revision), label: nameOf(one) }));
  const texts = useMemo(() => {
    return {
      before: before === undefined ? "" : definitionText(before.definition),
      after: after === undefined ? "" : definitionText(after.definition),
    };
  }, [before?.content_hash, after?.content_hash]);
  if (before === undefined || after === undefined) return <></>;
  return (
    <section class="stack" aria-label="Comparison">
      <h2>Compare</h2>
      <div class="con-filters">
        <SelectField
          label="Before"
          value={String(before.revision)}
          options={options}
          onSelect={(to) => setChosen({ ...chosen, before: Number(to) })}
        />
        <SelectField
          label="After"
          value={String(after.revision)}
          options={options}
          onSelect={(to) => setChosen({ ...chosen, after: Number(to) })}
        />
      </div>
      <JsonDiff
        key={`${before.revision} ${after.revision}`}
        before={texts.before}
        after={texts.after}
        beforeLabel={nameOf(before)}
        afterLabel={nameOf(after)}
      />
    </section>
  );
}
