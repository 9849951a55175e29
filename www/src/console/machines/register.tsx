import type { JSX } from "preact";

/** Register a machine. */
export function RegisterView(): JSX.Element {
  return <h1>Register a machine</h1>;
}
