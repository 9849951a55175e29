import type { Source } from "statewright/client";
import type { JSX } from "preact";

/** Whether a source takes requests. */
export function Takes({ source }: { source: Source }): JSX.Element {
  return source["active"] === false ? (
    <span class="badge badge-warn">nothing</span>
  ) : (
    <span class="badge badge-good">requests</span>
  );
}
