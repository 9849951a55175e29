import "./entity.css";

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import { Boundary } from "../../parts/boundary.tsx";
import { codeOf, Failure } from "../../parts/failure.tsx";
import { type Tab, Tabs } from "../../parts/tabs.tsx";
import { type Family, readFamily, withinTree } from "../fork/definitions.ts";
import { useLive } from "../live.ts";
import { place, replacePlace } from "../place.ts";
import { client } from "../service.ts";
import { ContextSection } from "./context-section.tsx";
import { DiagramSection } from "./diagram-section.tsx";
import { Heading } from "./heading.tsx";
import { HistorySection } from "./history-section.tsx";
import { useNewestHistory } from "./newest-history.ts";
import { OutboxSection } from "./outbox-section.tsx";
import { ReceiptsSection } from "./receipts-section.tsx";
import { SendPanel } from "./send/send-panel.tsx";
import { type Found, readEntity, type Subject } from "./subject.ts";
import { TimersSection } from "./timers-section.tsx";
import { TreeSection } from "./tree-section.tsx";

const UNREADABLE = new Map([
  ["CORRUPT_INSTANCE", "What is stored of this entity cannot be read"],
  ["NOT_FOUND", "There is no such entity"],
]);

interface Definitions {
  readonly family: Family | undefined;
  readonly error: unknown;
}

/** The definitions of the tree's machines; read anew where another machine or revision comes in. */
function useFamily(found: Found | undefined): Definitions {
  const [read, setRead] = useState<Definitions>({ family: undefined, error: undefined });
  const names =
    found &&
    JSON.stringify(Array.from(withinTree(found.tree), ({ machine_id, revision }) => [machine_id, revision]));
  useEffect(() => {
    if (found === undefined) return;
    const reading = new AbortController();
    const { signal } = reading;
    readFamily(client(), found.tree, signal).then(
      (family) => !signal.aborted && setRead({ family, error: undefined }),
      (error: unknown) => !signal.aborted && setRead({ family: undefined, error }),
    );
    return () => reading.abort();
  }, [names]);
  return read;
}

/** One entity: where it is and how it came there, what it can do now, and what it called for. */
export function EntityView({ machine, entity }: { machine: string; entity: string }): JSX.Element {
  const subject: Subject = useMemo(() => ({ machine, entity }), [machine, entity]);
  const live = useLive((signal) => readEntity(subject, signal), [subject]);
  // What is gone is not shown as if it were there; what could not be read this time is.
  const gone = codeOf(live.error) === "NOT_FOUND";
  const found = gone ? undefined : live.value;
  const newest = useNewestHistory(subject, found?.tree.state_version, live.at);
  const { family, error } = useFamily(found);
  const definitions = family?.definitions ?? [];

  const diagram = (of: Found): ComponentChildren => {
    if (error !== undefined) return <Failure error={error} what="Could not read the machine" />;
    if (family === undefined) return <p class="loading">Reading the machine…</p>;
    const rows = newest.value?.rows ?? [];
    return <DiagramSection subject={subject} tree={of.tree} family={family} newest={rows} />;
  };
  const history = (): JSX.Element => (
    <HistorySection subject={subject} newest={newest} definitions={definitions} />
  );
  const shown = found === undefined ? [] : [found];
  const tabs: readonly Tab[] = [
    ...shown.map((of) => ({ id: "diagram", label: "Diagram", content: () => diagram(of) })),
    ...(gone ? [] : [{ id: "history", label: "History", content: history }]),
    ...shown.flatMap((of) => [
      { id: "timers", label: "Timers", content: () => <TimersSection subject={subject} tree={of.tree} /> },
      { id: "context", label: "Context", content: () => <ContextSection tree={of.tree} /> },
      { id: "tree", label: "Tree", content: () => <TreeSection found={of} /> },
    ]),
    // Its outbox rows outlive an entity, and so do receipts of other requests.
    { id: "outbox", label: "Outbox", content: () => <OutboxSection subject={subject} /> },
    { id: "receipts", label: "Receipts", content: () => <ReceiptsSection subject={subject} /> },
  ];
  const wanted = place.value.path[3] ?? "";
  const selected = tabs.find(({ id }) => id === wanted)?.id ?? tabs[0]?.id ?? "";
  return (
    <div class="con-entity">
      <Heading subject={subject} tree={found?.tree} gone={gone} />
      {live.error !== undefined && (
        <Failure
          error={live.error}
          what={UNREADABLE.get(codeOf(live.error) ?? "") ?? "Could not read the entity"}
        />
      )}
      {found === undefined && live.error === undefined ? (
        <p class="loading">Reading the entity…</p>
      ) : (
        <div class="con-entity-body">
          <div class="con-entity-sections card">
            <Tabs
              label="Sections of the entity"
              tabs={tabs}
              selected={selected}
              onSelect={(id) => replacePlace(["entity", machine, entity, id])}
            />
          </div>
          {found !== undefined && (
            <Boundary name="what it can do">
              <SendPanel subject={subject} tree={found.tree} definitions={definitions} />
            </Boundary>
          )}
        </div>
      )}
    </div>
  );
}
