import "./subject.css";

import { Plus, Redo2, Undo2 } from "lucide";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { SimulatedEntity } from "statewright";

import { IconButton } from "../parts/button.tsx";
import { NewEntity } from "./entity-new.tsx";
import type { Model } from "./model.ts";
import { stepText } from "./step-text.ts";
import { statesText } from "./why-text.ts";

const keyOf = (machine: string, entity: string): string => JSON.stringify([machine, entity]);

export interface SubjectProps {
  readonly model: Model;
  readonly running: boolean;
  readonly onUndo: () => void;
  readonly onRedo: () => void;
}

/** Which entity is looked at, its states, and what was done last. */
export function SubjectPane({ model, running, onUndo, onRedo }: SubjectProps): JSX.Element {
  const id = useId();
  const [making, setMaking] = useState(false);
  const view = model.view.value;
  const subject = model.subject.value;
  const entities = inTrees(view?.entities ?? []);
  const shown = entities.find(
    ({ entity }) => entity.machine_id === subject?.machine_id && entity.entity_id === subject.entity_id,
  )?.entity;
  return (
    <section class="sim-subject" aria-label="Entity">
      <div class="sim-subject-line">
        <label for={id}>Entity</label>
        <select
          id={id}
          value={subject === undefined ? "" : keyOf(subject.machine_id, subject.entity_id)}
          onChange={({ currentTarget }) => {
            const chosen = entities[currentTarget.selectedIndex]?.entity;
            if (chosen === undefined) return;
            model.subject.value = { machine_id: chosen.machine_id, entity_id: chosen.entity_id };
          }}
        >
          {entities.length === 0 && <option value="">none</option>}
          {entities.map(({ entity, depth }) => (
            <option
              key={keyOf(entity.machine_id, entity.entity_id)}
              value={keyOf(entity.machine_id, entity.entity_id)}
            >
              {optionText(entity, depth)}
            </option>
          ))}
        </select>
        <IconButton icon={Plus} label="New entity" onClick={() => setMaking(true)} />
      </div>
      <div class="sim-subject-states" aria-label="State" role="group">
        {shown === undefined ? (
          <span class="badge">no entity</span>
        ) : (
          statesOf(shown).map((text) => (
            <span key={text} class="badge badge-live" title={text}>
              {text}
            </span>
          ))
        )}
        {shown !== undefined && <span class="muted">version {shown.state_version}</span>}
      </div>
      <div class="sim-subject-line">
        <p class="sim-subject-last" role="status" title={view === undefined ? "" : stepText(view, running)}>
          {view === undefined ? "" : stepText(view, running)}
        </p>
        <IconButton
          icon={Undo2}
          label="Undo the last step"
          disabled={!view || view.done === 0}
          onClick={onUndo}
        />
        <IconButton
          icon={Redo2}
          label="Redo the next step"
          disabled={!view || view.done === view.steps.length}
          onClick={onRedo}
        />
      </div>
      {making && <NewEntity model={model} onClose={() => setMaking(false)} />}
    </section>
  );
}

function statesOf({
  current_state,
}: {
  current_state: string | { readonly [region: string]: string };
}): string[] {
  if (typeof current_state === "string") return [current_state];
  return Object.entries(current_state).map(([region, state]) => `${region}: ${state}`);
}

function optionText(
  { machine_id, entity_id, current_state, instance }: SimulatedEntity,
  depth: number,
): string {
  const ended = instance === undefined || instance.ended === undefined ? "" : `, ${instance.status}`;
  return `${"  ".repeat(depth)}${entity_id} · ${machine_id} (${statesText(current_state)}${ended})`;
}

/** Entities with their children below them. */
function inTrees(
  entities: readonly SimulatedEntity[],
): readonly { readonly entity: SimulatedEntity; readonly depth: number }[] {
  const children = new Map<string, SimulatedEntity[]>();
  const roots: SimulatedEntity[] = [];
  const names = new Set(entities.map(({ machine_id, entity_id }) => keyOf(machine_id, entity_id)));
  for (const entity of entities) {
    const parent = entity.instance?.path.at(-1);
    const key = parent && keyOf(parent.machine_id, parent.entity_id);
    if (key === undefined || !names.has(key)) roots.push(entity);
    else children.set(key, [...(children.get(key) ?? []), entity]);
  }
  const below = (entity: SimulatedEntity, depth: number): { entity: SimulatedEntity; depth: number }[] => [
    { entity, depth },
    ...(children.get(keyOf(entity.machine_id, entity.entity_id)) ?? []).flatMap((child) =>
      below(child, depth + 1),
    ),
  ];
  return roots.flatMap((root) => below(root, 0));
}
