// Which part of the drawing is seen, and how large.

import type { Point, Rect } from "./layout.ts";

/** A point of the drawing is seen at `x + scale * point.x`, and so for y. */
export interface View extends Point {
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Smaller, names cannot be read: a larger drawing is seen in part at first. */
const READABLE = 0.62;
const SMALLEST = 0.05;
const LARGEST = 3;
const MARGIN = 12;

function bounded(scale: number): number {
  return Math.min(LARGEST, Math.max(SMALLEST, scale));
}

/** All of the drawing in the middle of the box, at its own size at most. */
export function fitted(drawing: Size, box: Size): View {
  const scale = bounded(
    Math.min(
      1,
      (box.width - 2 * MARGIN) / (drawing.width || 1),
      (box.height - 2 * MARGIN) / (drawing.height || 1),
    ),
  );
  return { scale, x: (box.width - drawing.width * scale) / 2, y: (box.height - drawing.height * scale) / 2 };
}

/** All of the drawing where that can be read; else the part around what matters, readable. */
export function opening(drawing: Size, box: Size, matters: Rect | undefined): View {
  const whole = fitted(drawing, box);
  if (whole.scale >= READABLE) return whole;
  const [scale, rect] = [READABLE, matters ?? { x: drawing.width / 2, y: 0, width: 0, height: 0 }];
  const wanted = {
    scale,
    x: box.width / 2 - (rect.x + rect.width / 2) * scale,
    y: box.height / 2 - (rect.y + rect.height / 2) * scale,
  };
  return {
    scale,
    x: filling(wanted.x, drawing.width * scale, box.width),
    y: filling(wanted.y, drawing.height * scale, box.height),
  };
}

/** No more empty room at one side than is needed. */
function filling(at: number, drawn: number, seen: number): number {
  if (drawn + 2 * MARGIN <= seen) return (seen - drawn) / 2;
  return Math.min(MARGIN, Math.max(seen - drawn - MARGIN, at));
}

/** Larger or smaller, with a point of the box staying where it is. */
export function zoomed(view: View, factor: number, at: Point): View {
  const scale = bounded(view.scale * factor);
  const by = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by };
}

/** Moved, with some of the drawing always in the box. */
export function moved(view: View, by: Point, drawing: Size, box: Size): View {
  return within({ ...view, x: view.x + by.x, y: view.y + by.y }, drawing, box);
}

function within(view: View, drawing: Size, box: Size): View {
  const keep = 48;
  const clamp = (at: number, drawn: number, seen: number) =>
    Math.min(seen - keep, Math.max(keep - drawn * view.scale, at));
  return {
    ...view,
    x: clamp(view.x, drawing.width, box.width),
    y: clamp(view.y, drawing.height, box.height),
  };
}

/** As little moved as shows a part of the drawing. */
export function showing(view: View, { x, y, width, height }: Rect, box: Size): View {
  const along = (at: number, from: number, length: number, seen: number) => {
    const [start, end] = [at + from * view.scale, at + (from + length) * view.scale];
    if (start < MARGIN) return at + MARGIN - start;
    return end > seen - MARGIN ? at - Math.min(end - (seen - MARGIN), start - MARGIN) : at;
  };
  return { ...view, x: along(view.x, x, width, box.width), y: along(view.y, y, height, box.height) };
}

/** Whether all of the drawing is seen. */
export function isWhole({ x, y, scale }: View, drawing: Size, box: Size): boolean {
  const inside = (at: number, drawn: number, seen: number) => at >= -1 && at + drawn * scale <= seen + 1;
  return inside(x, drawing.width, box.width) && inside(y, drawing.height, box.height);
}
