import type { JSX } from "preact";

export function Simulator(): JSX.Element {
  return <h1>Simulator</h1>;
}
