import { Ban, RotateCcw } from "lucide";
import type { JSX } from "preact";
import type { Client } from "statewright/client";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { tell } from "../../parts/overlays.tsx";
import { apiPath } from "../curl.ts";
import { useActing } from "../entity/acting.ts";
import { CopyCurl } from "../entity/copy-curl.tsx";
import { type Asked, type Filters, queryOf, type Status } from "./filters.ts";
import type { Outbox } from "./reading.ts";
import { type Step, sweep, tally, type Tally } from "./sweep.ts";
import { bounded, effects, whose } from "./words.ts";

/** Something that can be done about all effects of a status that fit the filters. */
interface Act {
  readonly does: "redrive" | "cancel";
  readonly status: Exclude<Status, "done">;
}

/** What can be done about what is listed. Without a status: what is most often wanted. */
function actsOf(status: Status | undefined): readonly Act[] {
  switch (status) {
    case "done":
      return [];
    case "pending":
      return [
        { does: "redrive", status },
        { does: "cancel", status },
      ];
    case undefined:
      return [
        { does: "redrive", status: "dead" },
        { does: "cancel", status: "pending" },
      ];
    default:
      return [{ does: "redrive", status }];
  }
}

function nameOf({ does, status }: Act): string {
  if (does === "cancel") return "Cancel pending effects";
  return status === "pending" ? "Send pending effects now" : `Redrive ${status} effects`;
}

/** One call of many: at most 1,000 effects. */
async function call(
  { does }: Act,
  { outbox }: Client,
  filter: Asked,
  cursor: string | undefined,
): Promise<Step> {
  const asked = { ...filter, ...(cursor === undefined ? {} : { cursor }) };
  if (does === "cancel") {
    const { cancelled, more, cursor: next } = await outbox.cancelAll(asked);
    return { changed: cancelled, cursor: more ? next : undefined };
  }
  const { redriven, more, cursor: next } = await outbox.redriveAll(asked);
  return { changed: redriven, cursor: more ? next : undefined };
}

/** What came of it, once all calls were answered. */
function resultOf({ does, status }: Act, changed: number, { count, more }: Tally): string {
  const verb = does === "cancel" ? "Cancelled" : status === "pending" ? "Due now:" : "Redriven:";
  const text = `${verb} ${effects(changed, false, status)}`;
  return changed < count && !more ? `${text} of ${count}. The others had changed, or cannot be` : text;
}

/** That it was not gone on with. */
function leftAt({ does, status }: Act, changed: number): string {
  const verb = does === "cancel" ? "cancelled" : "redriven";
  return `Stopped, since you left: ${effects(changed, false, status)} ${verb} until then`;
}

/** Redrives or calls off all that the filters mean. */
export function ManyActions({
  filters,
  counts,
}: {
  filters: Filters;
  counts: Outbox["counts"];
}): JSX.Element | null {
  const { error, run } = useActing();
  const [said, setSaid] = useState("");
  const [changed, setChanged] = useState(0);
  const acts = actsOf(filters.status);

  const start = (act: Act) =>
    run(async ({ client, signal, ask }) => {
      setChanged(0);
      setSaid("Counting what fits…");
      const asked = { ...queryOf(filters, Date.now()), status: act.status };
      const found = await tally(client.outbox.list({ ...asked, limit: 1000 }, { signal }).pages()).finally(
        () => setSaid(""),
      );
      if (found.count === 0) {
        setSaid(
          found.more ? "None was found among those that were looked at." : `No ${act.status} effect fits.`,
        );
        return;
      }
      // What is made after the question is not what was asked about.
      const filter = found.newest === undefined ? asked : { ...asked, older_than: found.newest + 1 };
      if (!(await ask(questionOf(act, filters, filter, found)))) return;
      const all = await sweep(
        (cursor, so) => {
          if (signal.aborted) throw new Error(leftAt(act, so));
          return call(act, client, filter, cursor);
        },
        (so) => {
          setChanged(so);
          setSaid(`${effects(so, false, act.status)} so far…`);
        },
      ).catch((refused: unknown) => {
        setSaid("");
        throw refused;
      });
      setSaid(`${resultOf(act, all, found)}.`);
      tell(resultOf(act, all, found));
    });

  if (acts.length === 0) return null;
  return (
    <div class="stack">
      <div class="row" role="group" aria-label="All that fit the filters">
        {acts.map((act) => (
          // Not disabled meanwhile: the question gives the focus back to it.
          <Button
            key={nameOf(act)}
            icon={act.does === "cancel" ? Ban : RotateCcw}
            kind={act.does === "cancel" ? "danger" : "plain"}
            disabled={counts[act.status] === 0}
            onClick={() => start(act)}
          >
            {nameOf(act)}…
          </Button>
        ))}
        <span class="muted" role="status">
          {said}
        </span>
      </div>
      {error !== undefined && (
        <Failure
          error={error}
          what={
            changed === 0
              ? "Could not go on: no effect is known to have changed"
              : `Could not go on: ${bounded(changed, false)} have changed so far`
          }
        />
      )}
    </div>
  );
}

/** The question before it is done: how many it is about, what happens to them, and what does not. */
function questionOf(act: Act, filters: Filters, filter: Asked, { count, more, claimed, newest }: Tally) {
  const { does, status } = act;
  const many = effects(count, more, status);
  const cancels = does === "cancel";
  const now = status === "pending" && !cancels;
  return {
    title: cancels ? `Cancel ${many}?` : now ? `Send ${many} now?` : `Redrive ${many}?`,
    body: (
      <>
        <p>
          {whose(filters)}{" "}
          {newest !== undefined && "Effects that were made since they were counted are left alone."}
        </p>
        <p>{consequence(act)}</p>
        {cancels && claimed > 0 && (
          <p>
            {claimed === 1 ? "One is" : `${claimed.toLocaleString("en")} are`} under way, and may arrive all
            the same.
          </p>
        )}
        {count > 1000 && <p>The service takes 1,000 in one call: the console makes as many as it needs.</p>}
        <div>
          <CopyCurl
            of={does}
            request={() => ({ method: "POST", path: apiPath("outbox", does), body: filter })}
          />
        </div>
      </>
    ),
    action: cancels ? "Cancel the effects" : now ? "Send now" : "Redrive",
    danger: cancels,
  };
}

function consequence({ does, status }: Act): string {
  if (does === "cancel") {
    return "They are not sent any more, unless they are redriven. The entities stay where they are.";
  }
  switch (status) {
    case "pending":
      return "Those that wait are due now. Those that are under way, held, or queued behind another stay as they are.";
    case "skipped":
      return "Those that a subscription had asked for become pending again, under the same ids. Those that nobody had asked for stay skipped.";
    default:
      return "They become pending again with all their tries, under the same ids, and are sent to their receivers. A receiver that had one already can tell by the id.";
  }
}
