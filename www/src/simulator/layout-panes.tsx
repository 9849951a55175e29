import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { Boundary } from "../parts/boundary.tsx";
import { SIZES } from "./layout-sizes.ts";
import { Splitter } from "./layout-splitter.tsx";

/** The panes of the simulator. */
export type PaneName = "definition" | "diagram" | "events" | "history";

export interface PanesProps {
  readonly definition: ComponentChildren;
  readonly diagram: ComponentChildren;
  readonly events: ComponentChildren;
  readonly history: ComponentChildren;
  /** Which one a narrow screen shows. */
  readonly shown: PaneName;
  readonly onShow: (name: PaneName) => void;
}

const TABS: readonly (readonly [name: PaneName, label: string])[] = [
  ["definition", "Definition"],
  ["diagram", "Diagram"],
  ["events", "Events"],
  ["history", "History"],
];

/** In em: with larger text, fewer panes have room. */
const NARROW = "(max-width: 56.24em)";

/** Whether there is room for one pane alone. */
function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const look = () => setNarrow(media.matches);
    media.addEventListener("change", look);
    return () => media.removeEventListener("change", look);
  }, []);
  return narrow;
}

/** The panes side by side with lines between them, or on narrow screens one at a time. */
export function Panes(props: PanesProps): JSX.Element {
  const { definition, diagram, events, history, shown, onShow } = props;
  const narrow = useNarrow();
  const id = useId();
  const { left, right, bottom } = SIZES;
  const pane = (name: PaneName, content: ComponentChildren) => (
    <div
      class={`sim-pane sim-pane-${name}`}
      id={`${id}-${name}`}
      hidden={narrow && shown !== name}
      {...(narrow ? { role: "tabpanel" as const, "aria-labelledby": `${id}-tab-${name}` } : {})}
    >
      <Boundary name={`the ${name}`}>{content}</Boundary>
    </div>
  );
  const columns = `minmax(14rem, ${left.value.value}%) auto minmax(0, 1fr) auto minmax(19rem, ${right.value.value}%)`;
  const rows = `minmax(0, 1fr) auto minmax(6rem, ${bottom.value.value}%)`;
  return (
    <>
      {narrow && <PaneTabs id={id} shown={shown} onShow={onShow} />}
      <div class="sim-panes" style={narrow ? {} : { gridTemplateColumns: columns }}>
        {pane("definition", definition)}
        <Splitter label="Width of the definition" size={left} orientation="vertical" before />
        <div class="sim-middle" style={narrow ? {} : { gridTemplateRows: rows }}>
          {pane("diagram", diagram)}
          <Splitter label="Height of the history" size={bottom} orientation="horizontal" before={false} />
          {pane("history", history)}
        </div>
        <Splitter label="Width of the events" size={right} orientation="vertical" before={false} />
        {pane("events", events)}
      </div>
    </>
  );
}

interface PaneTabsProps {
  readonly id: string;
  readonly shown: PaneName;
  readonly onShow: (name: PaneName) => void;
}

function PaneTabs({ id, shown, onShow }: PaneTabsProps): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const at = TABS.findIndex(([name]) => name === shown);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + TABS.length) % TABS.length;
    onShow(TABS[next]?.[0] ?? shown);
    list.current?.querySelectorAll("button").item(next)?.focus();
  };
  return (
    <div class="tabs-list sim-pane-tabs" role="tablist" aria-label="Panes" ref={list} onKeyDown={move}>
      {TABS.map(([name, label]) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${id}-tab-${name}`}
          aria-selected={name === shown}
          aria-controls={`${id}-${name}`}
          tabIndex={name === shown ? 0 : -1}
          onClick={() => onShow(name)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
