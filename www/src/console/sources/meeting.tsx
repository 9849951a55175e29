import "../entity/send/send.css";

import { type Explanation, StatewrightError, type Tried } from "statewright/client";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Failure } from "../../parts/failure.tsx";
import { Explained } from "../entity/send/explained.tsx";
import { client } from "../service.ts";

type Mapped = NonNullable<Tried["event"]>;

/** What an event would meet: an entity that says what it would do, or none. */
type Met =
  | { readonly is: "entity"; readonly explanation: Explanation }
  | { readonly is: "no entity" }
  | { readonly is: "no machine" }
  | { readonly is: "unknown"; readonly error: unknown };

function isMissing(error: unknown): boolean {
  return error instanceof StatewrightError && error.code === "NOT_FOUND";
}

async function meet(
  machine: string,
  { entity_id, event_type, params, timestamp }: Mapped,
  signal: AbortSignal,
): Promise<Met> {
  const event = { event_type, params, ...(timestamp === undefined ? {} : { timestamp }) };
  try {
    const explanation = await client().entities.explain(machine, entity_id, event, { signal });
    return { is: "entity", explanation };
  } catch (error) {
    if (!isMissing(error)) return { is: "unknown", error };
  }
  try {
    await client().machines.get(machine, { signal });
    return { is: "no entity" };
  } catch (error) {
    return isMissing(error) ? { is: "no machine" } : { is: "unknown", error };
  }
}

export interface MeetingProps {
  readonly machine: string;
  readonly event: Mapped;
  /** Whether the source makes entities that are missing. */
  readonly creates: boolean;
}

/** What the event would do if it came now. Nothing of it is done. */
export function Meeting({ machine, event, creates }: MeetingProps): JSX.Element {
  const [met, setMet] = useState<Met>();
  useEffect(() => {
    const asking = new AbortController();
    void meet(machine, event, asking.signal).then((found) => {
      if (!asking.signal.aborted) setMet(found);
    });
    return () => asking.abort();
  }, [machine, event]);
  return (
    <section class="stack" aria-label="If it came now">
      <h4>If it came now</h4>
      {met === undefined ? <p class="muted">Asking the entity…</p> : <Found met={met} creates={creates} />}
    </section>
  );
}

function Found({ met, creates }: { met: Met; creates: boolean }): JSX.Element {
  switch (met.is) {
    case "entity":
      return <Explained explanation={met.explanation} />;
    case "no entity":
      return creates ? (
        <p>There is no such entity: it would be made first, in the initial state, and then take the event.</p>
      ) : (
        <p>There is no such entity, and this source makes none: the event would be refused.</p>
      );
    case "no machine":
      return <p>The machine is not registered: the event would be refused until it is.</p>;
    case "unknown":
      return <Failure error={met.error} what="Could not ask the entity" />;
  }
}
