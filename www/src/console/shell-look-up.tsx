import { Search } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../parts/button.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { useMachineNames } from "./machines/names.ts";
import { visit } from "./place.ts";

/** Goes to an entity by its id, and shows the receipts of an Idempotency-Key. */
export function LookUpView(): JSX.Element {
  return (
    <div class="stack">
      <h1>Look up</h1>
      <EntityForm />
    </div>
  );
}

function EntityForm(): JSX.Element {
  const names = useMachineNames();
  const [machine, setMachine] = useState<string>();
  const [entity, setEntity] = useState("");
  const chosen = machine ?? names[0] ?? "";
  const submit = (event: Event) => {
    event.preventDefault();
    if (chosen !== "") visit(["entity", chosen, entity]);
  };
  return (
    <form class="card stack" onSubmit={submit} aria-labelledby="con-look-up-entity">
      <h2 id="con-look-up-entity">An entity</h2>
      <div class="con-filters">
        <SelectField
          label="Machine"
          value={chosen}
          options={names.map((name) => ({ value: name, label: name }))}
          onSelect={setMachine}
        />
        <TextField label="Entity id" value={entity} onInput={setEntity} required />
        <Button type="submit" icon={Search}>
          Show the entity
        </Button>
      </div>
    </form>
  );
}
