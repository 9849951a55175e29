import "./panels.css";

import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { type Tab, Tabs } from "../../parts/tabs.tsx";
import type { Model } from "../model.ts";
import { ContextPanel } from "./context.tsx";
import { EffectsPanel } from "./effects.tsx";
import { EntriesPanel } from "./entries.tsx";
import { HistoryPanel } from "./history.tsx";
import { TreePanel } from "./tree.tsx";

/** What happened, and what stands: in tabs. */
export function Panels({ model }: { model: Model }): JSX.Element {
  const [selected, select] = useState("history");
  const whole = useRef<HTMLElement>(null);
  const view = model.view.value;
  // Each tab is read from its top; history then goes to what stands.
  useLayoutEffect(() => {
    whole.current?.querySelector(".tabs-panel")?.scrollTo({ top: 0 });
  }, [selected]);
  const tabs: readonly Tab[] = [
    {
      id: "history",
      label: <Counted name="History" count={view?.done} />,
      content: () => <HistoryPanel model={model} />,
    },
    { id: "entries", label: "Entries and timers", content: () => <EntriesPanel model={model} /> },
    { id: "context", label: "Context", content: () => <ContextPanel model={model} /> },
    {
      id: "tree",
      label: <Counted name="Entities" count={view?.entities.length} />,
      content: () => <TreePanel model={model} />,
    },
    {
      id: "effects",
      label: <Counted name="Effects" count={view?.effects.length} />,
      content: () => <EffectsPanel model={model} />,
    },
  ];
  return (
    <section class="sim-panels" ref={whole} aria-label="What happened and what stands">
      <h2 class="only-read">What happened and what stands</h2>
      <Tabs tabs={tabs} selected={selected} onSelect={select} label="What happened and what stands" />
    </section>
  );
}

/** A tab's name, and how many there are in it. */
function Counted({ name, count = 0 }: { name: string; count?: number | undefined }): JSX.Element {
  return (
    <>
      {name} <span class="sim-tab-count">{count}</span>
    </>
  );
}
