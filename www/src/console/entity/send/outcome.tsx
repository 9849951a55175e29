import type { TransitionResponse } from "statewright/client";
import type { JSX } from "preact";

import { counted } from "../../../parts/counted.ts";
import { actionText, lifeText, outcomeOf, stateText } from "../words.ts";

const SAID = {
  applied: { badge: "badge-good", done: "applied", would: "would be applied" },
  duplicate: { badge: "badge-warn", done: "duplicate", would: "would be a duplicate" },
  no_transition: { badge: "badge-warn", done: "no transition", would: "no transition" },
} as const;

/** What an event did; or would do, of a dry run. */
export function OutcomeOf({ answer }: { answer: TransitionResponse }): JSX.Element {
  const { transition, transitions = [], joins_fired = [], instances = [], actions_dispatched = [] } = answer;
  const outcome = outcomeOf(answer);
  const { badge, done, would } = SAID[outcome];
  const { sub_machine: child, timeouts_fired = 0 } = answer;
  return (
    <div class="con-send-outcome">
      <p>
        <span class={`badge ${badge}`}>{answer.dry_run === true ? would : done}</span>{" "}
        {transition !== null && <strong>{transition}</strong>}
        {answer.reason}
      </p>
      <ul class="con-send-facts">
        {transitions.length > 1 &&
          transitions.map(({ region, transition: label }) => <li key={region}>{label}</li>)}
        {timeouts_fired > 0 && <li>{counted(timeouts_fired, "timeout")} that were due come before it</li>}
        {child !== undefined && (
          <li>
            {child.machine_id} {child.entity_id} takes it: {child.transition ?? "no transition"}
            {child.auto_completed && ", and comes to its end"}
          </li>
        )}
        {joins_fired.map(({ entity_id, target_region, from_state, target_state }, at) => (
          <li key={`join ${at}`}>
            Join: {entity_id} {target_region}: {from_state} → {target_state}
          </li>
        ))}
        {instances.map((life, at) => (
          <li key={`life ${at}`}>{lifeText(life)}</li>
        ))}
        {actions_dispatched.map((action, at) => (
          <li key={`action ${at}`}>{actionText(action)}</li>
        ))}
        {(outcome === "applied" || answer.dry_run !== true) && (
          <li>
            {answer.dry_run === true ? "Would then be" : "Now"} in {stateText(answer.current_state)}, version{" "}
            {answer.state_version}
          </li>
        )}
      </ul>
    </div>
  );
}
