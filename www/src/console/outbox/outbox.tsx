import "./outbox.css";

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { apiPath } from "../curl.ts";
import { CopyCurl } from "../entity/copy-curl.tsx";
import { EffectDialog } from "../entity/outbox-rows.tsx";
import { LiveFailure } from "../live-failure.tsx";
import { useLive } from "../live.ts";
import { useMachineNames } from "../machines/names.ts";
import { place, replacePlace, visit } from "../place.ts";
import { type Filters, queryOf, readFilters, writeFilters } from "./filters.ts";
import { ManyActions } from "./many.tsx";
import { OutboxCounts } from "./outbox-counts.tsx";
import { OutboxFilters } from "./outbox-filters.tsx";
import { OutboxTable } from "./outbox-table.tsx";
import { readOutbox } from "./reading.ts";

const STEP = 50;
/** The name of the filter of the fragment that opens an effect. */
const OPENED = "effect";

/** What the tenant's machines called for, and what became of it. */
export function OutboxView(): JSX.Element {
  const filters = readFilters(place.value.filters);
  const opened = place.value.filters.get(OPENED);
  const key = writeFilters(filters).toString();
  const [asked, setAsked] = useState({ key, steps: 1 });
  // Other filters begin with the first rows again.
  const steps = asked.key === key ? asked.steps : 1;
  const live = useLive(
    (signal) => readOutbox(queryOf(filters, Date.now()), { count: steps * STEP, signal }),
    [key, steps],
    { keep: true },
  );
  const machines = useMachineNames();
  const { value } = live;
  const change = (to: Filters) => replacePlace(["outbox"], writeFilters(to));
  const open = (id: string | undefined) => {
    const to = writeFilters(filters);
    if (id !== undefined) to.set(OPENED, id);
    visit(["outbox"], to);
  };
  return (
    <div class="stack con-outbox">
      <div class="con-head">
        <h1>Outbox</h1>
        <CopyCurl
          request={() => ({
            method: "GET",
            path: apiPath("outbox"),
            query: { ...queryOf(filters, Date.now()), limit: STEP },
          })}
        />
      </div>
      <LiveFailure live={live} what="the outbox" />
      {value !== undefined && (
        <>
          <OutboxCounts
            counts={value.counts}
            oldestPending={value.oldestPending}
            now={live.at}
            status={filters.status}
            onStatus={(status) => change({ ...filters, status })}
          />
          <OutboxFilters filters={filters} onChange={change} />
          <ManyActions filters={filters} counts={value.counts} />
          <OutboxTable
            rows={value.items}
            now={live.at}
            machines={machines}
            onOpen={open}
            empty={emptyText(key === "", value.more)}
          />
          <div class="row">
            {value.more && (
              <Button
                onClick={() => setAsked({ key, steps: steps + 1 })}
                busy={live.loading && steps * STEP > value.items.length}
              >
                Load more
              </Button>
            )}
            <span class="muted" role="status">
              {tallyText(value.items.length, value.more, filters)}
            </span>
          </div>
        </>
      )}
      {opened !== null && <EffectDialog key={opened} id={opened} onClose={() => open(undefined)} />}
    </div>
  );
}

function emptyText(unfiltered: boolean, more: boolean): string {
  if (more) return "None of the effects that were looked at fits these filters. There are others.";
  return unfiltered
    ? "Nothing was called for yet: no machine has an action, and nobody subscribes."
    : "No effect fits these filters.";
}

function tallyText(count: number, more: boolean, { status }: Filters): string {
  if (count === 0) return "";
  const order = status === "pending" ? "oldest" : "newest";
  if (more) return `The ${order} ${count.toLocaleString("en")} are shown.`;
  return count === 1 ? "1 effect" : `${count.toLocaleString("en")} effects, the ${order} first`;
}
