import { Download } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { CheckField, TextField } from "../../parts/field.tsx";
import { Dialog, tell } from "../../parts/overlays.tsx";
import { fileName, saveFile } from "../../parts/save-file.ts";
import type { Model } from "../model.ts";
import { recorded } from "./recorded.ts";

/** What a file is called whose name says nothing. */
const UNNAMED = "simulation";

/** Saves what was done as a file of a scenario. */
export function SaveDialog({ model, onClose }: { model: Model; onClose: () => void }): JSX.Element {
  const [name, setName] = useState(fileName(model.subject.value?.machine_id ?? "", UNNAMED));
  const [expecting, setExpecting] = useState(true);
  const [failed, setFailed] = useState<unknown>();
  const file = `${fileName(name, UNNAMED)}.scenario.json`;
  const save = (event: Event) => {
    event.preventDefault();
    try {
      const scenario = model.scenario();
      const text = JSON.stringify(expecting ? recorded(scenario) : scenario, undefined, 2);
      saveFile(new Blob([`${text}\n`], { type: "application/json" }), file);
      tell(`Saved ${file}`);
      onClose();
    } catch (error) {
      setFailed(error);
    }
  };
  return (
    <Dialog title="Save scenario" onClose={onClose}>
      <form onSubmit={save}>
        <div class="dialog-body">
          <TextField label="Name" value={name} onInput={setName} hint={file} />
          <CheckField
            label="Record what came of each step, so that a check holds it to that"
            checked={expecting}
            onChange={setExpecting}
          />
          <p class="muted">
            The file is loaded here again, and played in a terminal or in CI by
            <code class="sim-command">npx statewright check {file}</code>
          </p>
          {model.stale.value && <p>The definition has faults now: the last one without is saved.</p>}
          {failed !== undefined && <Failure error={failed} what="It could not be saved" />}
        </div>
        <div class="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" icon={Download}>
            Download
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
