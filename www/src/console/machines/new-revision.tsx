import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { JsonDefinition, Machine } from "statewright/client";

import { JsonDiff } from "../../editor/diff.tsx";
import { roundedIn } from "../../parts/exact-numbers.ts";
import { CheckField } from "../../parts/field.tsx";
import { tell } from "../../parts/overlays.tsx";
import type { Deed } from "../entity/acting.ts";
import { consoleLink, visit } from "../place.ts";
import { DefinitionForm } from "./definition-form.tsx";
import { definitionText } from "./definition-text.ts";
import { useMachineNames } from "./names.ts";

type InFlight = "follow" | "pin";

/** Gives a machine a new revision. */
export function NewRevision({ machine }: { machine: Machine }): JSX.Element {
  const { machine_id: id } = machine;
  // The view is read live; what is edited stays what it was when the editing began.
  const [base] = useState(machine);
  const [inFlight, setInFlight] = useState<InFlight>("follow");
  const [compares, setCompares] = useState(false);
  const text = useMemo(() => definitionText(base), []);
  const rounded = useMemo(() => roundedIn(base), []);
  const names = useMachineNames();
  const overtaken = machine.revision !== base.revision;
  const send = async (definition: object, deed: Deed) => {
    const { client, visit } = deed;
    const { revision: now } = await client.machines.get(id);
    if (now !== base.revision && !(await mayOvertake(now, base.revision, deed)))
      return Promise.reject(new Overtaken(now));
    // The service says what is wrong with it, if something is.
    const { revision } = await client.machines.replace(id, definition as JsonDefinition, {
      in_flight: inFlight,
    });
    tell(`Revision ${revision} of ${id} stands`);
    visit(["machines", id, "revisions"]);
  };
  return (
    <div class="stack">
      <nav class="con-crumbs" aria-label="Where this is">
        <a href={consoleLink(["machines"])}>All machines</a>
        <a href={consoleLink(["machines", id])}>{id}</a>
      </nav>
      <h1 class="con-title">New revision of {id}</h1>
      {overtaken && (
        <p class="notice notice-warn" role="status">
          Revision {machine.revision} was put since you began with revision {base.revision}.
        </p>
      )}
      <DefinitionForm
        text={text}
        label="Definition of the new revision"
        machine={id}
        rounded={rounded}
        names={names}
        action="Put the revision"
        what="The revision was not put"
        onSend={send}
        onCancel={() => visit(["machines", id, "definition"])}
        lost="The changes to the definition were not sent, and are lost. The machine stays as it is."
        beside={(written) => (
          <>
            <CheckField
              label={`Compare with revision ${base.revision}`}
              checked={compares}
              onChange={setCompares}
            />
            {compares && (
              <JsonDiff
                before={text}
                after={written}
                beforeLabel={`Revision ${base.revision}`}
                afterLabel="The new revision"
              />
            )}
          </>
        )}
      >
        <InFlightChoice value={inFlight} revision={base.revision} onChoose={setInFlight} />
      </DefinitionForm>
    </div>
  );
}

/** That nothing was sent since another revision came between. */
class Overtaken extends Error {
  constructor(revision: number) {
    super(`nothing was sent: revision ${revision} was put in the meantime`);
  }
}

function mayOvertake(now: number, base: number, { ask }: Deed): Promise<boolean> {
  return ask({
    title: "Another revision was put",
    body: (
      <p>
        Revision {now} was put since you began with revision {base}. Yours would come after it, without its
        changes. Nothing is lost: both stay among the revisions.
      </p>
    ),
    action: "Put mine after it",
    danger: true,
  });
}

const CHOICES = [
  {
    value: "follow" as const,
    label: "They follow",
    more: "They run by the new revision from their next event on; their timers are counted anew from when they entered their state.",
  },
  {
    value: "pin" as const,
    label: "They stay",
    more: "They run by the old one to their end. Only new entities start on the new revision.",
  },
];

function InFlightChoice(props: {
  readonly value: InFlight;
  readonly revision: number;
  readonly onChoose: (value: InFlight) => void;
}): JSX.Element {
  return (
    <fieldset class="con-choices">
      <legend>Entities that run by revision {props.revision}</legend>
      {CHOICES.map(({ value, label, more }) => (
        <label key={value} class="con-choice">
          <input
            type="radio"
            name="in-flight"
            checked={props.value === value}
            onChange={() => props.onChoose(value)}
          />
          <span>
            <strong>{label}</strong>
            <span class="muted">{more}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
