import type { JSX } from "preact";

import { Failure } from "../parts/failure.tsx";
import type { LiveValue } from "./live.ts";

/** What stands where a live view has no value to show, or above an old one that could not be read again. */
export function LiveFailure({ live, what }: { live: LiveValue<unknown>; what: string }): JSX.Element | null {
  if (live.error !== undefined) {
    const stale = live.value !== undefined;
    return (
      <Failure
        error={live.error}
        what={stale ? `Could not read ${what} again; this is how it was` : `Could not read ${what}`}
      />
    );
  }
  return live.value === undefined ? <p class="loading">Reading {what}…</p> : null;
}
