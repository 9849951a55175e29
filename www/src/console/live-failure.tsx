import type { JSX } from "preact";

import { Failure } from "../parts/failure.tsx";
import type { LiveValue } from "./live.ts";

export interface LiveFailureProps {
  readonly live: LiveValue<unknown>;
  /** What it reads. */
  readonly what: string;
  /** Whether the view around it says already that what it shows is old. */
  readonly told?: boolean;
}

/** What stands where a live view has no value to show, or above an old one that could not be read again. */
export function LiveFailure({ live, what, told = false }: LiveFailureProps): JSX.Element | null {
  const { error, value } = live;
  if (error === undefined) return value === undefined ? <p class="loading">Reading {what}…</p> : null;
  if (value === undefined) return <Failure error={error} what={`Could not read ${what}`} />;
  return told ? null : <Failure error={error} what={`Could not read ${what} again; this is how it was`} />;
}
