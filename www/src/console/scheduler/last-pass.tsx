import type { components } from "statewright/client";
import type { JSX } from "preact";

import { Table } from "../../parts/table.tsx";
import { moment, span } from "../../parts/time.tsx";
import { Ago } from "../ago.tsx";

type Pass = components["schemas"]["Pass"];

interface Fact {
  readonly name: string;
  readonly value: JSX.Element | string;
  readonly meaning: string;
}

/** What the scanner did last; it is the whole service's. */
export function LastPass({ pass, now }: { pass: Pass | null; now: number | undefined }): JSX.Element {
  return (
    <section class="stack">
      <h2>Last pass</h2>
      {pass === null ? (
        <p class="empty">There was none.</p>
      ) : (
        <Table
          caption="Last pass"
          keyOf={({ name }) => name}
          rows={factsOf(pass, now)}
          empty=""
          columns={[
            { head: "What", cell: ({ name }) => name },
            { head: "Value", align: "end", cell: ({ value }) => value },
            { head: "It says", cell: ({ meaning }) => <span class="muted">{meaning}</span> },
          ]}
        />
      )}
    </section>
  );
}

function factsOf(pass: Pass, now: number | undefined): readonly Fact[] {
  const count = (value: number) => value.toLocaleString("en");
  return [
    { name: "At", value: <Ago at={pass.at} now={now} />, meaning: `${moment(pass.at)} UTC` },
    { name: "Scanned", value: count(pass.scanned), meaning: "due timers that it read" },
    { name: "Due", value: count(pass.due), meaning: "entities they belong to" },
    { name: "Fired", value: count(pass.fired), meaning: "timeouts that it applied" },
    {
      name: "Stale",
      value: count(pass.stale),
      meaning: "entities that changed at that moment; the next pass has them",
    },
    { name: "Parked", value: count(pass.parked), meaning: "timers whose commit was refused" },
    { name: "Errors", value: count(pass.failed), meaning: "entities whose timers failed" },
    { name: "Rearmed", value: count(pass.rearmed), meaning: "entities whose due times a revision changed" },
    { name: "Lag", value: span(pass.lag_ms), meaning: "how late the oldest timer was" },
    {
      name: "More",
      value: pass.more ? "yes" : "no",
      meaning: pass.more
        ? "more was due than a pass takes; the next one followed at once"
        : "it took all that was due",
    },
  ];
}
