import type { Entity } from "statewright/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { counted } from "../../parts/counted.ts";
import { Time } from "../../parts/time.tsx";
import { withinTree } from "../fork/definitions.ts";
import { StateBadges, StatusBadge } from "./state-badges.tsx";
import { entityLink, type Found } from "./subject.ts";

/** More than that are shown when they are asked for. */
const SHOWN_AT_FIRST = 200;

/** Where an entity is in its tree: what is above it, and everything below it, live and ended. */
export function TreeSection({ found: { tree, whole } }: { found: Found }): JSX.Element {
  const [all, setAll] = useState(false);
  const below = [...withinTree(tree)].length - 1;
  const left = { count: all ? Number.POSITIVE_INFINITY : SHOWN_AT_FIRST };
  const above = tree.instance?.path ?? [];
  return (
    <div class="stack">
      {above.length > 0 && (
        <section aria-label="Above it" class="stack">
          <h2>Above it</h2>
          <ol class="con-entity-above">
            {above.map(({ machine_id, entity_id, region, state, seq }) => (
              <li key={seq}>
                <a href={entityLink({ machine: machine_id, entity: entity_id })}>{entity_id}</a>
                <span class="muted">
                  {machine_id}, in {region === "_" ? state : `${region}: ${state}`}
                </span>
              </li>
            ))}
          </ol>
        </section>
      )}
      <section aria-label="The entity and what is below it" class="stack">
        <h2>{below === 0 ? "Nothing is below it" : `${counted(below, "entity", "entities")} below it`}</h2>
        {!whole && (
          <p class="notice notice-warn">
            The tree is too large for one answer: what is below it is not shown.
          </p>
        )}
        <ul class="con-entity-tree">
          <Branch entity={tree} self left={left} />
        </ul>
        {!all && below >= SHOWN_AT_FIRST && (
          <p>
            <Button onClick={() => setAll(true)}>Show all {below + 1}</Button>
          </p>
        )}
      </section>
    </div>
  );
}

interface BranchProps {
  readonly entity: Entity;
  readonly self?: boolean;
  /** How many may still be shown: each takes one. */
  readonly left: { count: number };
}

function Branch({ entity, self = false, left }: BranchProps): JSX.Element | null {
  if (left.count <= 0) return null;
  left.count -= 1;
  const { machine_id, entity_id, current_state, instance, parent, children = [] } = entity;
  return (
    <li>
      <div class="con-entity-branch">
        {self ? (
          <strong aria-current="true">{entity_id}</strong>
        ) : (
          <a href={entityLink({ machine: machine_id, entity: entity_id })}>{entity_id}</a>
        )}
        <span class="muted">{machine_id}</span>
        <StateBadges state={current_state} />
        <StatusBadge entity={entity} />
        {parent !== undefined && (
          <span class="muted">
            of {parent.region === "_" ? parent.state : `${parent.region}: ${parent.state}`}, entry{" "}
            {parent.seq}
            {instance === undefined && ", legacy"}
          </span>
        )}
        {instance?.ended !== undefined && (
          <span class="muted">
            ended <Time at={instance.ended} />
          </span>
        )}
      </div>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Branch key={`${child.machine_id}/${child.entity_id}`} entity={child} left={left} />
          ))}
        </ul>
      )}
    </li>
  );
}
