// Ways of edges as paths of SVG.

import type { Point, Rect } from "./layout.ts";

/** A path along points, with rounded corners. */
export function pathOf(way: readonly Point[], radius = 8): string {
  const points = way.filter((point, index) => {
    const before = way[index - 1];
    return before === undefined || before.x !== point.x || before.y !== point.y;
  });
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const parts = [`M${at(first)}`];
  for (const [index, corner] of rest.entries()) {
    const [before, after] = [points[index], rest[index + 1]];
    if (before === undefined || after === undefined) {
      parts.push(`L${at(corner)}`);
      continue;
    }
    const round = Math.min(radius, distance(before, corner) / 2, distance(corner, after) / 2);
    parts.push(`L${at(toward(corner, before, round))}Q${at(corner)} ${at(toward(corner, after, round))}`);
  }
  return parts.join("");
}

/** The head of an arrow at the end of a way. */
export function headOf(way: readonly Point[], length = 8, half = 4): string {
  const end = way.at(-1);
  const before = way.findLast(({ x, y }) => end !== undefined && (x !== end.x || y !== end.y));
  if (end === undefined || before === undefined) return "";
  const far = distance(before, end);
  const [x, y] = [(end.x - before.x) / far, (end.y - before.y) / far];
  const base = { x: end.x - x * length, y: end.y - y * length };
  return `M${at(end)}L${at({ x: base.x - y * half, y: base.y + x * half })}L${at({ x: base.x + y * half, y: base.y - x * half })}Z`;
}

/** A path along a start, a control point and an end. */
export function curveOf(way: readonly Point[]): string {
  const [start, bend, end] = way;
  return start === undefined || bend === undefined || end === undefined
    ? ""
    : `M${at(start)}Q${at(bend)} ${at(end)}`;
}

/** A curve from box to box; back and forth, two boxes have two different ones. */
export function curveBetween(from: Rect, to: Rect): readonly [Point, Point, Point] {
  const [one, other] = [middle(from), middle(to)];
  if (one.x === other.x && one.y === other.y) {
    const y = from.y + from.height / 2;
    return [
      { x: from.x, y: y - 8 },
      { x: from.x - 40, y },
      { x: from.x, y: y + 8 },
    ];
  }
  const bend = {
    x: (one.x + other.x) / 2 - (other.y - one.y) * 0.15,
    y: (one.y + other.y) / 2 + (other.x - one.x) * 0.15,
  };
  return [border(from, bend), bend, border(to, bend)];
}

function middle({ x, y, width, height }: Rect): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

/** Where the line from a box's middle to a point leaves it. */
function border(box: Rect, toward: Point): Point {
  const { x, y } = middle(box);
  const [right, down] = [toward.x - x, toward.y - y];
  const share = Math.min(
    1,
    right === 0 ? Infinity : box.width / 2 / Math.abs(right),
    down === 0 ? Infinity : box.height / 2 / Math.abs(down),
  );
  return { x: x + right * share, y: y + down * share };
}

function distance(from: Point, to: Point): number {
  return Math.hypot(to.x - from.x, to.y - from.y);
}

function toward(from: Point, to: Point, by: number): Point {
  const far = distance(from, to) || 1;
  return { x: from.x + ((to.x - from.x) * by) / far, y: from.y + ((to.y - from.y) * by) / far };
}

function at({ x, y }: Point): string {
  return `${rounded(x)} ${rounded(y)}`;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
