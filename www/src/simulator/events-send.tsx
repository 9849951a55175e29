import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";

import { Button } from "../parts/button.tsx";
import { messageOf } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { livingOf } from "./events-offers.ts";
import type { Model } from "./model.ts";
import { objectSaid } from "./params-fields.ts";
import { whyNot } from "./why-text.ts";

/** Any event, to the entity or to one that lives below it. */
export function SendAnother({ model }: { model: Model }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <details class="sim-another" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Send another event</summary>
      {open && <AnotherForm model={model} />}
    </details>
  );
}

function AnotherForm({ model }: { model: Model }): JSX.Element {
  const [type, setType] = useState("");
  const [text, setText] = useState("");
  const [to, setTo] = useState("0");
  const view = model.view.value;
  const living = view?.tree === undefined ? [] : livingOf(view.tree);
  const receiver = living[Number(to)] ?? living[0];
  const { value: params, problem } = objectSaid(text);
  const reason = useMemo(() => {
    if (receiver === undefined || type === "" || params === undefined) return undefined;
    try {
      return whyNot(model.explain(receiver, { type, params }));
    } catch (error) {
      return messageOf(error);
    }
  }, [view, type, text, to]);
  const send = () => {
    if (receiver === undefined || type === "" || params === undefined) return;
    const { machine_id, entity_id } = receiver;
    model.act((session) => session.send(machine_id, entity_id, { type, params }));
  };
  return (
    <form
      class="sim-another-form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <TextField label="Event type" value={type} onInput={setType} />
      {living.length > 1 && (
        <SelectField
          label="To"
          value={to}
          options={living.map(({ machine_id, entity_id }, at) => ({
            value: String(at),
            label: `${machine_id} ${entity_id}`,
          }))}
          onSelect={setTo}
        />
      )}
      <TextField label="Params (JSON)" value={text} placeholder="{}" problem={problem} onInput={setText} />
      <p class="sim-event-reason" role="status">
        {reason}
      </p>
      <Button type="submit" disabled={type === "" || params === undefined}>
        Send
      </Button>
    </form>
  );
}
