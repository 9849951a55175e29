import { Play, RotateCcw } from "lucide";
import type { Source, Tried } from "statewright/client";
import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";

import { JsonEditor, jsonText } from "../../editor/editor.tsx";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { apiPath } from "../curl.ts";
import { useActing } from "../entity/acting.ts";
import { CopyCurl } from "../entity/copy-curl.tsx";
import { client } from "../service.ts";
import { headersText, readHeaders } from "./headers.ts";
import { sampleOf } from "./sample.ts";
import { Verdict } from "./verdict.tsx";

/** A request as it is written. */
interface Written {
  readonly headers: string;
  readonly body: string;
}

/** The events that a machine takes; none where that cannot be read. */
async function eventsOf(machine: string, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const { transitions } = await client().machines.get(machine, { signal });
    const events = (transitions ?? []).map(({ on }) => on).filter((on) => !on.startsWith("$"));
    return [...new Set(events)];
  } catch {
    // It may be registered later: the sample is then any.
    return [];
  }
}

/** Shows what a request would become. Nothing of it is applied. */
export function TryBody({ source }: { source: Source }): JSX.Element {
  const [written, setWritten] = useState<Written>();
  const definition = JSON.stringify([source.machine, source.scheme, source.mapping]);
  const [again, setAgain] = useState(0);
  useEffect(() => {
    const reading = new AbortController();
    void eventsOf(source.machine, reading.signal).then((events) => {
      if (reading.signal.aborted) return;
      const { headers, body } = sampleOf(source, events, Date.now());
      // What the user has written stays, unless he asks for a sample.
      setWritten((before) =>
        before === undefined || again > 0
          ? { headers: headersText(headers), body: jsonText(body).trimEnd() }
          : before,
      );
    });
    return () => reading.abort();
  }, [again]);
  return (
    <section class="stack" aria-labelledby="con-source-try">
      <h2 id="con-source-try">Try a body</h2>
      {written === undefined ? (
        <p class="loading">Making a sample…</p>
      ) : (
        <TryForm
          source={source}
          definition={definition}
          written={written}
          onWrite={setWritten}
          onSample={() => setAgain(again + 1)}
        />
      )}
    </section>
  );
}

interface TryFormProps {
  readonly source: Source;
  /** What decides: where it changes, what was found is of another source. */
  readonly definition: string;
  readonly written: Written;
  readonly onWrite: (written: Written) => void;
  readonly onSample: () => void;
}

function TryForm({ source, definition, written, onWrite, onSample }: TryFormProps): JSX.Element {
  const { id } = source;
  const { busy, error, run, forget } = useActing();
  const [found, setFound] = useState<{ readonly of: string; readonly tried: Tried }>();
  const field = useId();
  const asked = JSON.stringify([definition, written]);
  const request = () => ({ body: written.body, headers: readHeaders(written.headers) });
  const submit = (event: Event) => {
    event.preventDefault();
    run(async ({ client }) => {
      setFound(undefined);
      setFound({ of: asked, tried: await client.sources.try(id, request()) });
    });
  };
  const write = (to: Written) => {
    forget();
    onWrite(to);
  };
  return (
    <form class="stack" onSubmit={submit}>
      <p class="muted">
        What the service would make of a request. Nothing is applied or counted, and no signature is needed.
      </p>
      <div class="field">
        <label for={field}>Headers</label>
        <textarea
          id={field}
          class="con-source-headers"
          rows={Math.min(8, Math.max(2, written.headers.split("\n").length))}
          spellcheck={false}
          autoComplete="off"
          aria-describedby={`${field}-more`}
          value={written.headers}
          onInput={({ currentTarget }) => write({ ...written, headers: currentTarget.value })}
        />
        <p id={`${field}-more`} class="field-hint">
          One a line. Those with the signature too, to see whether it holds.
        </p>
      </div>
      <div class="con-source-body">
        <JsonEditor
          value={written.body}
          onChange={(body) => write({ ...written, body })}
          schema="none"
          label="Body"
        />
      </div>
      <p class="field-hint">It is tried as it stands, to the byte: a signature is of exactly this text.</p>
      <div class="row">
        <Button type="submit" kind="primary" icon={Play} busy={busy}>
          Try it
        </Button>
        <Button icon={RotateCcw} onClick={onSample}>
          A sample again
        </Button>
        <CopyCurl
          of="the try"
          request={() => ({
            method: "POST",
            path: apiPath("sources", id, "try"),
            body: requestOrBody(written),
          })}
        />
      </div>
      <div class="stack" aria-live="polite">
        {error !== undefined && <Failure error={error} what="Could not try it" />}
        {found !== undefined &&
          (found.of === asked ? (
            <Verdict source={source} tried={found.tried} />
          ) : (
            <p class="muted">The request or the source has changed since it was tried.</p>
          ))}
      </div>
    </form>
  );
}

/** A request for a command: without headers that cannot be read. */
function requestOrBody({ headers, body }: Written): object {
  try {
    return { body, headers: readHeaders(headers) };
  } catch {
    return { body };
  }
}
