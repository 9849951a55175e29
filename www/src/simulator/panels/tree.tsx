import type { JSX } from "preact";

import { memberOf } from "../../parts/json-value.ts";
import { moment } from "../../parts/time.tsx";
import type { Model, View } from "../model.ts";
import { EntityName } from "./entity-name.tsx";
import { type Branch, forestOf, nameOf } from "./forest.ts";
import { short, stateText } from "./short.ts";

/** How many children of an entity are drawn. */
const CHILDREN = 100;

/** All entities, children below their parents, each to be looked at. */
export function TreePanel({ model }: { model: Model }): JSX.Element {
  const view = model.view.value;
  if (view === undefined || view.entities.length === 0) return <p class="empty">There is no entity.</p>;
  return <Branches label="Entities" branches={forestOf(view)} model={model} view={view} />;
}

interface BranchesProps {
  readonly label: string;
  readonly branches: readonly Branch[];
  readonly model: Model;
  readonly view: View;
}

function Branches({ label, branches, model, view }: BranchesProps): JSX.Element {
  return (
    <ul class="sim-tree" aria-label={label}>
      {branches.slice(0, CHILDREN).map((branch) => (
        <Entity key={nameOf(branch.entity)} branch={branch} model={model} view={view} />
      ))}
      {branches.length > CHILDREN && <li class="muted">and {branches.length - CHILDREN} more</li>}
    </ul>
  );
}

function Entity({ branch, model, view }: { branch: Branch; model: Model; view: View }): JSX.Element {
  const { entity, parent, status, children } = branch;
  const over = status !== undefined && status !== "active";
  return (
    <li>
      <div class={over ? "sim-tree-entity sim-tree-over" : "sim-tree-entity"}>
        <EntityName model={model} entity={entity} />
        <span class="sim-tree-state" title={short(stateText(entity.current_state), 500)}>
          {short(stateText(entity.current_state))}
        </span>
        {status !== undefined && (
          <span
            class={
              status === "active" ? "badge badge-live" : status === "completed" ? "badge badge-good" : "badge"
            }
          >
            {short(status, 30)}
          </span>
        )}
        {parent !== undefined && (
          <span class="muted sim-tree-place">
            at {parent.region === "_" ? "" : `${short(parent.region, 40)}: `}
            {short(parent.state, 60)}, entry {parent.seq}
            {over && <>; {endOf(branch, view)}</>}
          </span>
        )}
      </div>
      {children.length > 0 && (
        <Branches
          label={`Children of ${short(entity.entity_id)}`}
          branches={children}
          model={model}
          view={view}
        />
      )}
    </li>
  );
}

/** How a child ended: when, and where its parent went by that. */
function endOf({ entity, status, ended }: Branch, view: View): string {
  const at = ended === undefined ? "ended" : `ended ${moment(ended)}`;
  if (status !== "completed") return `${at}, when its parent left the state`;
  const done = view.steps.slice(0, view.done);
  const row = done
    .flatMap(({ rows }) => rows)
    .findLast(({ event_type, cause }) => {
      const child = cause["child"];
      return (
        event_type === "$sub_complete" &&
        memberOf(child, "entity_id") === entity.entity_id &&
        memberOf(child, "machine_id") === entity.machine_id
      );
    });
  return row === undefined ? at : `${at}, its parent went to ${short(row.to_state, 60)}`;
}
