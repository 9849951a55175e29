// What the service says of a definition while it is written.

import { useEffect, useState } from "preact/hooks";
import type { components, Validation } from "statewright/client";

import type { Problem } from "../../editor/faults.ts";
import { client } from "../service.ts";

/** A pause in typing after which the service is asked, in milliseconds. */
const PAUSE = 350;

/** What is known of a text. */
export interface Judged {
  /** What it says, where it is a JSON object. */
  readonly definition: object | undefined;
  readonly problems: readonly Problem[];
  /** Whether the service would register it; undefined while that is not known. */
  readonly valid: boolean | undefined;
  /** Why the service could not be asked. */
  readonly error: unknown;
}

/** Faults and warnings as the editor shows them. */
export function problemsOf({
  faults = [],
  warnings = [],
}: {
  readonly faults?: Validation["faults"];
  readonly warnings?: readonly components["schemas"]["Warning"][];
}): Problem[] {
  const shown = faults.map(({ path, problem, expected }): Problem => {
    return { path, severity: "error", message: `${problem}; expected ${expected}` };
  });
  return [
    ...shown,
    ...warnings.map(({ path, message }): Problem => ({ path, severity: "warning", message })),
  ];
}

function read(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // The editor says where.
    return undefined;
  }
}

/** Asks the service about a text whenever it has stood still for a moment. `machine` is the id that it has where it says none. */
export function useJudgement(text: string, machine?: string): Judged {
  const [judged, setJudged] = useState<Judged & { readonly of: string }>();
  useEffect(() => {
    const definition = read(text);
    if (definition === undefined) {
      setJudged({ of: text, definition, problems: [], valid: false, error: undefined });
      return;
    }
    const asking = new AbortController();
    const timer = setTimeout(() => {
      const named = machine === undefined ? definition : { machine_id: machine, ...definition };
      client()
        .machines.validate(named, { signal: asking.signal })
        .then(
          (said) =>
            setJudged({
              of: text,
              definition,
              problems: problemsOf(said),
              valid: said.valid,
              error: undefined,
            }),
          (error: unknown) => {
            if (!asking.signal.aborted)
              setJudged({ of: text, definition, problems: [], valid: undefined, error });
          },
        );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [text, machine]);
  if (judged === undefined)
    return { definition: read(text), problems: [], valid: undefined, error: undefined };
  // What was said of the text before stays in view, but decides nothing.
  return judged.of === text ? judged : { ...judged, definition: read(text), valid: undefined };
}
