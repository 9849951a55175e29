import { Download } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { CheckField, TextField } from "../../parts/field.tsx";
import { Dialog, tell } from "../../parts/overlays.tsx";
import type { Model } from "../model.ts";
import { recorded } from "./recorded.ts";

/** Saves what was done as a file of a scenario. */
export function SaveDialog({ model, onClose }: { model: Model; onClose: () => void }): JSX.Element {
  const [name, setName] = useState(fileName(model.subject.value?.machine_id ?? ""));
  const [expecting, setExpecting] = useState(true);
  const [failed, setFailed] = useState<unknown>();
  const file = `${fileName(name)}.scenario.json`;
  const save = (event: Event) => {
    event.preventDefault();
    try {
      const scenario = model.scenario();
      download(file, `${JSON.stringify(expecting ? recorded(scenario) : scenario, undefined, 2)}\n`);
      tell(`Saved as ${file}`);
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

/** A name that every file system takes. */
function fileName(name: string): string {
  const plain = name.normalize("NFKD").replace(/[^\w.-]+/g, "-");
  return plain.replace(/^[.-]+|[.-]+$/g, "").slice(0, 60) || "simulation";
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
