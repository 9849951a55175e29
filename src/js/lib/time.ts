// Times as they are given: whole milliseconds since the epoch.

import { unfit } from "./json.ts";
import type { At } from "./typed.ts";

/** When something happens: the time that is given, or now. */
export function nowOf({ now = Date.now() }: At): number {
  return timeOf(now, "now");
}

/** A time that is given. */
export function timeOf(time: number, name: string): number {
  if (!Number.isSafeInteger(time)) {
    throw unfit(name, `it is ${String(time)}`, "whole milliseconds since the epoch");
  }
  return time;
}
