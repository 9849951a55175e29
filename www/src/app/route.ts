// Where the page is. It stands in the fragment, so that any host of static files serves every address, and nothing of it is sent.

import { computed, signal } from "@preact/signals";

/** A place in the page: `#/console/machines/order` is `["console", "machines", "order"]`. */
export type Route = readonly string[];

function read(hash: string): Route {
  const parts = hash.replace(/^#\/?/, "").split("/");
  const named = parts.filter((part) => part !== "");
  try {
    return named.map(decodeURIComponent);
  } catch {
    // A fragment that was cut off or written by hand.
    return named;
  }
}

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

/** Where the page is now. */
export const route = computed(() => read(hash.value));

/** The fragment that leads there. */
export function linkTo(...to: Route): string {
  return `#/${to.map(encodeURIComponent).join("/")}`;
}

/** Goes there. */
export function go(...to: Route): void {
  location.hash = linkTo(...to);
}

/** Puts the page there without a step back in the browser's history. */
export function replaceRoute(...to: Route): void {
  history.replaceState(history.state, "", linkTo(...to));
  hash.value = location.hash;
}
