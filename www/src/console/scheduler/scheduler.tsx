import type { JSX } from "preact";

/** Scheduler. */
export function SchedulerView(): JSX.Element {
  return <h1>Scheduler</h1>;
}
