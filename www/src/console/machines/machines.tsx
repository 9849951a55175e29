import type { JSX } from "preact";

/** Machines. */
export function MachinesView(): JSX.Element {
  return <h1>Machines</h1>;
}
