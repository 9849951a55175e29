import type { Scheduler } from "statewright/client";
import type { JSX } from "preact";

import { Table } from "../../parts/table.tsx";
import { span } from "../../parts/time.tsx";
import { bounded } from "../outbox/words.ts";
import { isLate, MOST_COUNTED } from "./verdict.ts";

type Bucket = Scheduler["overdue"][number];

/** How many of the tenant's timers are overdue, and by how much: a table whose numbers are drawn as bars too. */
export function Overdue({ buckets }: { buckets: readonly Bucket[] }): JSX.Element {
  const most = Math.max(1, ...buckets.map(({ timers }) => timers));
  return (
    <section class="stack">
      <h2>Overdue timers</h2>
      <Table
        caption="Overdue timers by how late they are"
        keyOf={({ from_ms }) => from_ms}
        rows={buckets}
        empty="The service names no lateness."
        columns={[
          { head: "Overdue by", cell: (bucket) => <span class="con-whole">{lateness(bucket)}</span> },
          { head: "Timers", align: "end", cell: ({ timers }) => bounded(timers, timers >= MOST_COUNTED) },
          { head: "Compared", cell: (bucket) => <Bar bucket={bucket} most={most} /> },
        ]}
      />
      <p class="field-hint">
        What is due waits for the next pass: seconds are nothing to worry about. Above a minute the scanner is
        behind.
      </p>
    </section>
  );
}

function lateness({ from_ms, to_ms }: Bucket): string {
  if (to_ms === null) return `${span(from_ms)} or more`;
  return from_ms === 0 ? `up to ${span(to_ms)}` : `${span(from_ms)} to ${span(to_ms)}`;
}

/** The number beside it, drawn: nothing for those who cannot see it to miss. */
function Bar({ bucket, most }: { bucket: Bucket; most: number }): JSX.Element {
  const { timers } = bucket;
  return (
    <span class="con-scheduler-track" aria-hidden="true">
      <span
        class={isLate(bucket) ? "con-scheduler-bar con-scheduler-late" : "con-scheduler-bar"}
        style={{ width: `${(100 * timers) / most}%` }}
      />
    </span>
  );
}
