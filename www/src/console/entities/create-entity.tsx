import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { exactJson } from "../../parts/exact-numbers.ts";
import { Failure } from "../../parts/failure.tsx";
import { TextField } from "../../parts/field.tsx";
import { Dialog, tell } from "../../parts/overlays.tsx";
import { useActing } from "../entity/acting.ts";
import { lazyView } from "../lazy-view.tsx";

const JsonEditor = lazyView("the editor", () =>
  import("../../editor/editor.tsx").then((of) => of.JsonEditor),
);

/** Makes an entity, and goes to it. */
export function CreateEntity({ machine, onClose }: { machine: string; onClose: () => void }): JSX.Element {
  const [id, setId] = useState("");
  const [context, setContext] = useState("{}");
  const { busy, error, run } = useActing();
  const submit = (event: Event) => {
    event.preventDefault();
    run(async (deed) => {
      const { entity_id } = await deed.client.entities.create(machine, {
        entity_id: id,
        context: read(context),
      });
      tell(`${entity_id} is made`);
      deed.visit(["entity", machine, entity_id]);
      onClose();
    });
  };
  return (
    <Dialog title="Create an entity" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <TextField
          label="Id"
          value={id}
          onInput={setId}
          required
          hint="Any text without control characters"
        />
        <div>
          <p class="con-label" aria-hidden="true">
            Context
          </p>
          <div class="con-context">
            <JsonEditor value={context} onChange={setContext} schema="none" label="Context" />
          </div>
        </div>
        <p class="field-hint">
          It starts in the initial state of the newest revision, and knows this context.
        </p>
        {error !== undefined && <Failure error={error} what="The entity was not made" />}
        <div class="dialog-actions">
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function read(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = exactJson(text);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Error(`the context is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("the context is no JSON object");
  return Object.fromEntries(Object.entries(value));
}
