import "./entities.css";

import { Plus } from "lucide";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { counted } from "../../parts/counted.ts";
import { LiveFailure } from "../live-failure.tsx";
import { useLive } from "../live.ts";
import type { TabProps } from "../machines/machine.tsx";
import { firstRows, pageSize } from "../paging.ts";
import { place, replacePlace } from "../place.ts";
import { client } from "../service.ts";
import { CreateEntity } from "./create-entity.tsx";
import { EntityFilters } from "./entity-filters.tsx";
import { EntityTable } from "./entity-table.tsx";
import { type Filters, queryOf, readFilters, writeFilters } from "./filters.ts";

const STEP = 50;

/** The entities of a machine: those that the fragment's filters leave. */
export function EntitiesTab({ machine, counts, stale }: TabProps): JSX.Element {
  const { machine_id: id } = machine;
  const { filters: written } = place.value;
  const filters = useMemo(() => readFilters(written), [written]);
  const key = writeFilters(filters).toString();
  const [asked, setAsked] = useState({ key, count: STEP });
  // Other filters begin with the first page again.
  const count = asked.key === key ? asked.count : STEP;
  const [creating, setCreating] = useState(false);
  const live = useLive(
    (signal) => {
      const query = { ...queryOf(filters, Date.now()), limit: pageSize(count) };
      return firstRows(client().entities.list(id, query, { signal }), count);
    },
    [id, key, count],
    { keep: true },
  );
  const { value } = live;
  const change = (to: Filters) => replacePlace(["machines", id, "entities"], writeFilters(to));
  return (
    <div class="stack">
      <div class="con-entities-head">
        <EntityFilters machine={machine} counts={counts} filters={filters} onChange={change} />
        <Button icon={Plus} onClick={() => setCreating(true)}>
          Create an entity
        </Button>
      </div>
      <LiveFailure live={live} what="the entities" told={stale} />
      {value !== undefined && (
        <>
          <EntityTable
            machine={id}
            rows={value.items}
            now={live.at}
            empty={key === "" ? "This machine has no entities yet." : "No entity fits these filters."}
          />
          <div class="row">
            {value.more && (
              <Button
                onClick={() => setAsked({ key, count: value.items.length + STEP })}
                busy={live.loading && count > value.items.length}
              >
                Load more
              </Button>
            )}
            <span class="muted" role="status">
              {tally(value.items.length, value.more)}
            </span>
          </div>
        </>
      )}
      {creating && <CreateEntity machine={id} onClose={() => setCreating(false)} />}
    </div>
  );
}

function tally(count: number, more: boolean): string {
  if (more) return `The first ${count.toLocaleString("en")} are shown.`;
  return count === 0 ? "" : counted(count, "entity", "entities");
}
