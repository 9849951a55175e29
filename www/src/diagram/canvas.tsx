// Where the drawing is seen, and walked through from state to state.

import type { JSX, Ref } from "preact";
import { useEffect, useImperativeHandle, useMemo, useRef, useState } from "preact/hooks";

import { ItemView } from "./drawing.tsx";
import type { Item } from "./items.ts";
import type { StateActs } from "./state-view.tsx";
import type { StateNode } from "./graph.ts";
import { directionOf, neighbour } from "./keyboard.ts";
import type { Layout } from "./layout.ts";
import type { Marks } from "./marks.ts";
import { edgesFrom, stateSaid } from "./text.ts";
import { stateElement, usePortions } from "./use-portions.ts";
import { useView } from "./use-view.ts";
import type { Size } from "./viewport.ts";

/** What the toolbar does with the drawing. */
export interface CanvasHandle {
  fit(): void;
  zoom(by: number): void;
  /** The room that there is. */
  box(): Size;
  /** The drawing as it is now. */
  drawing(): SVGSVGElement | null;
}

export interface CanvasProps {
  readonly handle: Ref<CanvasHandle>;
  readonly layout: Layout | undefined;
  /** Whether a newer one is on its way. */
  readonly busy: boolean;
  readonly marks: Marks;
  readonly label: string;
  /** The id of the text that describes it. */
  readonly described: string;
  readonly choose: ((state: StateNode) => void) | undefined;
  readonly toggle: (state: StateNode) => void;
}

const STEP = 60;

/** The drawing. */
export function Canvas({
  handle,
  layout: newest,
  busy,
  marks,
  label,
  described,
  choose,
  toggle,
}: CanvasProps): JSX.Element {
  const svg = useRef<SVGSVGElement>(null);
  const { shown, coming } = usePortions(newest, svg);
  const layout = shown?.layout;
  const [entry, setEntry] = useState<string>();
  const [near, setNear] = useState<string>();
  const see = useView(svg, layout, marks);
  useImperativeHandle(handle, () => ({
    fit: see.fit,
    zoom: see.zoom,
    box: see.box,
    drawing: () => svg.current,
  }));

  const lit = useRef<{ layout: Layout | undefined; keys: ReadonlySet<string> }>({
    layout: undefined,
    keys: new Set(),
  });
  useEffect(() => {
    const keys = new Set([...marks.lights].filter(([, light]) => light === "current").map(([key]) => key));
    const before = lit.current;
    lit.current = { layout, keys };
    // What was entered is brought into sight; a drawing that has just come is opened where it matters anyway.
    if (before.layout !== layout) return;
    const entered = [...keys].find((key) => !before.keys.has(key));
    const rect = layout?.states.get(entered ?? "")?.rect;
    if (rect !== undefined) see.reveal(rect);
  }, [layout, marks]);

  const focus = (key: string) => {
    const placed = layout?.states.get(key);
    if (placed === undefined) return;
    see.reveal(placed.rect);
    stateElement(svg.current, key)?.focus({ preventScroll: true });
  };
  const change = (state: StateNode) => {
    see.hold(state.key);
    toggle(state);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey || layout === undefined) return;
    const on = keyOf(event.target);
    const state = on === undefined ? undefined : layout.states.get(on)?.of;
    const direction = directionOf(key);
    if (key === "+" || key === "=") see.zoom(1.25);
    else if (key === "-") see.zoom(0.8);
    else if (key === "0") see.fit();
    else if (direction !== undefined && on !== undefined && !shiftKey) {
      const next = neighbour(layout, on, direction);
      if (next !== undefined) focus(next);
    } else if (direction !== undefined) see.move(STEPS[direction]);
    else if (state !== undefined && key === "Enter") choose?.(state);
    else if (state !== undefined && key === " ") {
      if (state.child?.known === true) change(state);
    } else if (state !== undefined && key === "Escape") svg.current?.focus();
    else return;
    event.preventDefault();
  };

  const say = useMemo(() => saying(newest, marks), [newest, marks]);
  const first = useMemo(() => {
    const keys = [...(layout?.states.keys() ?? [])];
    return keys.find((key) => marks.lights.get(key) === "current") ?? keys[0];
  }, [layout, marks]);
  const tab = entry !== undefined && layout?.states.has(entry) === true ? entry : first;
  const told = useRef({ choose, change });
  told.current = { choose, change };
  const acts: StateActs = useMemo(
    () => ({
      choose: choose === undefined ? undefined : (state) => told.current.choose?.(state),
      toggle: (state) => told.current.change(state),
    }),
    [choose === undefined],
  );
  const view = (item: Item) => (
    <ItemView key={item.key} item={item} marks={marks} acts={acts} say={say} entry={tab} near={near} />
  );

  return (
    <div class="diagram-canvas">
      <svg
        ref={svg}
        class="diagram-drawing"
        role="group"
        aria-label={`${label}, drawing`}
        aria-describedby={described}
        aria-busy={busy || layout === undefined || layout !== newest}
        tabindex={0}
        onKeyDown={onKeyDown}
        onFocusIn={({ target }) => {
          setEntry((before) => keyOf(target) ?? before);
          setNear(keyOf(target));
        }}
        onFocusOut={() => setNear(undefined)}
        onPointerOver={({ target, pointerType }) => {
          if (pointerType === "mouse") setNear(keyOf(target));
        }}
        onPointerLeave={() => setNear(undefined)}
      >
        <g ref={see.content}>
          {shown !== undefined && (
            <g
              key={shown.group}
              class="diagram-content"
              data-width={shown.layout.width}
              data-height={shown.layout.height}
            >
              {shown.items.map(view)}
            </g>
          )}
          {coming !== undefined && (
            <g key={coming.group} class="diagram-coming">
              {coming.items.slice(0, coming.count).map(view)}
            </g>
          )}
        </g>
      </svg>
      {layout === undefined && <p class="diagram-wait">Drawing…</p>}
    </div>
  );
}

/** The key of the state that something belongs to. */
function keyOf(target: EventTarget | null): string | undefined {
  const state = target instanceof Element ? target.closest("[data-key]") : null;
  return state?.getAttribute("data-key") ?? undefined;
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
