// Tells why an event would, or would not, move an entity.

import type { Explanation } from "../typed.ts";
import type { Styles } from "./terminal.ts";
import { shownDuration, shownTime } from "./time.ts";

type Clause = Explanation["candidates"][number]["clauses"][number];

/** A state as it is shown: of a parallel machine, each region's. */
export function shownState(state: Explanation["current_state"]): string {
  if (typeof state === "string") return state;
  return Object.entries(state)
    .map(([region, name]) => `${region}: ${name}`)
    .join(", ");
}

/** An explanation in lines; `now` says how far off the next timeout is. */
export function explained(explanation: Explanation, style: Styles, now: number | undefined): string[] {
  const { event_type: event, current_state: state, entity_id: entity, machine_id: machine } = explanation;
  const lines = [
    `${machine} ${entity} is in ${style.bold(shownState(state))}. Event \`${event}\`: ${verdict()}`,
  ];
  for (const candidate of explanation.candidates) {
    const mark = candidate.taken
      ? style.green("✓")
      : candidate.state_matches && candidate.passes
        ? style.dim("·")
        : style.red("✗");
    const why = candidate.taken
      ? "taken"
      : !candidate.state_matches
        ? `not in \`${candidate.from}\``
        : candidate.passes
          ? "would be taken, but an earlier one is"
          : "its guard does not pass";
    lines.push(`  ${mark} ${candidate.label} (transitions[${candidate.index}]): ${why}`);
    if (candidate.state_matches)
      lines.push(...candidate.clauses.map((clause) => `      ${clauseText(clause)}`));
  }
  if (explanation.candidates.length === 0) lines.push(`  no transition of \`${machine}\` is on \`${event}\``);
  for (const join of explanation.joins) {
    const missing = join.missing.map(
      ({ region, state, current }) => `${region} in ${state} (now ${current})`,
    );
    const waits = missing.length === 0 ? "holds already" : `waits for ${missing.join(", ")}`;
    lines.push(`  join of ${join.target_region} to ${join.target_state}: ${waits}`);
  }
  for (const other of explanation.elsewhere ?? []) {
    lines.push(`  ${other.machine_id} ${other.entity_id} would take it: ${other.transition}`);
  }
  const { next_timeout: timer } = explanation;
  if (timer !== undefined) {
    const far = now === undefined ? "" : `, in ${shownDuration(timer.at - now)}`;
    lines.push(`  next timeout: ${timer.from} → ${timer.to} at ${shownTime(timer.at)}${far}`);
  }
  return lines;

  function verdict(): string {
    switch (explanation.would) {
      case "transition":
        return style.green(explanation.transition ?? "a transition");
      case "forward":
        return style.green("a child takes it");
      case "no_transition":
        return style.yellow("no transition");
      case "refused": {
        const { code = "refused", message = "" } = explanation.refusal ?? {};
        return style.red(`${code}: ${message}`);
      }
    }
  }
}

function clauseText(clause: Clause): string {
  const { path, field, op, expected, seen, source, reason } = clause;
  if (field === undefined) return `${path}: ${reason ?? "does not pass"}`;
  const where = source === "param" ? "the params have" : source === "context" ? "the context has" : undefined;
  const found =
    where === undefined ? "neither params nor context have it" : `${where} ${JSON.stringify(seen)}`;
  return `${path}: ${field} ${op ?? ""} ${JSON.stringify(expected)} fails; ${found}${reason === undefined ? "" : ` (${reason})`}`;
}
