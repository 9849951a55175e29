import type { JSX } from "preact";

/** Outbox. */
export function OutboxView(): JSX.Element {
  return <h1>Outbox</h1>;
}
