// What the service says of an entity, in words. Free of the page, so that it is tested without one.

import type { components, TransitionResponse } from "statewright/client";

type Schemas = components["schemas"];

/** A state in one line: `paid`, or `payment: open · goods: sent`. */
export function stateText(state: Schemas["StateOrRegions"]): string {
  if (typeof state === "string") return state;
  return Object.entries(state)
    .map(([region, name]) => `${region}: ${name}`)
    .join(" · ");
}

/** The way to an entity in its tree, as people read it: `b1/ret_b1 › case/settling`. */
export function pathText(path: readonly Schemas["Step"][]): string {
  return path.map(({ region = "_", state }) => (region === "_" ? state : `${region}/${state}`)).join(" › ");
}

/** What an action of a row called for. */
export function actionText(action: Schemas["Action"]): string {
  const on = `on ${action.region === undefined ? "" : `${action.region}: `}${action.state}`;
  switch (action.action_type) {
    case "webhook":
      return `Webhook to ${action.url}, ${on}`;
    case "event":
      return `Event ${action.event_type} to the collector, ${on}`;
    case "transition":
      return `Event ${action.event_type} to ${action.machine_id} ${action.target}, ${on}`;
  }
}

/** What became of a managed child. */
export function lifeText({ kind, machine_id, entity_id, parent_to }: Schemas["Life"]): string {
  const to = parent_to === undefined ? "" : `; its parent went to ${parent_to}`;
  return `${machine_id} ${entity_id} ${kind}${to}`;
}

/** What came of an event that the service took. */
export type Outcome = "applied" | "duplicate" | "no_transition";

/** How an answer is to be read. */
export function outcomeOf({ transition, reason, sub_machine }: TransitionResponse): Outcome {
  if (transition !== null || sub_machine !== undefined) return "applied";
  return reason?.startsWith("duplicate") === true ? "duplicate" : "no_transition";
}
