// Something that the user has the service do: one at a time, where he was when he asked for it, and what was said against it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Client } from "statewright/client";

import { messageOf } from "../../parts/failure.tsx";
import { confirm, type Question, tell } from "../../parts/overlays.tsx";
import { visit } from "../place.ts";
import { writer } from "../service.ts";

/** What is under way. It is of the service and the tenant that it was begun in, wherever the user goes meanwhile. */
export interface Deed {
  readonly client: Client;
  /** Ends where the user leaves the view, or the service. */
  readonly signal: AbortSignal;
  /** Asks before it goes on; no where the view is left. */
  ask(question: Question): Promise<boolean>;
  /** Goes on to another view, where he is still in this one. */
  visit(path: readonly string[]): void;
}

/** Whether it is under way, and why it failed. */
export interface Acting {
  readonly busy: boolean;
  readonly error: unknown;
  /** Does it, where nothing else is under way; what it throws is kept as `error`. */
  run(act: (deed: Deed) => Promise<void>): void;
  forget(): void;
}

/** One thing at a time. */
export function useActing(): Acting {
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: undefined });
  // A second click comes before the button is drawn anew.
  const under = useRef(false);
  const [{ signal, leave }] = useState(here);
  useEffect(() => leave, []);
  const run = (act: (deed: Deed) => Promise<void>): void => {
    if (under.current) return;
    under.current = true;
    setState({ busy: true, error: undefined });
    void done(act, signal)
      .then(
        () => undefined,
        (error: unknown) => error,
      )
      .then((error) => {
        under.current = false;
        // There is no view any more that would show it.
        if (signal.aborted && error !== undefined) tell(messageOf(error));
        setState({ busy: false, error });
      });
  };
  return { ...state, run, forget: () => setState({ busy: false, error: undefined }) };
}

/** What ends with a view. */
function here(): { readonly signal: AbortSignal; readonly leave: () => void } {
  const staying = new AbortController();
  return { signal: staying.signal, leave: () => staying.abort() };
}

async function done(act: (deed: Deed) => Promise<void>, signal: AbortSignal): Promise<void> {
  await act({
    client: writer(),
    signal,
    ask: (question) => confirm(question, signal),
    visit: (path) => {
      if (!signal.aborted) visit(path);
    },
  });
}
