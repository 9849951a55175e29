// A large drawing comes in portions, a frame each, behind the one that is shown: so the page goes on answering.

import type { RefObject } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import { type Item, itemsOf } from "./items.ts";
import type { Layout } from "./layout.ts";

/** A drawing, or as much of it as there is. */
export interface Drawn {
  readonly layout: Layout;
  readonly items: readonly Item[];
  readonly count: number;
  /** What it is drawn into. Small drawings change in place. */
  readonly group: number;
}

/** So many shapes are drawn in one go. */
const PORTION = 50;
const AT_ONCE = 160;

/** The element of a state in the drawing that is shown. */
export function stateElement(svg: SVGSVGElement | null, key: string): SVGElement | undefined {
  return svg?.querySelector<SVGElement>(`.diagram-content [data-key="${key}"]`) ?? undefined;
}

/** What is shown, and what comes to take its place. */
export function usePortions(
  newest: Layout | undefined,
  svg: RefObject<SVGSVGElement | null>,
): { shown: Drawn | undefined; coming: Drawn | undefined } {
  const [{ shown, coming }, set] = useState<{ shown: Drawn | undefined; coming: Drawn | undefined }>({
    shown: undefined,
    coming: undefined,
  });
  const items = useMemo(() => (newest === undefined ? [] : itemsOf(newest)), [newest]);
  const atOnce = items.length <= AT_ONCE;

  useEffect(() => {
    if (newest === undefined || atOnce || shown?.layout === newest) return undefined;
    const frame = requestAnimationFrame(() => {
      const count = coming?.layout === newest ? coming.count + PORTION : PORTION;
      const group =
        coming?.layout === newest ? coming.group : Math.max(shown?.group ?? 0, coming?.group ?? 0) + 1;
      const drawn = { layout: newest, items, count, group };
      if (count < items.length) {
        set({ shown, coming: drawn });
        return;
      }
      const focused = document.activeElement;
      const key = svg.current?.contains(focused) === true ? focused?.getAttribute("data-key") : undefined;
      set({ shown: drawn, coming: undefined });
      if (key !== undefined && key !== null) {
        requestAnimationFrame(() => stateElement(svg.current, key)?.focus({ preventScroll: true }));
      }
    });
    return () => cancelAnimationFrame(frame);
  }, [newest, items, atOnce, shown, coming]);

  if (newest !== undefined && atOnce && shown?.layout !== newest) {
    const drawn = { layout: newest, items, count: items.length, group: shown?.group ?? 0 };
    set({ shown: drawn, coming: undefined });
    return { shown: drawn, coming: undefined };
  }
  return { shown, coming: newest === undefined ? undefined : coming };
}
