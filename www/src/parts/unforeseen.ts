// What nobody foresaw: a button that seems to do nothing is told of, where it would be in the developer's console alone.

import { messageOf } from "./failure.tsx";
import { tell } from "./overlays.tsx";

/** Browsers report as an error that what was observed is told of a frame later. */
const NO_FAILURE = /^ResizeObserver loop/;

/** From now on tells of every exception that nothing caught. */
export function tellUnforeseen(): void {
  addEventListener("error", ({ error, message }) => {
    if (!NO_FAILURE.test(message)) told(error ?? message);
  });
  addEventListener("unhandledrejection", ({ reason }) => told(reason));
}

function told(error: unknown): void {
  // Given up on purpose.
  if (error instanceof DOMException && error.name === "AbortError") return;
  tell(`That failed: ${messageOf(error)}`);
}
