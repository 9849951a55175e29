import type { OutboxItem } from "statewright/client";
import type { JSX } from "preact";

import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { Ago } from "../ago.tsx";
import { EffectActions, EffectStatus } from "../entity/outbox-rows.tsx";
import { entityLink } from "../entity/subject.ts";

export interface OutboxTableProps {
  readonly rows: readonly OutboxItem[];
  readonly now: number | undefined;
  /** The machines of the tenant, where they are known: what a state record called for leads to no entity. */
  readonly machines: readonly string[];
  readonly onOpen: (id: string) => void;
  readonly empty: string;
}

/** Effects, each with what became of it and what can be done about it. */
export function OutboxTable({ rows, now, machines, onOpen, empty }: OutboxTableProps): JSX.Element {
  const columns: readonly Column<OutboxItem>[] = [
    {
      head: "Effect",
      cell: (item) => (
        <button
          type="button"
          class="con-entity-link con-outbox-effect"
          title={item.sink}
          onClick={() => onOpen(item.id)}
        >
          {item.kind} to {item.sink}
        </button>
      ),
    },
    {
      head: "Status",
      cell: (item) => (
        <span class="con-whole">
          <EffectStatus item={item} />
        </span>
      ),
    },
    { head: "Of", cell: (item) => <Origin item={item} machines={machines} /> },
    { head: "Tries", align: "end", cell: ({ attempt }) => attempt },
    { head: "Made", cell: ({ created_at }) => <Ago at={created_at} now={now} /> },
    { head: "Next, or over", cell: (item) => <When item={item} now={now} /> },
    {
      head: "Why",
      cell: ({ error }) =>
        error !== null && (
          <span class="con-outbox-why" title={error}>
            {error}
          </span>
        ),
    },
    { head: "Actions", cell: (item) => <EffectActions item={item} /> },
  ];
  return <Table caption="Effects" rows={rows} keyOf={({ id }) => id} columns={columns} empty={empty} />;
}

/** What called for it. */
function Origin({ item, machines }: { item: OutboxItem; machines: readonly string[] }): JSX.Element {
  const { machine_id: machine, entity_id: entity, version } = item;
  const linked = machines.length === 0 || machines.includes(machine);
  return (
    <span class="con-outbox-of">
      {linked ? (
        <a class="con-name" href={entityLink({ machine, entity })} title={entity}>
          {entity}
        </a>
      ) : (
        <span class="con-cut" title={entity}>
          {entity}
        </span>
      )}
      <span class="con-cut muted" title={machine}>
        {machine}, version {version}
      </span>
    </span>
  );
}

/** When it is tried next, or when it was over. */
function When({ item, now }: { item: OutboxItem; now: number | undefined }): JSX.Element | null {
  const { finished_at: over, due_at: due, phase } = item;
  if (over !== null) return <Ago at={over} now={now} />;
  if (phase === "claimed") return <span class="con-whole">under way</span>;
  if (due === null || phase === "queued" || phase === "held") return null;
  if (now !== undefined && due <= now) return <span class="con-whole">now</span>;
  return (
    <span class="con-whole">
      <Time at={due} {...(now === undefined ? {} : { now })} />
    </span>
  );
}
