import { TimerReset } from "lucide";
import type { Scheduler } from "statewright/client";
import type { JSX } from "preact";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { counted } from "../../parts/counted.ts";
import { tell } from "../../parts/overlays.tsx";
import { Table } from "../../parts/table.tsx";
import { moment, Time } from "../../parts/time.tsx";
import { apiPath } from "../curl.ts";
import { useActing } from "../entity/acting.ts";
import { CopyCurl } from "../entity/copy-curl.tsx";
import { entityLink } from "../entity/subject.ts";

type Parked = Scheduler["parked"][number];
type Failing = Scheduler["failing"][number];
type Troubled = Parked | Failing;

function keyOf({ machine_id, entity_id, region }: Troubled): string {
  return JSON.stringify([machine_id, entity_id, region]);
}

/** Timers whose commit is refused: each waits for a new revision, or to be released. */
export function ParkedTimers({ timers }: { timers: readonly Parked[] }): JSX.Element {
  const ofEntity = ({ machine_id, entity_id }: Parked) =>
    timers.filter((each) => each.machine_id === machine_id && each.entity_id === entity_id);
  return (
    <section class="stack">
      <h2>Parked timers</h2>
      <Table
        caption="Parked timers"
        keyOf={keyOf}
        rows={timers}
        empty="No timer is parked."
        columns={[
          { head: "Entity", cell: (timer) => <Whose timer={timer} /> },
          { head: "Region", cell: ({ region }) => <Region region={region} /> },
          { head: "Was due", cell: ({ due_at }) => <Due at={due_at} /> },
          { head: "Why", cell: ({ error }) => <Why text={error} /> },
          {
            head: "Actions",
            cell: (timer) =>
              // A release is of all timers of an entity: it stands once.
              ofEntity(timer)[0] === timer && <Release timer={timer} parked={ofEntity(timer).length} />,
          },
        ]}
      />
    </section>
  );
}

/** Timers of entities that fail, and when they are tried again. */
export function FailingTimers({
  timers,
  now,
}: {
  timers: readonly Failing[];
  now: number | undefined;
}): JSX.Element {
  return (
    <section class="stack">
      <h2>Failing timers</h2>
      <Table
        caption="Failing timers"
        keyOf={keyOf}
        rows={timers}
        empty="No timer fails."
        columns={[
          { head: "Entity", cell: (timer) => <Whose timer={timer} /> },
          { head: "Region", cell: ({ region }) => <Region region={region} /> },
          { head: "Was due", cell: ({ due_at }) => <Due at={due_at} /> },
          { head: "Failures", align: "end", cell: ({ failures }) => failures },
          { head: "Why", cell: ({ error }) => error !== null && <Why text={error} /> },
          {
            head: "Tried again",
            cell: ({ next_try_at: at }) =>
              at !== null && (
                <span class="con-whole">
                  {now !== undefined && at <= now ? (
                    "in the next pass"
                  ) : (
                    <Time at={at} {...(now === undefined ? {} : { now })} />
                  )}
                </span>
              ),
          },
        ]}
      />
    </section>
  );
}

function Whose({ timer: { machine_id: machine, entity_id: entity } }: { timer: Troubled }): JSX.Element {
  return (
    <span class="con-scheduler-of">
      <a class="con-name" href={entityLink({ machine, entity }, "timers")} title={entity}>
        {entity}
      </a>
      <span class="con-cut muted" title={machine}>
        {machine}
      </span>
    </span>
  );
}

function Region({ region }: { region: string }): JSX.Element {
  return region === "_" ? <span class="muted">flat</span> : <>{region}</>;
}

function Due({ at }: { at: number | null }): JSX.Element {
  return at === null ? <span class="muted">unknown</span> : <span class="con-whole">{moment(at)}</span>;
}

function Why({ text }: { text: string }): JSX.Element {
  return <span class="con-scheduler-why">{text}</span>;
}

/** Has the parked timers of an entity tried again. */
function Release({
  timer: { machine_id: machine, entity_id: entity },
  parked,
}: {
  timer: Parked;
  parked: number;
}): JSX.Element {
  const { busy, error, run } = useActing();
  const release = () =>
    run(async ({ client, ask }) => {
      const yes = await ask({
        title: parked === 1 ? "Release the timer?" : `Release ${parked} timers?`,
        body: (
          <>
            <p>
              The next pass of the scanner tries {counted(parked, "parked timer")} of{" "}
              <strong>{entity}</strong> again, and so does the entity’s next event. What is refused again, for
              the same reason or another, is parked again.
            </p>
            <p>
              Mend the reason first: register the machine that is missing, or put a revision that lets it
              pass.
            </p>
            <div>
              <CopyCurl
                of="release"
                request={() => ({
                  method: "POST",
                  path: apiPath("machines", machine, "entities", entity, "release"),
                })}
              />
            </div>
          </>
        ),
        action: "Release",
      });
      if (!yes) return;
      const { released } = await client.entities.release(machine, entity);
      tell(`Released ${counted(released, "timer")} of ${entity}`);
    });
  return (
    <>
      <Button icon={TimerReset} busy={busy} onClick={release}>
        Release
      </Button>
      {error !== undefined && <Failure error={error} what="Could not release" />}
    </>
  );
}
