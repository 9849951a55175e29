import "./machines.css";

import type { JSX } from "preact";
import type { JsonDefinition } from "statewright/client";

import { jsonText } from "../../editor/format.ts";
import { tell } from "../../parts/overlays.tsx";
import type { Deed } from "../entity/acting.ts";
import { lazyView } from "../lazy-view.tsx";
import { consoleLink, visit } from "../place.ts";
import { useMachineNames } from "./names.ts";

const DefinitionForm = lazyView("the editor", () =>
  import("./definition-form.tsx").then((of) => of.DefinitionForm),
);

/** A machine to begin with: it can be registered as it is. */
const START = jsonText({
  machine_id: "my-machine",
  states: ["open", "done"],
  initial_state: "open",
  transitions: [{ from: "open", to: "done", on: "finish" }],
});

/** Registers a machine. */
export function RegisterView(): JSX.Element {
  const names = useMachineNames();
  const send = async (definition: object, { client, visit }: Deed) => {
    // The service says what is wrong with it, if something is.
    const { machine_id } = await client.machines.create(definition as JsonDefinition);
    tell(`${machine_id} is registered`);
    visit(["machines", machine_id]);
  };
  return (
    <div class="stack">
      <nav class="con-crumbs" aria-label="Where this is">
        <a href={consoleLink(["machines"])}>All machines</a>
      </nav>
      <h1>Register a machine</h1>
      <DefinitionForm
        text={START}
        label="Definition"
        names={names}
        action="Register"
        what="The machine was not registered"
        onSend={send}
        onCancel={() => visit(["machines"])}
        lost="The definition was not sent, and is lost."
      />
    </div>
  );
}
