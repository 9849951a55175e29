// Where the drawing is seen: moved by dragging, wheel and arrow keys, and walked through from state to state.

import type { JSX } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Ref } from "preact";

import { type Item, ItemView, itemsOf, type StateActs } from "./drawing.tsx";
import { Gestures } from "./gestures.ts";
import type { StateNode } from "./graph.ts";
import { directionOf, neighbour } from "./keyboard.ts";
import type { Layout } from "./layout.ts";
import type { Marks } from "./marks.ts";
import { edgesFrom, stateSaid } from "./text.ts";
import { fitted, moved, opening, showing, type View, zoomed } from "./viewport.ts";

/** What the toolbar does with the drawing. */
export interface CanvasHandle {
  fit(): void;
  zoom(by: number): void;
  /** The drawing as it is now. */
  drawing(): SVGSVGElement | null;
}

export interface CanvasProps {
  readonly handle: Ref<CanvasHandle>;
  readonly layout: Layout | undefined;
  readonly marks: Marks;
  readonly label: string;
  /** The id of the text that describes it. */
  readonly described: string;
  readonly choose: ((state: StateNode) => void) | undefined;
  readonly toggle: (state: StateNode) => void;
}

/** How many shapes are drawn at once: so the page goes on answering while a large drawing comes. */
const PORTION = 60;
const STEP = 60;

/** The drawing. */
export function Canvas({ handle, layout: newest, marks, label, described, choose, toggle }: CanvasProps): JSX.Element {
  const { layout, items, count } = usePortions(newest);
  const svg = useRef<SVGSVGElement>(null);
  const content = useRef<SVGGElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  /** Whether the user chose what is seen: then it stays when the box changes. */
  const chosen = useRef(false);
  const [entry, setEntry] = useState<string>();

  const box = () => {
    const { clientWidth: width = 0, clientHeight: height = 0 } = svg.current ?? {};
    return { width, height };
  };
  const show = (next: View) => {
    view.current = next;
    content.current?.setAttribute("transform", `translate(${next.x} ${next.y}) scale(${next.scale})`);
  };
  const choseView = (next: View) => {
    chosen.current = true;
    show(next);
  };
  const zoom = (by: number, at = { x: box().width / 2, y: box().height / 2 }) => choseView(zoomed(view.current, by, at));
  const move = (by: { x: number; y: number }) => {
    if (layout !== undefined) choseView(moved(view.current, by, layout, box()));
  };
  const fit = () => {
    if (layout === undefined) return;
    show(fitted(layout, box()));
    chosen.current = false;
  };
  useImperativeHandle(handle, () => ({ fit, zoom, drawing: () => svg.current }));

  const open = () => {
    if (layout === undefined || chosen.current) return;
    const matters = [...layout.states.keys()].find((key) => marks.lights.get(key) === "current");
    show(opening(layout, box(), layout.states.get(matters ?? "")?.rect ?? layout.initials[0]?.rect));
  };
  const opened = useRef(open);
  opened.current = open;
  useLayoutEffect(() => opened.current(), [layout]);

  const acts = useRef({ zoom, move });
  acts.current = { zoom, move };
  useEffect(() => {
    const { current } = svg;
    if (current === null) return undefined;
    const sizes = new ResizeObserver(() => opened.current());
    sizes.observe(current);
    const gestures = new Gestures(current, {
      zoom: (by, at) => acts.current.zoom(by, at),
      move: (by) => acts.current.move(by),
    });
    return () => {
      sizes.disconnect();
      gestures.end();
    };
  }, []);

  const focus = (key: string) => {
    const placed = layout?.states.get(key);
    if (placed === undefined) return;
    setEntry(key);
    show(showing(view.current, placed.rect, box()));
    svg.current?.querySelector<SVGGElement>(`[data-key="${key}"]`)?.focus({ preventScroll: true });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey || layout === undefined) return;
    const on = event.target instanceof Element ? (event.target.getAttribute("data-key") ?? undefined) : undefined;
    const state = on === undefined ? undefined : layout.states.get(on)?.of;
    const direction = directionOf(key);
    if (key === "+" || key === "=") zoom(1.25);
    else if (key === "-") zoom(0.8);
    else if (key === "0") fit();
    else if (direction !== undefined && on !== undefined && !shiftKey) {
      const next = neighbour(layout, on, direction);
      if (next !== undefined) focus(next);
    } else if (direction !== undefined) move(STEPS[direction]);
    else if (state !== undefined && key === "Enter") choose?.(state);
    else if (state !== undefined && key === " " && state.child?.known === true) toggle(state);
    else if (state !== undefined && key === "Escape") svg.current?.focus();
    else return;
    event.preventDefault();
  };

  const said = useMemo(() => saying(layout, marks), [layout, marks]);
  const first = useMemo(() => {
    const keys = [...(layout?.states.keys() ?? [])];
    return keys.find((key) => marks.lights.get(key) === "current") ?? keys[0];
  }, [layout, marks]);
  const tab = entry !== undefined && layout?.states.has(entry) === true ? entry : first;
  const told = useRef({ choose, toggle });
  told.current = { choose, toggle };
  const stateActs: StateActs = useMemo(
    () => ({
      say: said,
      choose: choose === undefined ? undefined : (state) => told.current.choose?.(state),
      toggle: (state) => told.current.toggle(state),
    }),
    [said, choose === undefined],
  );

  return (
    <div class="diagram-canvas">
      <svg
        ref={svg}
        class="diagram-drawing"
        role="group"
        aria-label={`${label}, drawing`}
        aria-describedby={described}
        aria-busy={layout === undefined || layout !== newest}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onFocusIn={({ target }) => {
          const key = target instanceof Element ? target.getAttribute("data-key") : null;
          if (key !== null) setEntry(key);
        }}
      >
        <g ref={content} class="diagram-content" data-width={layout?.width} data-height={layout?.height}>
          {items.slice(0, count).map((item) => (
            <ItemView key={item.key} item={item} marks={marks} acts={stateActs} entry={tab} />
          ))}
        </g>
      </svg>
      {layout === undefined && <p class="diagram-wait">Drawing…</p>}
    </div>
  );
}

const STEPS = {
  ArrowUp: { x: 0, y: STEP },
  ArrowDown: { x: 0, y: -STEP },
  ArrowLeft: { x: STEP, y: 0 },
  ArrowRight: { x: -STEP, y: 0 },
} as const;

/** What is said of each state, made once a change. */
function saying(layout: Layout | undefined, marks: Marks): (state: StateNode) => string {
  const known = new Map<string, string>();
  const leaving = layout === undefined ? undefined : edgesFrom(layout.graph);
  return (state) => {
    const said = known.get(state.key) ?? stateSaid(state, leaving?.get(state.key) ?? [], marks);
    known.set(state.key, said);
    return said;
  };
}

/** The newest layout, drawn in portions, a frame each. */
function usePortions(newest: Layout | undefined): { layout: Layout | undefined; items: readonly Item[]; count: number } {
  const items = useMemo(() => (newest === undefined ? [] : itemsOf(newest)), [newest]);
  const [drawn, setDrawn] = useState<{ layout: Layout | undefined; count: number }>({ layout: undefined, count: 0 });
  const count = drawn.layout === newest ? drawn.count : PORTION;
  useEffect(() => {
    if (count >= items.length) return undefined;
    const frame = requestAnimationFrame(() => setDrawn({ layout: newest, count: count + PORTION }));
    return () => cancelAnimationFrame(frame);
  }, [newest, count, items]);
  return { layout: newest, items, count };
}
