import type { NewSource, Source } from "statewright/client";
import { StatewrightError } from "statewright/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { useUnsaved } from "../../app/unsaved.ts";
import { JsonEditor, jsonText, type Problem } from "../../editor/editor.tsx";
import { Button } from "../../parts/button.tsx";
import { exactJson } from "../../parts/exact-numbers.ts";
import { Failure } from "../../parts/failure.tsx";
import { TextField } from "../../parts/field.tsx";
import { tell } from "../../parts/overlays.tsx";
import { apiPath } from "../curl.ts";
import { type Deed, useActing } from "../entity/acting.ts";
import { CopyCurl } from "../entity/copy-curl.tsx";
import { useMachineNames } from "../machines/names.ts";
import { consoleLink, visit } from "../place.ts";
import { useArrival } from "./arrival.ts";
import { definitionOf, readObject, startOf } from "./definition.ts";

/** Writes a new source, or one in the place of `before`. */
export function PutSource({ before }: { before: Source | undefined }): JSX.Element {
  const heading = useArrival();
  const [machine] = useMachineNames();
  // What it begins with is settled once: what the service says meanwhile must not write over the user.
  const [begun] = useState(before);
  const [id, setId] = useState(begun?.id ?? "");
  const [written, setWritten] = useState<string>();
  const start = jsonText(begun === undefined ? startOf(machine ?? "order") : definitionOf(begun));
  const text = written ?? start;
  const { busy, error, run } = useActing();
  const release = useUnsaved(
    written !== undefined && written !== start,
    <p>The source was not sent, and what you wrote is lost.</p>,
  );
  const [refused, setRefused] = useState<{ readonly of: string; readonly error: unknown }>();

  const submit = (event: Event) => {
    event.preventDefault();
    run(async (deed) => {
      setRefused(undefined);
      const definition = readObject(text);
      if (begun === undefined && !(await mayReplace(id, deed))) return;
      try {
        // What was written is any object: the service says what is wrong with it, if something is.
        await deed.client.sources.put(id, definition as unknown as NewSource);
      } catch (error) {
        setRefused({ of: text, error });
        throw error;
      }
      tell(begun === undefined ? `${id} is made` : `${id} is replaced`);
      release();
      deed.visit(["sources", id]);
    });
  };
  const leave = () => visit(begun === undefined ? ["sources"] : ["sources", begun.id]);
  return (
    <div class="stack">
      <nav class="con-crumbs" aria-label="Where this is">
        <a href={consoleLink(["sources"])}>All sources</a>
        {begun !== undefined && <a href={consoleLink(["sources", begun.id])}>{begun.id}</a>}
      </nav>
      <h1 class="con-title" ref={heading} tabIndex={-1}>
        {begun === undefined ? "New source" : `Edit ${begun.id}`}
      </h1>
      <form class="stack" onSubmit={submit}>
        {begun === undefined && (
          <div class="con-source-id">
            <TextField
              label="Id"
              value={id}
              onInput={setId}
              required
              hint="1 to 64 letters, digits, dots, lines and underscores; it is a part of the address"
            />
          </div>
        )}
        <div class="con-source-definition">
          <JsonEditor
            value={text}
            onChange={setWritten}
            problems={refused?.of === text ? problemsOf(refused.error) : []}
            schema="none"
            label="Definition"
          />
        </div>
        <p class="field-hint">
          The schemes are <code>github</code>, <code>stripe</code>, <code>slack</code>,{" "}
          <code>standard-webhooks</code> and <code>hmac-sha256</code>. A place is a JSON pointer into the
          body, a header, or a text with pointers in it.
          {begun !== undefined && " What comes is taken by the new definition at once; the counts stay."}
        </p>
        {error !== undefined && <Failure error={error} what="The source was not written" />}
        <div class="row">
          <Button type="submit" kind="primary" busy={busy}>
            {begun === undefined ? "Make the source" : "Replace the source"}
          </Button>
          <Button onClick={leave}>Leave it</Button>
          <CopyCurl request={() => ({ method: "PUT", path: apiPath("sources", id), body: bodyOf(text) })} />
        </div>
      </form>
    </div>
  );
}

/** Whether a source may be written: where there is one of this id already, the user is asked. */
async function mayReplace(id: string, { client, ask }: Deed): Promise<boolean> {
  try {
    await client.sources.get(id);
  } catch (error) {
    if (error instanceof StatewrightError && error.code === "NOT_FOUND") return true;
    throw error;
  }
  return ask({
    title: "Replace the source that is there?",
    body: (
      <p>
        There is a source <strong>{id}</strong> already. What comes to it is taken by this definition from
        then on; the old one is lost, the counts stay.
      </p>
    ),
    action: "Replace it",
    danger: true,
  });
}

/** What a refusal says of a place in the text. */
function problemsOf(error: unknown): readonly Problem[] {
  if (!(error instanceof StatewrightError) || error.details.path === undefined) return [];
  return [{ path: error.details.path, severity: "error", message: error.message }];
}

function bodyOf(text: string): unknown {
  try {
    return exactJson(text);
  } catch {
    return text;
  }
}
