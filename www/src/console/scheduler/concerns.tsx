import type { JSX } from "preact";

import { span } from "../../parts/time.tsx";
import { bounded } from "../outbox/words.ts";
import type { Concern } from "./verdict.ts";

/** What an operator has to know first: that all is well, or what is not. */
export function Concerns({ concerns, now }: { concerns: readonly Concern[]; now: number }): JSX.Element {
  if (concerns.length === 0) {
    return (
      <p class="notice" role="status">
        <span>
          <span class="badge badge-good">well</span> The scanner runs, and no timer of this tenant is late or
          in trouble.
        </span>
      </p>
    );
  }
  return (
    <div class="notice notice-warn" role="status">
      <ul class="con-scheduler-concerns">
        {concerns.map((concern) => (
          <li key={concern.is}>
            <Said concern={concern} now={now} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Said({ concern, now }: { concern: Concern; now: number }): JSX.Element {
  switch (concern.is) {
    case "never":
      return (
        <>
          <strong>The scanner has made no pass yet.</strong> Where the service has run for more than a minute,
          its cron trigger does not run. {MEANWHILE}
        </>
      );
    case "silent":
      return (
        <>
          {/* In whole minutes: it is said again when it changes. */}
          <strong>The last pass was {span(Math.floor((now - concern.since) / 60_000) * 60_000)} ago</strong>:
          it seems that the cron trigger does not run, unless the clock of this browser is wrong. {MEANWHILE}
        </>
      );
    case "late":
      return (
        <>
          <strong>{timers(concern)} more than a minute overdue.</strong> The scanner is behind, or does not
          run.
        </>
      );
    case "parked":
      return (
        <>
          <strong>{timers(concern)} parked:</strong> their commits are refused, and not tried again by
          themselves.
        </>
      );
    case "failing":
      return (
        <>
          <strong>{timers(concern)} failing</strong> and tried again later and later, at most an hour apart.
        </>
      );
  }
}

const MEANWHILE =
  "A timeout is applied before any later event of its entity all the same, with the time at which it was due; what waits is what nobody asked for: lists, histories, and effects that are tried again.";

function timers({ timers: count, more }: { readonly timers: number; readonly more: boolean }): string {
  return `${bounded(count, more)} ${count === 1 && !more ? "timer is" : "timers are"}`;
}
