import "./why.css";

import type { JSX } from "preact";
import type { Explanation } from "statewright";

import { candidateText, joinText } from "./why-text.ts";

/** All that is known of an event: every transition on it, and what else waits. */
export function Why({ explanation }: { explanation: Explanation }): JSX.Element {
  const { candidates, joins, elsewhere, current_state } = explanation;
  return (
    <div class="sim-why">
      {candidates.length === 0 ? (
        <p>No transition of this machine is on it.</p>
      ) : (
        <ul aria-label="Transitions on this event">
          {candidates.map((candidate) => (
            <li key={candidate.index}>
              <span class="sim-move">
                {candidate.region !== undefined && `${candidate.region}: `}
                {candidate.from} → {candidate.to}
              </span>{" "}
              <span class="muted">{candidateText(candidate, current_state)}</span>
            </li>
          ))}
        </ul>
      )}
      {elsewhere !== undefined && elsewhere.length > 0 && (
        <ul aria-label="Entities below that would take it">
          {elsewhere.map(({ machine_id, entity_id, transition }) => (
            <li key={`${machine_id}/${entity_id}`}>
              {machine_id} {entity_id}: <span class="sim-move">{transition}</span>
            </li>
          ))}
        </ul>
      )}
      {joins.length > 0 && (
        <ul aria-label="Joins that wait">
          {joins.map((join) => (
            <li key={join.index}>Join {joinText(join)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
