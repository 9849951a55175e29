import "./sources.css";

import { Plus } from "lucide";
import type { Source } from "statewright/client";
import type { JSX } from "preact";

import { Icon } from "../../parts/icon.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../ago.tsx";
import { apiPath } from "../curl.ts";
import { CopyCurl } from "../entity/copy-curl.tsx";
import { lazyView } from "../lazy-view.tsx";
import { LiveFailure } from "../live-failure.tsx";
import { useLive } from "../live.ts";
import { consoleLink, place } from "../place.ts";
import { client } from "../service.ts";
import { useArrival } from "./arrival.ts";
import { totalOf } from "./definition.ts";
import { SourceView } from "./source.tsx";
import { Takes } from "./takes.tsx";

const PutSource = lazyView("the editor", () => import("./put-source.tsx").then((of) => of.PutSource));

/** Where webhooks come in: all sources, or the one that the address names. */
export function SourcesView(): JSX.Element {
  const [, id] = place.value.path;
  if (id !== undefined) return <SourceView id={id} />;
  if (place.value.filters.has("new")) return <PutSource before={undefined} />;
  return <Sources />;
}

function Sources(): JSX.Element {
  const heading = useArrival();
  const live = useLive(async (signal) => (await client().sources.list({ signal })).items, []);
  const { value } = live;
  return (
    <div class="stack">
      <div class="con-head">
        <h1 ref={heading} tabIndex={-1}>
          Sources
        </h1>
        <div class="con-actions">
          <CopyCurl request={() => ({ method: "GET", path: apiPath("sources") })} />
          <a
            class="button button-primary con-link-button"
            href={consoleLink(["sources"], new URLSearchParams({ new: "1" }))}
          >
            <Icon icon={Plus} />
            <span>New source</span>
          </a>
        </div>
      </div>
      <p class="muted">A source takes a provider’s signed webhooks, and turns each into an event.</p>
      <LiveFailure live={live} what="the sources" />
      {value !== undefined && (
        <Table
          caption="Sources"
          rows={value}
          keyOf={({ id }) => id}
          columns={columnsOf(live.at)}
          empty="This tenant has no sources yet."
        />
      )}
    </div>
  );
}

function columnsOf(now: number | undefined): readonly Column<Source>[] {
  const count = (value: number) => value.toLocaleString("en");
  return [
    {
      head: "Source",
      cell: ({ id }) => (
        <a class="con-name" href={consoleLink(["sources", id])} title={id}>
          {id}
        </a>
      ),
    },
    {
      head: "Machine",
      cell: ({ machine }) => (
        <a class="con-cut" href={consoleLink(["machines", machine])} title={machine}>
          {machine}
        </a>
      ),
    },
    { head: "Scheme", cell: ({ scheme }) => <code class="con-whole">{scheme.type}</code> },
    { head: "Takes", cell: (source) => <Takes source={source} /> },
    { head: "Came", align: "end", cell: ({ counts }) => count(totalOf(counts)) },
    { head: "Applied", align: "end", cell: ({ counts }) => count(counts.applied) },
    {
      head: "Not taken",
      cell: ({ counts }) => {
        const trouble = [
          [counts.refused, "refused"],
          [counts.unmapped, "unmapped"],
          [counts.bad_signature, "with a bad signature"],
        ] as const;
        const said = trouble.flatMap(([of, what]) => (of === 0 ? [] : `${count(of)} ${what}`));
        return said.length === 0 ? (
          <span class="muted">none</span>
        ) : (
          <span class="con-whole">{said.join(", ")}</span>
        );
      },
    },
    { head: "Changed", cell: ({ updated_at: at }) => <Ago at={at} now={now} /> },
  ];
}
