import type { JSX } from "preact";
import { useId } from "preact/hooks";

import type { Subject } from "../subject.ts";
import type { Choice } from "./draft.ts";

/** The choice of an event that is typed. No event's key is so: those are JSON. */
export const OTHER = "other";

interface EventChoiceProps {
  readonly subject: Subject;
  /** Undefined where they could not be read. */
  readonly choices: readonly Choice[] | undefined;
  readonly chosen: string | undefined;
  readonly onChoose: (key: string) => void;
}

const LEGENDS = {
  unknown: "What is possible is not known",
  none: "It can take no event now",
  some: "Possible now",
};

/** The events that can be taken now, those of children after its own; and one that is typed. */
export function EventChoice({ subject, choices, chosen, onChoose }: EventChoiceProps): JSX.Element {
  const name = useId();
  return (
    <fieldset class="con-send-events">
      <legend>{LEGENDS[choices === undefined ? "unknown" : choices.length === 0 ? "none" : "some"]}</legend>
      {choices?.map(({ key, event_type, of, moves }) => (
        <label key={key} class="con-send-choice">
          <input type="radio" name={name} checked={key === chosen} onChange={() => onChoose(key)} />
          <span>
            <span class="con-send-type">{event_type}</span>
            {moves.some(({ guarded }) => guarded) && <span class="badge">guarded</span>}
            <span class="con-send-moves">{moves.map(({ label }) => label).join(", ")}</span>
            {(of.machine !== subject.machine || of.entity !== subject.entity) && (
              <span class="con-send-moves">
                of {of.machine} {of.entity}
              </span>
            )}
          </span>
        </label>
      ))}
      {choices !== undefined && choices.length > 0 && (
        <label class="con-send-choice">
          <input type="radio" name={name} checked={chosen === OTHER} onChange={() => onChoose(OTHER)} />
          <span>Another event</span>
        </label>
      )}
    </fieldset>
  );
}
