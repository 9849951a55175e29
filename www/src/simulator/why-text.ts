// Why an event would not move an entity, in words.

import type { Candidate, Explanation, FailingClause } from "statewright";

import { signOf } from "../diagram/guard.ts";
import { short } from "./params-fields.ts";

type States = Explanation["current_state"];

/** The state of a region; of a flat machine its only one. */
export function stateIn(states: States, region: string | undefined): string {
  if (typeof states === "string") return states;
  const found = region === undefined ? undefined : Object.entries(states).find(([name]) => name === region);
  return found?.[1] ?? "";
}

const LIST = new Intl.ListFormat("en-GB", { type: "disjunction" });

/** At most so many names are listed. */
const MOST_NAMES = 6;

function listed(names: Iterable<string>): string {
  const all = [...new Set(names)];
  const shown = all.slice(0, MOST_NAMES);
  return LIST.format(all.length > MOST_NAMES ? [...shown, `${all.length - MOST_NAMES} more`] : shown);
}

/** What a clause of a guard found: `amount ≥ 25 fails: it is 20 in the params`. */
function clauseText({ field, op, expected, seen, source, reason, path }: FailingClause): string {
  const what = field === undefined || op === undefined ? path : `${field} ${signOf(op)} ${short(expected)}`;
  if (source === "absent") return `${what} fails: ${field ?? "it"} is missing`;
  const found =
    source === undefined
      ? undefined
      : `it is ${short(seen)} in the ${source === "param" ? "params" : "context"}`;
  const why = [found, reason].filter((part) => part !== undefined).join("; ");
  return why === "" ? `${what} fails` : `${what} fails: ${why}`;
}

/** What stands in the way of a transition, if anything does. */
export function candidateText(candidate: Candidate, states: States): string {
  const { state_matches, passes, taken, clauses, region, from } = candidate;
  if (taken) return "taken";
  if (!state_matches) {
    const where = region === undefined ? "it" : region;
    return `only from ${from}; ${where} is in ${stateIn(states, region)}`;
  }
  if (!passes) return clauses.map(clauseText).join("; ") || "its guard never passes";
  return "an earlier transition is taken first";
}

/** What an event would do, in a line; undefined where it would move the entity. */
export function whyNot(explanation: Explanation): string | undefined {
  const { would, refusal, candidates, current_state, elsewhere, event_type, machine_id } = explanation;
  if (would === "transition" || would === "forward") return undefined;
  if (refusal !== undefined) return `Refused with ${refusal.code}: ${refusal.message}`;
  const here = candidates.filter(({ state_matches }) => state_matches);
  if (here.length > 0) {
    return here.map((candidate) => candidateText(candidate, current_state)).join("; ");
  }
  if (candidates.length > 0) return fromText(candidates, current_state);
  const [other] = elsewhere ?? [];
  if (other !== undefined) return `It is an event of ${other.machine_id} ${other.entity_id}, below this one`;
  return `No transition of ${machine_id} is on ${event_type}`;
}

/** The states that an event is taken in, and the one that it is in. */
function fromText(candidates: readonly Candidate[], states: States): string {
  const regions = new Map<string | undefined, string[]>();
  for (const { region, from } of candidates) {
    const same = regions.get(region);
    if (same === undefined) regions.set(region, [from]);
    else same.push(from);
  }
  return [...regions]
    .map(([region, from]) => {
      const where = region === undefined ? "it" : region;
      return `Only from ${listed(from)}; ${where} is in ${stateIn(states, region)}`;
    })
    .join("; ");
}

/** A join that waits: what it does, and for what it waits. */
export function joinText({ target_region, target_state, missing }: Explanation["joins"][number]): string {
  const waits = missing.map(({ region, state, current }) => `${region} to be ${state} (it is ${current})`);
  const after =
    waits.length === 0
      ? "is true since before, and waits to become true anew"
      : `waits for ${waits.join(" and ")}`;
  return `${target_region} → ${target_state} ${after}`;
}
