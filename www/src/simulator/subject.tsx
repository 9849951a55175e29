import "./subject.css";

import { Plus, Redo2, Undo2 } from "lucide";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { SimulatedEntity } from "statewright";

import type { Tree } from "../diagram/diagram.tsx";
import { IconButton } from "../parts/button.tsx";
import { NewEntity } from "./entity-new.tsx";
import type { Model } from "./model.ts";
import { keyOf, type View } from "./model-view.ts";
import { stateText } from "./panels/short.ts";
import { stepText } from "./step-text.ts";

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
  const entities = view === undefined ? [] : inTrees(view);
  const shown = entities.find(
    ({ entity }) => entity.machine_id === subject?.machine_id && entity.entity_id === subject.entity_id,
  )?.entity;
  return (
    <section class="sim-subject" aria-label="Entity">
      <div class="sim-subject-line">
        <label for={id}>Entity</label>
        <select
          id={id}
          value={subject === undefined ? "" : keyOf(subject)}
          onChange={({ currentTarget }) => {
            const chosen = entities[currentTarget.selectedIndex]?.entity;
            if (chosen === undefined) return;
            model.subject.value = { machine_id: chosen.machine_id, entity_id: chosen.entity_id };
          }}
        >
          {entities.length === 0 && <option value="">none</option>}
          {entities.map(({ entity, depth }) => (
            <option key={keyOf(entity)} value={keyOf(entity)}>
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
  return `${"  ".repeat(depth)}${entity_id} · ${machine_id} (${stateText(current_state)}${ended})`;
}

/** Entities with their children below them. */
function inTrees(view: View): readonly { readonly entity: SimulatedEntity; readonly depth: number }[] {
  const known = new Map(view.entities.map((entity) => [keyOf(entity), entity]));
  const below = (tree: Tree, depth: number): { entity: SimulatedEntity; depth: number }[] => {
    const entity = known.get(keyOf(tree));
    const children = (tree.children ?? []).flatMap((child) => below(child, depth + 1));
    return entity === undefined ? children : [{ entity, depth }, ...children];
  };
  return view.forest.flatMap((tree) => below(tree, 0));
}
