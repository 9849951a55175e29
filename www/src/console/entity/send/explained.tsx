import { Check, X } from "lucide";
import type { Explanation } from "statewright/client";
import type { JSX } from "preact";

import { Icon } from "../../../parts/icon.tsx";
import { Time } from "../../../parts/time.tsx";
import { signOf } from "../../../diagram/guard.ts";
import { short } from "../../../simulator/params-fields.ts";
import { candidateText, joinText, whyNot } from "../../../simulator/why-text.ts";

const HEADS = {
  transition: "It would move",
  no_transition: "It would not move",
  forward: "A child would take it",
  refused: "It would be refused",
} as const;

/** What an event would do, and why: each transition, with the values that its guard saw. */
export function Explained({ explanation }: { explanation: Explanation }): JSX.Element {
  const { would, transition, candidates, current_state, refusal } = explanation;
  // The transitions that are listed say it for themselves.
  const reason = candidates.length === 0 || refusal !== undefined ? whyNot(explanation) : undefined;
  const good = would === "transition" || would === "forward";
  return (
    <div class="con-send-explained">
      <p class={good ? "con-send-would con-send-good" : "con-send-would con-send-bad"}>
        <Icon icon={good ? Check : X} />
        <strong>
          {HEADS[would]}
          {transition !== undefined && `: ${transition}`}
        </strong>
      </p>
      {reason !== undefined && <p>{reason}</p>}
      {candidates.length > 0 && (
        <ul class="con-send-candidates" aria-label="Transitions on the event">
          {candidates.map((candidate) => (
            <li key={candidate.index}>
              <span class="con-send-label">{candidate.label}</span>
              <span class={candidate.taken ? "badge badge-good" : "badge"}>
                {candidate.taken ? "taken" : candidate.passes ? "not taken" : "guard fails"}
              </span>
              {!candidate.taken && candidate.clauses.length === 0 && (
                <p class="muted">{candidateText(candidate, current_state)}</p>
              )}
              {candidate.clauses.length > 0 && (
                <table class="con-send-clauses">
                  <caption class="only-read">Comparisons that fail</caption>
                  <thead>
                    <tr>
                      <th scope="col">Guard</th>
                      <th scope="col">Seen</th>
                    </tr>
                  </thead>
                  <tbody>
                    {candidate.clauses.map((clause) => (
                      <tr key={clause.path}>
                        <td>
                          {clause.field === undefined || clause.op === undefined
                            ? clause.path
                            : `${clause.field} ${signOf(clause.op)} ${short(clause.expected)}`}
                        </td>
                        <td>
                          {clause.source === "absent" ? "nothing" : <code>{short(clause.seen)}</code>}
                          {clause.source !== undefined && clause.source !== "absent" && (
                            <span class="muted">
                              {" "}
                              in the {clause.source === "param" ? "params" : "context"}
                            </span>
                          )}
                          {clause.reason !== undefined && <span class="muted"> {clause.reason}</span>}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What else is known of the entity's next moves: joins that wait, others that would take the event, and the next timeout. */
export function Waiting({ explanation }: { explanation: Explanation }): JSX.Element | null {
  const { joins, elsewhere = [], next_timeout } = explanation;
  if (joins.length === 0 && elsewhere.length === 0 && next_timeout === undefined) return null;
  return (
    <details class="con-send-more">
      <summary>What else could happen</summary>
      <div class="con-send-explained">
        {elsewhere.length > 0 && (
          <p class="muted">
            Others below it would take it:{" "}
            {elsewhere
              .map(({ machine_id, entity_id, transition: label }) => `${machine_id} ${entity_id} (${label})`)
              .join(", ")}
          </p>
        )}
        {joins.map((join) => (
          <p key={join.index} class="muted">
            {joinText(join)}
          </p>
        ))}
        {next_timeout !== undefined && (
          <p class="muted">
            Next timeout: {next_timeout.from} → {next_timeout.to} at <Time at={next_timeout.at} />
          </p>
        )}
      </div>
    </details>
  );
}
