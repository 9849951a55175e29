import "./machines.css";

import { Plus } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Machine } from "statewright/client";

import { Button } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Table } from "../../parts/table.tsx";
import { Ago } from "../ago.tsx";
import { LiveFailure } from "../live-failure.tsx";
import { useLive } from "../live.ts";
import { firstRows, pageSize } from "../paging.ts";
import { consoleLink } from "../place.ts";
import { client } from "../service.ts";
import { countsOf, type MachineCounts, stateName, totalOf } from "./counts.ts";

const STEP = 100;
/** What a machine runs by where its definition does not say. */
export const DEFAULT_CONTRACT = "statewright.v1";

/** What the list shows of a machine. Definitions are read again and again: the rest of them is not kept. */
type Listed = Pick<Machine, "machine_id" | "label" | "revision" | "contract" | "updated_at">;

async function readMachines(count: number, signal: AbortSignal) {
  const { items, more } = await firstRows(
    client().machines.list({ limit: pageSize(count) }, { signal }),
    count,
  );
  const listed = items.map(({ machine_id, label, revision, contract, updated_at }): Listed => {
    return { machine_id, label, revision, contract, updated_at };
  });
  return { items: listed, more };
}

/** The machines of the tenant. */
export function MachinesView(): JSX.Element {
  const [count, setCount] = useState(STEP);
  const [search, setSearch] = useState("");
  const live = useLive((signal) => readMachines(count, signal), [count], { keep: true });
  const all = live.value?.items ?? [];
  const sought = search.trim().toLowerCase();
  const shown = all.filter(({ machine_id, label }) => {
    return machine_id.toLowerCase().includes(sought) || (label ?? "").toLowerCase().includes(sought);
  });
  const ids = all.map(({ machine_id }) => machine_id);
  // A request for each machine: the more there are, the less often they are counted.
  const pace = Math.ceil(ids.length / 10);
  const counted = useLive((signal) => countsOf(ids, signal), [JSON.stringify(ids)], { keep: true, pace });
  const counts = new Map(counted.value?.map((of) => [of.machine_id, of]));
  return (
    <div class="stack">
      <div class="con-head">
        <h1>Machines</h1>
        <a class="button button-primary con-link-button" href={consoleLink(["register"])}>
          <Icon icon={Plus} />
          <span>Register a machine</span>
        </a>
      </div>
      <div class="con-filters">
        <TextField
          label="Search"
          type="search"
          value={search}
          onInput={setSearch}
          placeholder="Id or label"
        />
      </div>
      <LiveFailure live={live} what="the machines" />
      {live.value !== undefined && (
        <>
          <Table
            caption="Machines"
            rows={shown}
            keyOf={(row) => row.machine_id}
            columns={columnsOf(counts, live.at)}
            empty={
              sought === ""
                ? "This tenant has no machines yet. Register one, or check that the tenant is the one you meant."
                : `No machine${live.value.more ? " among those loaded" : ""} has “${search}” in its id or label.`
            }
          />
          {live.value.more && (
            <div class="row">
              <Button onClick={() => setCount(all.length + STEP)} busy={live.loading && count > all.length}>
                Load more
              </Button>
              <span class="muted">The first {all.length} machines are shown.</span>
            </div>
          )}
        </>
      )}
    </div>
  );
}

function columnsOf(counts: ReadonlyMap<string, MachineCounts>, now: number | undefined) {
  return [
    {
      head: "Machine",
      cell: ({ machine_id }: Listed) => (
        <a class="con-name" href={consoleLink(["machines", machine_id])} title={machine_id}>
          {machine_id}
        </a>
      ),
    },
    {
      head: "Label",
      cell: ({ label }: Listed) => (
        <span class="con-cut" title={label ?? undefined}>
          {label ?? "–"}
        </span>
      ),
    },
    { head: "Revision", align: "end" as const, cell: ({ revision }: Listed) => revision },
    {
      head: "Contract",
      cell: ({ contract }: Listed) => <code class="con-whole">{contract ?? DEFAULT_CONTRACT}</code>,
    },
    {
      head: "Entities",
      align: "end" as const,
      cell: ({ machine_id }: Listed) => {
        const of = counts.get(machine_id);
        if (of?.counts === undefined)
          return <span title={of?.problem}>{of === undefined ? "…" : "unknown"}</span>;
        return totalOf(of.counts).toLocaleString("en");
      },
    },
    { head: "By state", cell: ({ machine_id }: Listed) => <States counts={counts.get(machine_id)} /> },
    {
      head: "Changed",
      cell: ({ updated_at }: Listed) => <Ago at={updated_at} now={now} />,
    },
  ];
}

/** The fullest states of a machine, in one line. */
function States({ counts: of }: { counts: MachineCounts | undefined }): JSX.Element {
  const counts = [...(of?.counts ?? [])].sort((a, b) => b.entities - a.entities);
  const text = counts.map((count) => `${stateName(count)} ${count.entities.toLocaleString("en")}`);
  return (
    <span class="con-cut muted" title={text.join(", ")}>
      {text.slice(0, 4).join(" · ")}
      {text.length > 4 ? ` · ${text.length - 4} more` : ""}
    </span>
  );
}
