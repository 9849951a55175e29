import type { JsonDefinition } from "statewright";
import type { Entity, HistoryRow } from "statewright/client";
import type { JSX } from "preact";

import { Diagram } from "../../diagram/diagram.tsx";
import type { Family } from "../fork/definitions.ts";
import { client } from "../service.ts";
import { lastCommit } from "./commits.ts";
import type { Subject } from "./subject.ts";

interface DiagramSectionProps {
  readonly subject: Subject;
  readonly tree: Entity;
  readonly family: Family;
  /** The newest rows of its history, the newest first. */
  readonly newest: readonly HistoryRow[];
}

/** The entity on its machine's diagram: where it is, and the way that it took last. */
export function DiagramSection({ subject, tree, family, newest }: DiagramSectionProps): JSX.Element {
  const { machine, entity } = subject;
  const { definitions, missing, mixed } = family;
  const definition: JsonDefinition | undefined = definitions.find(({ machine_id }) => machine_id === machine);
  if (definition === undefined) return <p class="empty">The machine {machine} is not registered any more.</p>;
  return (
    <div class="con-entity-picture">
      {missing.length > 0 && <p class="muted">Not registered: {missing.join(", ")}</p>}
      {mixed.map(({ machine_id, taken, others }) => (
        <p key={machine_id} class="muted">
          {machine_id} is drawn as of revision {taken}; other entities of this tree run by {others.join(", ")}
          .
        </p>
      ))}
      <div class="con-entity-diagram">
        <Diagram
          definition={definition}
          machines={definitions}
          tree={tree}
          taken={lastCommit(newest)}
          mermaid={() => client().machines.diagram(machine, { entity_id: entity })}
          label={`Diagram of ${entity}`}
          name={`${machine}-${entity}`}
        />
      </div>
    </div>
  );
}
