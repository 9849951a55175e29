import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../parts/button.tsx";
import { messageOf } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Dialog } from "../parts/overlays.tsx";
import { rootsOf } from "./model-documents.ts";
import type { Model } from "./model.ts";
import { objectSaid } from "./params-fields.ts";

/** A dialog that makes an entity. */
export function NewEntity({ model, onClose }: { model: Model; onClose: () => void }): JSX.Element {
  const definitions = model.definitions.value;
  const [machine, setMachine] = useState(() => rootsOf(definitions)[0] ?? "");
  const [typedId, setId] = useState<string>();
  const [text, setText] = useState("");
  const [refused, setRefused] = useState<string>();
  const id = typedId ?? freeId(model, machine);
  const { value: context, problem } = objectSaid(text);
  const create = (event: Event): void => {
    event.preventDefault();
    if (context === undefined || id === "") return;
    // Asked first: what is refused would be a step.
    const odd = model.refusedId(machine, id);
    if (odd !== undefined) return setRefused(odd);
    if (!model.act((session) => session.create(machine, id, context))) {
      // Told here, where it can be corrected.
      setRefused(messageOf(model.failure.value));
      model.failure.value = undefined;
      return model.undo();
    }
    model.subject.value = { machine_id: machine, entity_id: id };
    return onClose();
  };
  return (
    <Dialog title="New entity" onClose={onClose}>
      <form class="stack" onSubmit={create}>
        <SelectField
          label="Machine"
          value={machine}
          options={definitions.map(({ machine_id }) => ({ value: machine_id, label: machine_id }))}
          onSelect={setMachine}
        />
        <TextField label="Id" value={id} required onInput={setId} problem={refused} />
        <TextField
          label="Context (JSON)"
          value={text}
          placeholder='{"customer": "c-17"}'
          problem={problem}
          onInput={setText}
        />
        <div class="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={context === undefined || id === ""}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** An id that no entity of the machine has. */
function freeId(model: Model, machine: string): string {
  const taken = new Set(
    model.view.value?.entities
      .filter(({ machine_id }) => machine_id === machine)
      .map(({ entity_id }) => entity_id),
  );
  const name = machine.slice(0, 100);
  let count = 1;
  while (taken.has(`${name}-${count}`)) count += 1;
  return `${name}-${count}`;
}
