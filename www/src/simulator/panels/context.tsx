import { Copy } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import type { Model } from "../model.ts";
import { copyJson } from "../../parts/clipboard.ts";
import { contextBefore, isCompared } from "./before.ts";
import { type Line, linesOf } from "./context-lines.ts";
import { EntityName } from "./entity-name.tsx";
import { short } from "./short.ts";

/** How many lines are drawn at first. */
const SHOWN = 300;
const MARKS = new Map([
  ["added", "+"],
  ["changed", "~"],
  ["removed", "−"],
]);

/** The context of the entity that is looked at, with what the last step changed marked. */
export function ContextPanel({ model }: { model: Model }): JSX.Element {
  const view = model.view.value;
  const subject = model.subject.value;
  const [all, setAll] = useState(false);
  const entity = view?.entities.find(
    ({ machine_id, entity_id }) => machine_id === subject?.machine_id && entity_id === subject.entity_id,
  );
  if (view === undefined || entity === undefined) return <p class="empty">There is no entity.</p>;
  const lines = linesOf(entity.context, contextBefore(model, view, entity));
  const changes = lines.filter(({ mark }) => mark !== undefined).length;
  const drawn = all ? lines : lines.slice(0, SHOWN);
  return (
    <div class="stack">
      <div class="sim-entity-head">
        <h3>
          <EntityName model={model} entity={entity} />
        </h3>
        <span class="muted" role="status">
          {!isCompared(view)
            ? "What a step changes is not marked here"
            : changes === 0
              ? "The last step changed nothing here"
              : "What the last step changed is marked"}
        </span>
        <Button icon={Copy} onClick={() => void copyJson(entity.context, "The context is")}>
          Copy as JSON
        </Button>
      </div>
      <div
        class="sim-context"
        role="region"
        aria-label={`Context of ${short(entity.entity_id)}`}
        tabIndex={0}
      >
        {drawn.map((line, at) => (
          <ContextLine key={at} line={line} />
        ))}
      </div>
      {lines.length > drawn.length && (
        <div>
          <Button onClick={() => setAll(true)}>Show all {lines.length} lines</Button>
        </div>
      )}
    </div>
  );
}

function ContextLine({ line: { depth, text, mark, was } }: { line: Line }): JSX.Element {
  return (
    <div class={mark === undefined ? "sim-line" : `sim-line sim-line-${mark}`}>
      <span class="sim-line-mark" aria-hidden="true">
        {mark === undefined ? "" : MARKS.get(mark)}
      </span>
      <code style={{ paddingInlineStart: `${Math.min(depth, 20)}rem` }}>{short(text, 500)}</code>
      {mark !== undefined && (
        <span class="sim-line-note">
          {mark}
          {was !== undefined && <>, was {short(was, 80)}</>}
        </span>
      )}
    </div>
  );
}
