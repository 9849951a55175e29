import { type Client, type Explanation, StatewrightError, type TransitionResponse } from "statewright/client";
import type { JSX } from "preact";

import { Failure } from "../../../parts/failure.tsx";
import type { EventRequest } from "./draft.ts";
import { Explained } from "./explained.tsx";
import { OutcomeOf } from "./outcome.tsx";

/** What the service says of a request before it is sent. */
export interface Foresight {
  readonly explanation: Explanation;
  /** What a dry run answers, where one was asked for and not refused. */
  readonly answer: TransitionResponse | undefined;
  /** Why the dry run was refused: so would be the event. */
  readonly refusal: unknown;
}

/**
 * Asks what a request would do; `dry` runs it as well, and writes nothing.
 *
 * @throws StatewrightError where the question itself is refused.
 */
export async function foresee(
  { to, body }: EventRequest,
  dry: boolean,
  { entities }: Client,
): Promise<Foresight> {
  const explanation = await entities.explain(to.machine, to.entity, body);
  if (!dry) return { explanation, answer: undefined, refusal: undefined };
  try {
    const trial = { ...body, dry_run: true };
    const answer = await entities.transition(to.machine, to.entity, trial, { idempotencyKey: null });
    return { explanation, answer, refusal: undefined };
  } catch (refusal) {
    if (!(refusal instanceof StatewrightError)) throw refusal;
    return { explanation, answer: undefined, refusal };
  }
}

/** What the request would do. */
export function Foreseen({ foresight }: { foresight: Foresight }): JSX.Element {
  const { explanation, answer, refusal } = foresight;
  return (
    <>
      <Explained explanation={explanation} />
      {answer !== undefined && <OutcomeOf answer={answer} />}
      {refusal !== undefined && <Failure error={refusal} what="It would be refused" />}
    </>
  );
}
