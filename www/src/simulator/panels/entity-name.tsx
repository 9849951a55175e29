import type { JSX } from "preact";

import type { Model, Subject } from "../model.ts";
import { short } from "./short.ts";

/** An entity's name, which makes it the one that is looked at. */
export function EntityName({ model, entity }: { model: Model; entity: Subject }): JSX.Element {
  const { machine_id, entity_id } = entity;
  const subject = model.subject.value;
  const own = subject?.machine_id === machine_id && subject.entity_id === entity_id;
  return (
    <button
      type="button"
      class="sim-entity"
      aria-pressed={own}
      title={own ? "It is looked at" : "Look at this entity"}
      onClick={() => (model.subject.value = { machine_id, entity_id })}
    >
      <span class="sim-entity-machine">{short(machine_id, 40)}</span>{" "}
      <span class="sim-entity-id" title={short(entity_id, 500)}>
        {short(entity_id, 80)}
      </span>
    </button>
  );
}
