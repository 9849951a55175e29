import type { JSX } from "preact";
import type { Entity, ListedEntity } from "statewright/client";

import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../ago.tsx";
import { StateBadges } from "../entity/state-badges.tsx";
import { consoleLink } from "../place.ts";

interface EntityTableProps {
  readonly machine: string;
  readonly rows: readonly ListedEntity[];
  readonly now: number | undefined;
  readonly empty: string;
}

type Corrupt = Exclude<ListedEntity, Entity>;

function isCorrupt(row: ListedEntity): row is Corrupt {
  return "error" in row;
}

/** Entities, each with a way to its view. One that cannot be read says why in its place. */
export function EntityTable({ machine, rows, now, empty }: EntityTableProps): JSX.Element {
  return (
    <Table
      caption={`Entities of ${machine}`}
      rows={rows}
      keyOf={(row) => row.entity_id}
      columns={columnsOf(machine, now)}
      empty={empty}
    />
  );
}

function columnsOf(machine: string, now: number | undefined): Column<ListedEntity>[] {
  return [
    {
      head: "Entity",
      cell: ({ entity_id }) => (
        <a class="con-name" href={consoleLink(["entity", machine, entity_id])} title={entity_id}>
          {entity_id}
        </a>
      ),
    },
    { head: "State", cell: (row) => (isCorrupt(row) ? <Unreadable row={row} /> : <States entity={row} />) },
    { head: "Version", align: "end", cell: (row) => (isCorrupt(row) ? "–" : row.state_version) },
    { head: "Revision", align: "end", cell: (row) => (isCorrupt(row) ? "–" : row.revision) },
    {
      head: "Written",
      cell: (row) => (isCorrupt(row) ? "–" : <Ago at={row.updated_at} now={now} />),
    },
  ];
}

function Unreadable({ row: { error } }: { row: Corrupt }): JSX.Element {
  return (
    <span class="con-unreadable">
      <code class="code">{error.code}</code> {error.message}
    </span>
  );
}

function States({ entity: { current_state, instance } }: { entity: Entity }): JSX.Element {
  return (
    <span class="con-states">
      <StateBadges state={current_state} />
      {instance !== undefined && <span class="badge">child, {instance.status}</span>}
    </span>
  );
}
