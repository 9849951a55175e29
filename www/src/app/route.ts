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
/** Whether the place may be left; undefined where nothing speaks against it. */
let gate: (() => Promise<boolean>) | undefined;
let asking = false;

addEventListener("hashchange", () => void follow());

/** Goes where the address is, or has the address come back. */
async function follow(): Promise<void> {
  // The answer to the question that is open is of wherever the address is by then.
  if (asking || location.hash === hash.peek()) return;
  if (await mayLeave()) hash.value = location.hash;
  else history.pushState(null, "", hash.peek());
}

/** Whether the place may be left: what would be lost by that is asked about. */
export async function mayLeave(): Promise<boolean> {
  if (gate === undefined) return true;
  asking = true;
  try {
    return await gate();
  } finally {
    asking = false;
  }
}

/** Has every way out of the place be asked about; answers how it is let go. */
export function holdRoute(ask: () => Promise<boolean>): () => void {
  gate = ask;
  return () => {
    if (gate === ask) gate = undefined;
  };
}

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
