// Which part of the drawing is seen: as it opens, and as the user moves it.

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { Gestures } from "./gestures.ts";
import type { Layout, Point, Rect } from "./layout.ts";
import type { Marks } from "./marks.ts";
import { fitted, isWhole, moved, opening, showing, type Size, type View, zoomed } from "./viewport.ts";

/** What can be done with what is seen. None of it draws anything anew. */
export interface Seeing {
  /** The element that is moved. */
  readonly content: RefObject<SVGGElement | null>;
  /** The room that there is. */
  readonly box: () => Size;
  readonly fit: () => void;
  readonly zoom: (by: number, at?: Point) => void;
  readonly move: (by: Point) => void;
  /** Brings a part into sight. */
  readonly reveal: (rect: Rect) => void;
  /** Keeps a state where it is when the next layout comes. */
  readonly hold: (key: string) => void;
}

/** What is seen of a layout in an element. */
export function useView(
  svg: RefObject<SVGSVGElement | null>,
  layout: Layout | undefined,
  marks: Marks,
): Seeing {
  const content = useRef<SVGGElement>(null);
  const now = useRef({ layout, marks });
  now.current = { layout, marks };
  const before = useRef<Layout>(undefined);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  /** What the view is: as it opened, the whole, or what the user made of it, which stays when the box changes. */
  const is = useRef<"opened" | "whole" | "chosen">("opened");
  const held = useRef<string>(undefined);

  const acts = useMemo(() => {
    const box = () => ({ width: svg.current?.clientWidth ?? 0, height: svg.current?.clientHeight ?? 0 });
    const show = (next: View) => {
      view.current = next;
      content.current?.setAttribute("transform", `translate(${next.x} ${next.y}) scale(${next.scale})`);
    };
    const choose = (next: View) => {
      is.current = "chosen";
      show(next);
    };
    const open = () => {
      const { layout: drawn, marks: lit } = now.current;
      // Where it is not seen, it has no size.
      if (drawn === undefined || is.current === "chosen" || box().width === 0) return;
      if (is.current === "whole") {
        show(fitted(drawn, box()));
        return;
      }
      show(opening(drawn, box(), mattersOf(drawn, lit)));
    };
    return {
      box,
      open,
      show,
      fit: () => {
        is.current = "whole";
        open();
      },
      zoom: (by: number, at?: Point) => {
        const { width, height } = box();
        choose(zoomed(view.current, by, at ?? { x: width / 2, y: height / 2 }));
      },
      move: (by: Point) => {
        if (now.current.layout !== undefined) choose(moved(view.current, by, now.current.layout, box()));
      },
      roll: (by: Point) => {
        const { layout: drawn } = now.current;
        if (drawn === undefined || isWhole(view.current, drawn, box())) return false;
        choose(moved(view.current, by, drawn, box()));
        return true;
      },
      reveal: (rect: Rect) => {
        if (box().width === 0) return;
        const next = showing(view.current, rect, box());
        if (next.x !== view.current.x || next.y !== view.current.y) show(next);
      },
      hold: (key: string) => {
        held.current = key;
      },
    };
  }, []);

  useLayoutEffect(() => {
    const key = held.current;
    const [was, will] = [before.current?.states.get(key ?? "")?.rect, layout?.states.get(key ?? "")?.rect];
    before.current = layout;
    held.current = undefined;
    if (was === undefined || will === undefined || is.current !== "chosen") {
      acts.open();
      return;
    }
    const { x, y, scale } = view.current;
    acts.show({ scale, x: x + (was.x - will.x) * scale, y: y + (was.y - will.y) * scale });
  }, [layout]);

  useEffect(() => {
    const { current } = svg;
    if (current === null) return undefined;
    const sizes = new ResizeObserver(acts.open);
    sizes.observe(current);
    const gestures = new Gestures(current, acts);
    return () => {
      sizes.disconnect();
      gestures.end();
    };
  }, []);

  return useMemo(() => ({ content, ...acts }), []);
}

/** What is to be seen of a drawing that cannot be seen whole: where the last move led, what is current, or where it begins. */
function mattersOf({ edges, states, initials }: Layout, { takenEdges, lights }: Marks): Rect | undefined {
  const taken = edges.findLast(({ of }) => takenEdges.has(of.key))?.of.to.key;
  const current = taken ?? [...states.keys()].find((key) => lights.get(key) === "current");
  return current === undefined ? initials[0]?.rect : states.get(current)?.rect;
}
