import type { JSX } from "preact";

/** Look up. */
export function LookUpView(): JSX.Element {
  return <h1>Look up</h1>;
}
