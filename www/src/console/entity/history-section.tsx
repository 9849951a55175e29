import { History } from "lucide";
import type { JsonDefinition } from "statewright";
import type { HistoryRow } from "statewright/client";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { counted } from "../../parts/counted.ts";
import { Failure } from "../../parts/failure.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Json } from "../../parts/json.tsx";
import { Time } from "../../parts/time.tsx";
import { causeOf } from "../../simulator/panels/history-words.ts";
import { apiPath } from "../curl.ts";
import { useActing } from "./acting.ts";
import { CopyCurl } from "./copy-curl.tsx";
import { type HistoryPage, PAGE, readHistory } from "./history-pages.ts";
import type { NewestHistory } from "./newest-history.ts";
import { entityLink, type Subject } from "./subject.ts";
import { commitsOf } from "./commits.ts";
import { actionText } from "./words.ts";

interface HistorySectionProps {
  readonly subject: Subject;
  readonly newest: NewestHistory;
  readonly definitions: readonly JsonDefinition[];
}

/** What happened to the entity, the newest first. */
export function HistorySection({ subject, newest, definitions }: HistorySectionProps): JSX.Element {
  const [older, setOlder] = useState<HistoryPage>();
  const { busy, error, run } = useActing();
  const { value } = newest;
  const last = value?.rows.at(-1)?.id;
  // What was read behind another page's end could leave a gap to this one's.
  useEffect(() => setOlder(undefined), [last]);
  if (value === undefined) {
    if (newest.error !== undefined) return <Failure error={newest.error} what="Could not read the history" />;
    return <p class="loading">Reading the history…</p>;
  }
  const rows = [...value.rows, ...(older?.rows ?? [])];
  const next = older === undefined ? value.older : older.older;
  const { machine, entity } = subject;
  const more = () =>
    run(async () => {
      const page = await readHistory(subject, new AbortController().signal, next);
      setOlder({ rows: [...(older?.rows ?? []), ...page.rows], older: page.older });
    });
  return (
    <div class="stack">
      <div class="row con-entity-between">
        <p class="muted">
          {rows.length === 0
            ? "Nothing has moved the entity since it was made."
            : `${counted(rows.length, "row")}${next === undefined ? ", to its beginning" : ""}. The newest is first.`}
        </p>
        <CopyCurl
          request={() => ({
            method: "GET",
            path: apiPath("machines", machine, "entities", entity, "history"),
            query: { order: "newest", limit: PAGE },
          })}
        />
      </div>
      <ol class="con-entity-history" aria-label="History, the newest first">
        {commitsOf(rows).map((commit) => (
          <Commit key={commit[0]?.id} rows={commit} subject={subject} definitions={definitions} />
        ))}
      </ol>
      {error !== undefined && <Failure error={error} what="Could not read older rows" />}
      {next !== undefined && (
        <p>
          <Button icon={History} busy={busy} onClick={more}>
            Show older rows
          </Button>
        </p>
      )}
    </div>
  );
}

interface CommitProps {
  readonly rows: readonly HistoryRow[];
  readonly subject: Subject;
  readonly definitions: readonly JsonDefinition[];
}

/** What one commit wrote: what set it off, and what came of that. */
function Commit({ rows, subject, definitions }: CommitProps): JSX.Element {
  const [first] = rows;
  return (
    <li>
      {first !== undefined && (
        <p class="con-entity-when">
          <Time at={first.timestamp} />
        </p>
      )}
      <ol class="con-entity-rows">
        {rows.map((row) => (
          <Row key={row.id} row={row} subject={subject} definitions={definitions} />
        ))}
      </ol>
    </li>
  );
}

interface RowProps {
  readonly row: HistoryRow;
  readonly subject: Subject;
  readonly definitions: readonly JsonDefinition[];
}

function Row({ row, subject, definitions }: RowProps): JSX.Element {
  const { kind, words } = causeOf(row, definitions);
  const { actions_dispatched: actions } = row;
  return (
    <li>
      <p class="con-entity-move">
        <span class="con-entity-fromto">
          {row.region !== "_" && <span class="con-entity-region">{row.region}</span>}
          {row.from_state} → {row.to_state}
        </span>
        <span class="con-entity-cause">
          {kind === "event" ? (
            <>
              event <strong>{words}</strong>
            </>
          ) : (
            words
          )}
        </span>
      </p>
      {actions.length > 0 && (
        <ul class="con-entity-actions" aria-label="Actions called for">
          {actions.map((action, at) => (
            <li key={at}>{actionText(action)}</li>
          ))}
        </ul>
      )}
      <details>
        <summary>Row {row.id}</summary>
        <div class="stack con-entity-row">
          <dl class="con-details">
            <dt>Identity</dt>
            <dd>
              <code>{row.identity_key}</code>
            </dd>
            <dt>Timestamp</dt>
            <dd>{row.timestamp}</dd>
            <dt>Committed</dt>
            <dd>
              <Time at={row.created_at} />
            </dd>
            <dt>Revision</dt>
            <dd>{row.revision}</dd>
            {row.cause.by !== undefined && row.cause.by !== null && (
              <>
                <dt>Set off by</dt>
                <dd>
                  <code>{row.cause.by}</code>
                </dd>
              </>
            )}
          </dl>
          {Object.keys(row.event_params).length === 0 ? (
            <p class="muted">It had no params.</p>
          ) : (
            <Json value={row.event_params} label={`Params of row ${row.id}`} />
          )}
          <p>
            <a href={entityLink(subject, "receipts", new URLSearchParams({ key: row.identity_key }))}>
              <Icon icon={History} /> What became of it, and its outbox rows
            </a>
          </p>
        </div>
      </details>
    </li>
  );
}
