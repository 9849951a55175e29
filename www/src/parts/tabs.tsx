import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { Boundary } from "./boundary.tsx";

export interface Tab {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly content: () => ComponentChildren;
}

export interface TabsProps {
  readonly tabs: readonly Tab[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  /** What the tabs are of: read out. */
  readonly label: string;
}

/** Tabs, with the arrow keys between them. */
export function Tabs({ tabs, selected, onSelect, label }: TabsProps): JSX.Element {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const shown = tabs.find((tab) => tab.id === selected) ?? tabs[0];
  useLayoutEffect(() => bringIntoSight(list.current), [shown?.id]);
  const move = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab === shown);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    onSelect(tabs[next]?.id ?? selected);
    list.current?.querySelectorAll("button").item(next)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tabs-list" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            aria-selected={tab === shown}
            aria-controls={`${id}-panel`}
            tabIndex={tab === shown ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div
        class="tabs-panel"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${shown?.id ?? ""}`}
        tabIndex={0}
      >
        {shown !== undefined && (
          <Boundary key={shown.id} name="this tab">
            <Content tab={shown} />
          </Boundary>
        )}
      </div>
    </div>
  );
}

/** Scrolls the list alone, where it is longer than its place, until the selected tab is in it. */
function bringIntoSight(list: HTMLElement | null): void {
  const tab = list?.querySelector('[aria-selected="true"]');
  if (list === null || !tab) return;
  const [place, within] = [tab.getBoundingClientRect(), list.getBoundingClientRect()];
  if (place.left < within.left) list.scrollLeft -= within.left - place.left;
  else if (place.right > within.right) list.scrollLeft += place.right - within.right;
}

/** Drawn within what is around it, which catches what it throws. */
function Content({ tab }: { tab: Tab }): JSX.Element {
  return <>{tab.content()}</>;
}
