import { TimerReset } from "lucide";
import type { components, Entity } from "statewright/client";
import type { JSX } from "preact";

import { Button } from "../../parts/button.tsx";
import { counted } from "../../parts/counted.ts";
import { Failure } from "../../parts/failure.tsx";
import { tell } from "../../parts/overlays.tsx";
import { Table } from "../../parts/table.tsx";
import { span, Time } from "../../parts/time.tsx";
import { apiPath } from "../curl.ts";
import { isLive, withinTree } from "../fork/definitions.ts";
import { useActing } from "./acting.ts";
import { CopyCurl } from "./copy-curl.tsx";
import { useNow } from "./now.ts";
import { entityLink, type Subject } from "./subject.ts";

type RegionEntry = components["schemas"]["RegionEntry"];

interface Row {
  readonly of: Entity;
  readonly region: string;
  readonly entry: RegionEntry;
}

function rowsOf(of: Entity): readonly Row[] {
  return Object.entries(of.region_entries).map(([region, entry]) => ({ of, region, entry }));
}

/** The entries of each region, when their timeouts are due, and those that are parked. */
export function TimersSection({ subject, tree }: { subject: Subject; tree: Entity }): JSX.Element {
  const now = useNow();
  const own = rowsOf(tree);
  const below = [...withinTree(tree)]
    .slice(1)
    .filter(isLive)
    .flatMap(rowsOf)
    .filter(({ entry }) => entry.due_at !== undefined || entry.parked !== undefined);
  const parked = own.filter(({ entry }) => entry.parked !== undefined).length;
  return (
    <div class="stack">
      {parked > 0 && <Release subject={subject} parked={parked} />}
      <Table
        caption="Entries and timers"
        keyOf={({ region }) => region}
        rows={own}
        empty="The entity has no regions"
        columns={[
          {
            head: "Region",
            cell: ({ region }) => (region === "_" ? <span class="muted">flat</span> : region),
          },
          { head: "State", cell: ({ entry }) => entry.state },
          { head: "Entry", align: "end", cell: ({ entry }) => entry.seq },
          { head: "Entered", cell: ({ entry }) => <Entered entry={entry} now={now} /> },
          { head: "By", cell: ({ entry }) => <code>{entry.key ?? "its creation"}</code> },
          { head: "Timeout", cell: ({ entry }) => <Due entry={entry} now={now} /> },
        ]}
      />
      {below.length > 0 && (
        <section class="stack" aria-label="Timers below it">
          <h2>Timers below it</h2>
          <Table
            caption="Timers below it"
            keyOf={({ of, region }) => JSON.stringify([of.machine_id, of.entity_id, region])}
            rows={below}
            empty=""
            columns={[
              {
                head: "Entity",
                cell: ({ of }) => (
                  <a href={entityLink({ machine: of.machine_id, entity: of.entity_id }, "timers")}>
                    {of.entity_id}
                  </a>
                ),
              },
              {
                head: "Region",
                cell: ({ region }) => (region === "_" ? <span class="muted">flat</span> : region),
              },
              { head: "State", cell: ({ entry }) => entry.state },
              { head: "Timeout", cell: ({ entry }) => <Due entry={entry} now={now} /> },
            ]}
          />
        </section>
      )}
    </div>
  );
}

function Entered({ entry, now }: { entry: RegionEntry; now: number }): JSX.Element {
  return (
    <>
      <Time at={entry.entered_at} /> <span class="muted">{span(now - entry.entered_at)} ago</span>
    </>
  );
}

function Due({ entry: { due_at, parked }, now }: { entry: RegionEntry; now: number }): JSX.Element {
  if (parked !== undefined) {
    return (
      <>
        <span class="badge badge-bad">parked</span> <span class="con-entity-parked">{parked}</span>
      </>
    );
  }
  if (due_at === undefined) return <span class="muted">none</span>;
  return (
    <>
      <Time at={due_at} />{" "}
      {due_at > now ? (
        <span class="con-entity-left">in {span(due_at - now)}</span>
      ) : (
        <span class="badge badge-warn">due {span(now - due_at)} ago</span>
      )}
    </>
  );
}

function Release({
  subject: { machine, entity },
  parked,
}: {
  subject: Subject;
  parked: number;
}): JSX.Element {
  const { busy, error, run } = useActing();
  const timers = counted(parked, "parked timer");
  const release = () =>
    run(async ({ client, ask }) => {
      const yes = await ask({
        title: `Release ${timers}?`,
        body: (
          <>
            <p>
              The scanner tries {parked === 1 ? "it" : "them"} again at once. What is refused again, for the
              same reason or another, is parked again.
            </p>
            <p>Mend the reason first: a new revision of the machine frees parked timers as well.</p>
          </>
        ),
        action: "Release",
      });
      if (!yes) return;
      const { released } = await client.entities.release(machine, entity);
      tell(`Released ${counted(released, "timer")}`);
    });
  return (
    <div class="notice notice-warn">
      <p>
        {timers}: the commit of {parked === 1 ? "its" : "their"} timeout was refused, and is not tried again
        by itself.
      </p>
      {error !== undefined && <Failure error={error} what="Could not release" />}
      <div class="row">
        <Button icon={TimerReset} busy={busy} onClick={release}>
          Release parked timers
        </Button>
        <CopyCurl
          of="release"
          request={() => ({
            method: "POST",
            path: apiPath("machines", machine, "entities", entity, "release"),
          })}
        />
      </div>
    </div>
  );
}
