import type { JSX } from "preact";

import { Diagram, type Place } from "../diagram/diagram.tsx";
import { Boundary } from "../parts/boundary.tsx";
import type { Revealed } from "./definition-pane.tsx";
import type { Model } from "./model.ts";

/** Where a state of the diagram stands in the definitions. */
export function placeIn(model: Model, { machine_id, region, state }: Place): Revealed | undefined {
  const doc = model.docs.value.find(({ name }) => name === machine_id);
  const definition = model.definitions.value.find((one) => one.machine_id === machine_id);
  if (doc === undefined || definition === undefined) return undefined;
  const at = (definition.regions ?? []).findIndex(({ id }) => id === region);
  const states = at < 0 ? definition.states : definition.regions?.[at]?.states;
  const path = `${at < 0 ? "$" : `$.regions[${at}]`}.states[${states?.indexOf(state) ?? 0}]`;
  return { key: doc.key, path };
}

interface DiagramPaneProps {
  readonly model: Model;
  readonly onState: (place: Place) => void;
}

/** The machine of the entity that is looked at, with where it is. */
export function DiagramPane({ model, onState }: DiagramPaneProps): JSX.Element {
  const definitions = model.definitions.value;
  const subject = model.subject.value;
  const named = definitions.find(({ machine_id }) => machine_id === subject?.machine_id);
  const definition = subject === undefined ? definitions[0] : named;
  const view = model.view.value;
  if (definition === undefined && subject !== undefined && definitions.length > 0) {
    return <p class="empty">No tab has the machine {subject.machine_id}: a step registered it.</p>;
  }
  if (definition === undefined) return <p class="empty">There is no machine without faults yet.</p>;
  return (
    <Boundary name="the diagram" of={definitions}>
      <Diagram
        definition={definition}
        machines={definitions}
        {...(view?.tree === undefined ? {} : { tree: view.tree })}
        taken={view?.taken ?? []}
        onState={onState}
        mermaid={() => model.mermaid()}
        label={`Diagram of ${definition.machine_id}`}
        name={definition.machine_id}
      />
    </Boundary>
  );
}
