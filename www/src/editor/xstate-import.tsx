import type { JsonDefinition } from "statewright";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";

import { Button } from "../parts/button.tsx";
import { counted } from "../parts/counted.ts";
import { Failure } from "../parts/failure.tsx";
import { Dialog } from "../parts/overlays.tsx";
import type { Translation } from "./xstate/translate.ts";
import "./xstate-import.css";

interface XStateImportProps {
  /** Gets the machine, and after it its children. */
  readonly onImport: (definitions: readonly JsonDefinition[]) => void;
  readonly onClose: () => void;
}

type Outcome = { readonly read: Translation } | { readonly failed: unknown } | undefined;

/** A dialog that makes definitions of an XState v5 machine. What is pasted is read, and never run. */
export function XStateImport({ onImport, onClose }: XStateImportProps): JSX.Element {
  const [text, setText] = useState("");
  const [map, setMap] = useState("");
  const [outcome, setOutcome] = useState<Outcome>();
  const [busy, setBusy] = useState(false);
  const source = useId();
  const meanings = useId();

  const read = async () => {
    setBusy(true);
    try {
      const { translate } = await import("./xstate/translate.ts");
      setOutcome({ read: translate(text, map) });
    } catch (failed) {
      setOutcome({ failed });
    } finally {
      setBusy(false);
    }
  };
  const changed = (set: (value: string) => void) => (event: { currentTarget: HTMLTextAreaElement }) => {
    set(event.currentTarget.value);
    setOutcome(undefined);
  };
  const translation = outcome !== undefined && "read" in outcome ? outcome.read : undefined;
  return (
    <Dialog title="Import from XState" onClose={onClose} wide>
      <div class="dialog-body">
        <div class="field">
          <label for={source}>Machine of XState v5</label>
          <textarea
            id={source}
            class="import-text"
            rows={12}
            spellcheck={false}
            aria-describedby={`${source}-hint`}
            value={text}
            onInput={changed(setText)}
          />
          <p class="field-hint" id={`${source}-hint`}>
            A config as JSON, or a module with <code>createMachine</code>. It is read, not run: code is left
            out and listed.
          </p>
        </div>
        <details>
          <summary>What names of guards, actions and delays mean</summary>
          <div class="field">
            <label for={meanings}>Map (JSON)</label>
            <textarea
              id={meanings}
              class="import-text"
              rows={4}
              spellcheck={false}
              aria-describedby={`${meanings}-hint`}
              value={map}
              onInput={changed(setMap)}
            />
            <p class="field-hint" id={`${meanings}-hint`}>
              For example{" "}
              <code>{'{ "guards": { "isPaid": { "field": "paid", "op": "eq", "value": true } } }'}</code>
            </p>
          </div>
        </details>
        <div aria-live="polite">
          {outcome !== undefined && "failed" in outcome && (
            <Failure error={outcome.failed} what="It could not be read" />
          )}
          {translation !== undefined && <Result {...translation} />}
        </div>
      </div>
      <div class="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        {translation === undefined ? (
          <Button kind="primary" onClick={() => void read()} busy={busy} disabled={text.trim() === ""}>
            Read
          </Button>
        ) : (
          <Button kind="primary" onClick={() => onImport(translation.definitions)}>
            {translation.definitions.length === 1
              ? "Import the machine"
              : `Import ${translation.definitions.length} machines`}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

/** What was read, and all that is otherwise than it was. */
function Result({ definitions, notCarried, leftOut }: Translation): JSX.Element {
  const nothing = notCarried.length + leftOut.length === 0;
  return (
    <section class="stack" aria-label="What was read">
      <p>
        {counted(definitions.length, "machine")}:{" "}
        {definitions.map(({ machine_id }, at) => (
          <>
            {at > 0 && ", "}
            <code>{machine_id}</code>
          </>
        ))}
        {nothing && ". All of it is carried over"}
      </p>
      {notCarried.length > 0 && (
        <div>
          <h3>Not carried over, or not as it was</h3>
          <ul class="import-notes">
            {notCarried.map(({ path, what, why }) => (
              <li>
                <code>{path}</code>: <Words text={what} />
                <p class="muted">
                  <Words text={why} />
                </p>
              </li>
            ))}
          </ul>
        </div>
      )}
      {leftOut.length > 0 && (
        <div>
          <h3>Code that was not read</h3>
          <ul class="import-notes">
            {leftOut.map(({ what, line, column }) => (
              <li>
                Line {line}, column {column}: <Words text={what} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

/** Words, with what stands in backticks as code. */
function Words({ text }: { text: string }): JSX.Element {
  return <>{text.split("`").map((part, at) => (at % 2 === 0 ? part : <code>{part}</code>))}</>;
}
