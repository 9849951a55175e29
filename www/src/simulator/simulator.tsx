import "./simulator.css";

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Diagram } from "../diagram/diagram.tsx";
import { Failure } from "../parts/failure.tsx";
import { loadWasm } from "../wasm/load.ts";
import { DefinitionPane } from "./definition-pane.tsx";
import { EventsPane } from "./events.tsx";
import { Model } from "./model.ts";
import { Panels } from "./panels/panels.tsx";
import { Toolbar } from "./share/toolbar.tsx";

/** The simulator: it begins when its WebAssembly is there. */
export function Simulator(): JSX.Element {
  const [model, setModel] = useState<Model>();
  const [failed, setFailed] = useState<unknown>();
  useEffect(() => {
    loadWasm().then(() => setModel(new Model()), setFailed);
  }, []);
  if (failed !== undefined) return <Failure error={failed} what="The simulator could not be loaded." />;
  if (model === undefined) return <p class="loading">Loading the simulator…</p>;
  return <Workbench model={model} />;
}

function Workbench({ model }: { model: Model }): JSX.Element {
  return (
    <div class="sim">
      <h1 class="only-read">Simulator</h1>
      <Toolbar model={model} />
      <div class="sim-columns">
        <DefinitionPane model={model} />
        <div class="sim-middle">
          <DiagramPane model={model} />
          <Panels model={model} />
        </div>
        <EventsPane model={model} />
      </div>
    </div>
  );
}

function DiagramPane({ model }: { model: Model }): JSX.Element | null {
  const definitions = model.definitions.value;
  const subject = model.subject.value;
  const definition = definitions.find(({ machine_id }) => machine_id === subject?.machine_id) ?? definitions[0];
  if (definition === undefined) return null;
  const view = model.view.value;
  return (
    <Diagram
      definition={definition}
      machines={definitions}
      {...(view?.tree === undefined ? {} : { tree: view.tree })}
      taken={view?.taken ?? []}
      mermaid={() => model.mermaid()}
      label={`Diagram of ${definition.machine_id}`}
      name={definition.machine_id}
    />
  );
}
