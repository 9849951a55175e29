import type { Entity } from "statewright/client";
import type { JSX } from "preact";

import { counted } from "../../parts/counted.ts";
import { Json } from "../../parts/json.tsx";

/** What the entity knows. */
export function ContextSection({ tree: { context } }: { tree: Entity }): JSX.Element {
  const fields = Object.keys(context).length;
  if (fields === 0) return <p class="empty">The context is empty.</p>;
  return (
    <div class="stack">
      <p class="muted">
        {counted(fields, "field")}: what the entity was made with, and the params of every event that moved
        it.
      </p>
      <Json value={context} label="Context" />
    </div>
  );
}
