import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { StatewrightError } from "statewright/client";

import { useUnsaved } from "../../app/unsaved.ts";
import { JsonEditor } from "../../editor/editor.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { type Deed, useActing } from "../entity/acting.ts";
import { type Judged, problemsOf, useJudgement } from "./validation.ts";

export interface DefinitionFormProps {
  /** What the editor begins with. */
  readonly text: string;
  readonly label: string;
  /** The machine's id, where it is settled. */
  readonly machine?: string;
  /** Numbers of the text that it begins with which were rounded when it was read. */
  readonly rounded?: ReadonlySet<number>;
  readonly names: readonly string[];
  /** What is asked beside the definition. */
  readonly children?: ComponentChildren;
  /** What the button that sends it says. */
  readonly action: string;
  readonly what: string;
  /** Sends it. */
  readonly onSend: (definition: object, deed: Deed) => Promise<void>;
  /** Leaves it; what was written is asked about. */
  readonly onCancel: () => void;
  /** What is lost with it, and what is not. */
  readonly lost: string;
  /** Shown below the editor: the text as it is now. */
  readonly beside?: (text: string) => ComponentChildren;
}

const NONE: ReadonlySet<number> = new Set();

/** A definition that is written and sent: checked by the service on the way, with what it says at the lines it means. */
export function DefinitionForm(props: DefinitionFormProps): JSX.Element {
  const {
    label,
    machine,
    rounded = NONE,
    names,
    children,
    action,
    what,
    onSend,
    onCancel,
    lost,
    beside,
  } = props;
  const [text, setText] = useState(props.text);
  const { busy, run } = useActing();
  const release = useUnsaved(text !== props.text, <p>{lost}</p>);
  const [refused, setRefused] = useState<{ readonly error: unknown; readonly of: string }>();
  const judged = useJudgement(text, machine, rounded);
  const faults =
    refused?.of === text && refused.error instanceof StatewrightError
      ? refused.error.details.faults
      : undefined;
  const problems = faults === undefined ? judged.problems : problemsOf({ faults });
  const send = (event: Event) => {
    event.preventDefault();
    const { definition } = judged;
    if (definition === undefined) return;
    setRefused(undefined);
    run(async (deed) => {
      try {
        const visit = (path: readonly string[]) => {
          release();
          deed.visit(path);
        };
        await onSend(definition, { ...deed, visit });
      } catch (error) {
        setRefused({ error, of: text });
        throw error;
      }
    });
  };
  return (
    <form class="stack" onSubmit={send}>
      <div class="con-editor">
        <JsonEditor value={text} onChange={setText} problems={problems} label={label} names={names} />
      </div>
      <p class="muted" role="status">
        {verdict(judged, problems.length)}
      </p>
      {judged.error !== undefined && <Failure error={judged.error} what="Could not check the definition" />}
      {beside?.(text)}
      {children}
      {refused !== undefined && <Refused error={refused.error} what={what} />}
      <div class="row">
        <Button
          type="submit"
          kind="primary"
          busy={busy}
          disabled={judged.definition === undefined || judged.valid === false}
        >
          {action}
        </Button>
        <Button onClick={onCancel}>Leave it</Button>
      </div>
    </form>
  );
}

function verdict({ valid, definition }: Judged, problems: number): string {
  if (definition === undefined && problems > 0)
    return "A number in it would not be sent as it is written: it is marked.";
  if (definition === undefined) return "This is no JSON object yet.";
  if (valid === undefined) return "Checking…";
  if (!valid) return "The service would refuse this definition: its faults are marked.";
  return problems === 0
    ? "The service would take this definition."
    : "The service would take this definition, with warnings.";
}

function Refused({ error, what }: { error: unknown; what: string }): JSX.Element {
  const live = error instanceof StatewrightError ? error.details.live : undefined;
  return (
    <>
      <Failure error={error} what={what} />
      {live !== undefined && (
        <div class="notice">
          <p>These entities have no place in the new revision:</p>
          <ul class="con-list">
            {live.map(({ region, state, entities }) => (
              <li key={JSON.stringify([region, state])}>
                <strong>{entities >= 1000 ? "1,000 or more" : entities}</strong> in{" "}
                {state === null ? (
                  <>
                    no state of the new region <code>{region}</code>
                  </>
                ) : (
                  <>
                    <code>{state}</code>
                    {region !== "_" && (
                      <>
                        {" "}
                        of region <code>{region}</code>
                      </>
                    )}
                  </>
                )}
              </li>
            ))}
          </ul>
          <p>Give the definition these states back, or let the entities stay on the revision they run by.</p>
        </div>
      )}
    </>
  );
}
