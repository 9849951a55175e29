// Where the console is: the path in the fragment, and filters after a question mark in it.

import { computed } from "@preact/signals";

import { linkTo, route } from "../app/route.ts";
import { readPlace } from "./place-reading.ts";

/** The place in the console: `#/console/machines/order?x=1` has the path `["machines", "order"]`. */
export const place = computed(() => {
  // The route says when it changes; the fragment itself tells a question mark of a name from the one before filters.
  void route.value;
  return readPlace(location.hash);
});

/** A fragment of the console, with filters where there are some. */
export function consoleLink(path: readonly string[], filters?: URLSearchParams): string {
  const query = filters?.toString() ?? "";
  return `${linkTo("console", ...path)}${query === "" ? "" : `?${query}`}`;
}

/** Goes to a place in the console. */
export function visit(path: readonly string[], filters?: URLSearchParams): void {
  location.hash = consoleLink(path, filters);
}

/** Puts other filters in the place of those that are, without a step back in the browser's history. */
export function replacePlace(path: readonly string[], filters?: URLSearchParams): void {
  location.replace(consoleLink(path, filters));
}
