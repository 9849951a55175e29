import type { JSX } from "preact";

/** Sources. */
export function SourcesView(): JSX.Element {
  return <h1>Sources</h1>;
}
