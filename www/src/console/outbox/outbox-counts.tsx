import type { JSX } from "preact";

import { Ago } from "../ago.tsx";
import { type Status, STATUSES } from "./filters.ts";
import type { Outbox } from "./reading.ts";
import { bounded } from "./words.ts";

/** Up to so many are counted. */
const MOST = 10_000;
/** Pending for longer than that means that somebody does not answer. */
const LONG = 3_600_000;

const MEANING: Readonly<Record<Status, string>> = {
  pending: "not there yet",
  dead: "given up",
  cancelled: "called off",
  skipped: "nobody asked",
  done: "accepted",
};

export interface OutboxCountsProps extends Pick<Outbox, "counts" | "oldestPending"> {
  readonly now: number | undefined;
  readonly status: Status | undefined;
  readonly onStatus: (status: Status | undefined) => void;
}

/** How many effects of the tenant have which status; a status that is pressed is the filter. */
export function OutboxCounts(props: OutboxCountsProps): JSX.Element {
  const { counts, oldestPending, now, status, onStatus } = props;
  const long = oldestPending !== null && now !== undefined && now - oldestPending > LONG;
  return (
    <section class="stack" aria-label="Of the tenant">
      <div class="con-outbox-counts" role="group" aria-label="Status">
        {STATUSES.map((each) => (
          <button
            key={each}
            type="button"
            class={`con-outbox-count con-outbox-${each}`}
            aria-pressed={each === status}
            data-some={counts[each] > 0}
            onClick={() => onStatus(each === status ? undefined : each)}
          >
            <strong>{bounded(counts[each], counts[each] >= MOST)}</strong>
            <span>
              {each}
              <small>{MEANING[each]}</small>
            </span>
          </button>
        ))}
      </div>
      <p class={long ? "notice notice-warn" : "muted"}>
        {oldestPending === null ? (
          "Nothing is pending."
        ) : (
          <span>
            The oldest pending effect was made <Ago at={oldestPending} now={now} />
            {long
              ? ": somebody does not answer, or the cron trigger does not run. Look at the pending ones, and at the scheduler."
              : "."}
          </span>
        )}
      </p>
    </section>
  );
}
