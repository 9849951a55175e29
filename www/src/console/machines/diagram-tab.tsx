import type { JSX } from "preact";

import { Diagram } from "../../diagram/diagram.tsx";
import { useLive } from "../live.ts";
import { visit } from "../place.ts";
import { client } from "../service.ts";
import { definitionOf } from "./definition-text.ts";
import { stateFilters } from "../entities/filters.ts";
import { familyOf } from "./family.ts";
import type { TabProps } from "./machine.tsx";
import { useMemo } from "preact/hooks";

/** The machine with how many entities are in each state; a state leads to its entities. */
export function DiagramTab({ machine, counts }: TabProps): JSX.Element {
  const { machine_id: id, content_hash } = machine;
  // Laid out anew only when it says something else.
  const definition = useMemo(() => definitionOf(machine), [content_hash]);
  const family = useLive((signal) => familyOf(definition, signal), [content_hash]);
  return (
    <div class="con-diagram">
      <Diagram
        definition={definition}
        {...(family.value === undefined ? {} : { machines: family.value })}
        counts={counts}
        label={`Diagram of ${id}`}
        name={id}
        mermaid={() => client().machines.diagram(id)}
        onState={({ machine_id, region, state }) =>
          visit(["machines", machine_id, "entities"], stateFilters(region, state))
        }
      />
    </div>
  );
}
