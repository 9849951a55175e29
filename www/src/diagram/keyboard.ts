// From state to state by arrow keys: to the nearest one in that direction.

import type { Layout, Rect } from "./layout.ts";

export type Direction = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

/** The direction of an arrow key. */
export function directionOf(key: string): Direction | undefined {
  return key === "ArrowUp" || key === "ArrowDown" || key === "ArrowLeft" || key === "ArrowRight"
    ? key
    : undefined;
}

/** The state that an arrow key leads to from another. */
export function neighbour({ states }: Layout, from: string, direction: Direction): string | undefined {
  const start = states.get(from)?.rect;
  if (start === undefined) return undefined;
  let best: { key: string; far: number } | undefined;
  for (const [key, { rect }] of states) {
    if (key === from) continue;
    const far = distance(start, rect, direction);
    if (far !== undefined && (best === undefined || far < best.far)) best = { key, far };
  }
  return best?.key;
}

/** How far a state is in a direction; aside counts double. Undefined where it is not there. */
function distance(from: Rect, to: Rect, direction: Direction): number | undefined {
  const x = to.x + to.width / 2 - (from.x + from.width / 2);
  // Boxes with children inside are as high as those: their names count.
  const y = to.y - from.y;
  const [ahead, aside] =
    direction === "ArrowDown"
      ? [y, x]
      : direction === "ArrowUp"
        ? [-y, x]
        : direction === "ArrowRight"
          ? [x, y]
          : [-x, y];
  return ahead > 1 && Math.abs(aside) <= ahead * 4 ? ahead + Math.abs(aside) * 2 : undefined;
}
