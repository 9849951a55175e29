// How wide and how high the panes are, as the user left them.

import { type Signal, signal } from "@preact/signals";

/** A size in percent, and how far it goes. */
export interface Size {
  readonly value: Signal<number>;
  readonly usual: number;
  readonly least: number;
  readonly most: number;
}

const KEY = "statewright.simulator.sizes";

function size(usual: number, least: number, most: number): Size {
  return { value: signal(usual), usual, least, most };
}

/** The definition's width, that of the events, and the height of the panels below the diagram. */
export const SIZES = {
  left: size(27, 14, 45),
  right: size(25, 18, 40),
  bottom: size(38, 12, 75),
};

/** A value within a size's bounds. */
export function within({ least, most }: Size, value: number): number {
  return Math.min(most, Math.max(least, Math.round(value * 10) / 10));
}

/** Takes the sizes from the browser's storage. */
export function restoreSizes(): void {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof kept !== "object" || kept === null) return;
    for (const [name, value] of Object.entries(kept)) {
      const of = Object.entries(SIZES).find(([known]) => known === name)?.[1];
      if (of !== undefined && typeof value === "number") of.value.value = within(of, value);
    }
  } catch {
    // Storage can be forbidden, and hold anything.
  }
}

/** Keeps the sizes for the next visit. */
export function keepSizes(): void {
  const { left, right, bottom } = SIZES;
  try {
    localStorage.setItem(
      KEY,
      JSON.stringify({ left: left.value.value, right: right.value.value, bottom: bottom.value.value }),
    );
  } catch {
    // Then they hold for this page.
  }
}
