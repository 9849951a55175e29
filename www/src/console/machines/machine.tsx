import type { JSX } from "preact";

/** One machine. */
export function MachineView({ machine }: { machine: string }): JSX.Element {
  return <h1>{machine}</h1>;
}
