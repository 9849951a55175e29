// What the service says of a definition while it is written.

import { useEffect, useState } from "preact/hooks";
import type { components, Validation } from "statewright/client";

import type { Problem } from "../../editor/faults.ts";
import { inexactText, isExact, numbersOf } from "../../parts/exact-numbers.ts";
import { isObject } from "../../parts/json-value.ts";
import { client } from "../service.ts";

/** A pause in typing after which the service is asked, in milliseconds. */
const PAUSE = 350;

/** What is known of a text. */
export interface Judged {
  /** What it says, where it is a JSON object that can be sent as it is written. */
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
    return isObject(value) ? value : undefined;
  } catch {
    // The editor says where.
    return undefined;
  }
}

/** The numbers of a definition that may not be sent: they would be, or were when they were read, other ones than the service has. */
function unsent(text: string, rounded: ReadonlySet<number>): Problem[] {
  return numbersOf(text, (literal) => isExact(literal) && !rounded.has(Number(literal))).map(
    ({ path, literal }) => ({
      path,
      severity: "error",
      message: isExact(literal)
        ? `${literal} may be another number in the service: it was rounded when it was read. Put this revision by the API.`
        : inexactText(literal),
    }),
  );
}

/** What is known of a text before the service is asked about it. */
function look(text: string, rounded: ReadonlySet<number>): Pick<Judged, "definition" | "problems"> {
  const definition = read(text);
  const problems = definition === undefined ? [] : unsent(text, rounded);
  return { definition: problems.length === 0 ? definition : undefined, problems };
}

/**
 * Asks the service about a text whenever it has stood still for a moment.
 *
 * @param machine the id that it has where it says none.
 * @param rounded numbers of what it began with that may be other ones in the service.
 */
export function useJudgement(
  text: string,
  machine: string | undefined,
  rounded: ReadonlySet<number>,
): Judged {
  const [judged, setJudged] = useState<Judged & { readonly of: string }>();
  useEffect(() => {
    const { definition, problems } = look(text, rounded);
    if (definition === undefined) {
      setJudged({ of: text, definition, problems, valid: false, error: undefined });
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
  if (judged?.of === text) return judged;
  // What was said of the text before stays in view, but decides nothing.
  const { definition } = look(text, rounded);
  return { problems: judged?.problems ?? [], error: judged?.error, definition, valid: undefined };
}
