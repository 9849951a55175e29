import { Search } from "lucide";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Receipt, StatewrightError } from "statewright/client";

import { Button } from "../parts/button.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { useActing } from "./entity/acting.ts";
import { EffectDialog } from "./entity/outbox-rows.tsx";
import { ReceiptCard } from "./entity/receipt-card.tsx";
import { useMachineNames } from "./machines/names.ts";
import { place, replacePlace, visit } from "./place.ts";
import { client } from "./service.ts";

/** Goes to an entity by its id, and shows what became of the requests with an Idempotency-Key. */
export function LookUpView(): JSX.Element {
  return (
    <div class="stack">
      <h1>Look up</h1>
      <EntityForm />
      <Receipts />
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
    if (chosen !== "" && entity !== "") visit(["entity", chosen, entity]);
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

function Receipts(): JSX.Element {
  const asked = place.value.filters.get("key") ?? "";
  const [key, setKey] = useState(asked);
  const [read, setRead] = useState<{ readonly key: string; readonly receipts: readonly Receipt[] }>();
  const [opened, setOpened] = useState<string>();
  const { busy, error, run } = useActing();
  const look = () =>
    run(async () => {
      setRead(undefined);
      setRead({ key: asked, receipts: await receiptsOf(asked) });
    });
  useEffect(() => {
    if (asked === "") return;
    setKey(asked);
    look();
  }, [asked]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (key === asked) look();
    else replacePlace(["look-up"], new URLSearchParams({ key }));
  };
  return (
    <>
      <form class="card stack" onSubmit={submit} aria-labelledby="con-look-up-receipt">
        <h2 id="con-look-up-receipt">A request</h2>
        <div class="con-filters">
          <TextField label="Idempotency-Key" value={key} onInput={setKey} required />
          <Button type="submit" icon={Search} busy={busy}>
            Show its receipts
          </Button>
        </div>
        <p class="field-hint">What became of it is kept for seven days.</p>
      </form>
      <div class="stack" aria-live="polite">
        {error !== undefined && <Failure error={error} what="Could not read the receipts" />}
        {read?.receipts.length === 0 && (
          <p class="notice">
            <span>
              Nothing is kept for <code>{read.key}</code>: no request had it, or it is forgotten.
            </span>
          </p>
        )}
        {read?.receipts.map((receipt, at) => (
          <ReceiptCard key={at} receipt={receipt} onEffect={setOpened} />
        ))}
      </div>
      {opened !== undefined && <EffectDialog id={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

/** The receipts of a key; none where it is not known. */
async function receiptsOf(key: string): Promise<readonly Receipt[]> {
  try {
    return await client().receipts(key);
  } catch (error) {
    if (error instanceof StatewrightError && error.code === "NOT_FOUND") return [];
    throw error;
  }
}
