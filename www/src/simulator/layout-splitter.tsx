import type { JSX } from "preact";
import { useRef } from "preact/hooks";

import { keepSizes, type Size, within } from "./layout-sizes.ts";

export interface SplitterProps {
  /** What it makes larger and smaller: read out. */
  readonly label: string;
  readonly size: Size;
  /** Which way the line runs. */
  readonly orientation: "vertical" | "horizontal";
  /** Whether the pane that it sizes lies before it. */
  readonly before: boolean;
}

const STEP = 2;

/** A line between two panes, to be dragged, or moved by the arrow keys. */
export function Splitter({ label, size, orientation, before }: SplitterProps): JSX.Element {
  const line = useRef<HTMLDivElement>(null);
  const set = (value: number) => {
    size.value.value = within(size, value);
    keepSizes();
  };
  const drag = (event: PointerEvent) => {
    const box = line.current?.parentElement?.getBoundingClientRect();
    if (box === undefined) return;
    const part =
      orientation === "vertical"
        ? (event.clientX - box.left) / box.width
        : (event.clientY - box.top) / box.height;
    set(100 * (before ? part : 1 - part));
  };
  const grow = before ? 1 : -1;
  const moves: Readonly<Record<string, number>> =
    orientation === "vertical"
      ? { ArrowLeft: -STEP * grow, ArrowRight: STEP * grow }
      : { ArrowUp: -STEP * grow, ArrowDown: STEP * grow };
  return (
    <div
      ref={line}
      class={`sim-splitter sim-splitter-${orientation}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={orientation}
      aria-valuenow={Math.round(size.value.value)}
      aria-valuemin={size.least}
      aria-valuemax={size.most}
      aria-valuetext={`${Math.round(size.value.value)} percent`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.preventDefault();
        event.currentTarget.focus();
      }}
      onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && drag(event)}
      onDblClick={() => set(size.usual)}
      onKeyDown={(event) => {
        const by = moves[event.key];
        const to = by === undefined ? { Home: size.least, End: size.most }[event.key] : size.value.value + by;
        if (to === undefined) return;
        event.preventDefault();
        set(to);
      }}
    />
  );
}
