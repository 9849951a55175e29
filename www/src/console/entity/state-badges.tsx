import "./state-badges.css";

import type { components, Entity } from "statewright/client";
import type { JSX } from "preact";

/** The states that an entity is in, a badge each. */
export function StateBadges({ state }: { state: components["schemas"]["StateOrRegions"] }): JSX.Element {
  const states = typeof state === "string" ? [["", state] as const] : Object.entries(state);
  return (
    <span class="con-entity-states">
      {states.map(([region, name]) => (
        <span
          key={region}
          class="badge badge-live con-entity-badge"
          title={region === "" ? name : `${region}: ${name}`}
        >
          {region !== "" && <span class="con-entity-region">{region}</span>}
          {name}
        </span>
      ))}
    </span>
  );
}

const KINDS = { active: "badge-good", completed: "", cancelled: "badge-warn" } as const;

/** What a managed child is now; nothing of a root. */
export function StatusBadge({ entity }: { entity: Entity }): JSX.Element | null {
  const { instance } = entity;
  if (instance === undefined) return null;
  return <span class={`badge ${KINDS[instance.status]}`}>{instance.status}</span>;
}
