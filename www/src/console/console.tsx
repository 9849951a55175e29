import type { JSX } from "preact";

export function Console(): JSX.Element {
  return <h1>Console</h1>;
}
