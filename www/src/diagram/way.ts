// Ways of edges as paths of SVG.

import type { Point } from "./layout.ts";

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
