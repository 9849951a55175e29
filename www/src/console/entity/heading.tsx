import { FlaskConical, Trash2 } from "lucide";
import type { Entity } from "statewright/client";
import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Time } from "../../parts/time.tsx";
import { apiPath } from "../curl.ts";
import { ForkDialog } from "../fork/fork-dialog.tsx";
import { consoleLink } from "../place.ts";
import { useActing } from "./acting.ts";
import { CopyCurl } from "./copy-curl.tsx";
import { deleteEntity } from "./delete-entity.tsx";
import { StateBadges, StatusBadge } from "./state-badges.tsx";
import { entityLink, type Subject } from "./subject.ts";

export interface HeadingProps {
  readonly subject: Subject;
  /** Undefined where it cannot be read. */
  readonly tree: Entity | undefined;
  /** Whether there is no such entity. */
  readonly gone: boolean;
}

/** The entity's name, what is known of it at a glance, and what can be done with all of it. */
export function Heading({ subject, tree, gone }: HeadingProps): JSX.Element {
  const { machine, entity } = subject;
  const [forking, setForking] = useState(false);
  const { busy, error, run } = useActing();
  const above = tree?.instance?.path ?? [];
  const root = above[0] ?? { machine_id: machine, entity_id: entity };
  return (
    <header class="con-entity-head">
      <nav class="con-entity-crumbs" aria-label="Where this is">
        <a href={consoleLink(["machines"])}>All machines</a>
        <a href={consoleLink(["machines", machine])}>{machine}</a>
        {above.map(({ machine_id, entity_id, seq }) => (
          <a key={seq} href={entityLink({ machine: machine_id, entity: entity_id })} title={machine_id}>
            {entity_id}
          </a>
        ))}
      </nav>
      <div class="con-entity-title">
        <h1 title={entity}>{entity}</h1>
        {tree !== undefined && (
          <>
            <StateBadges state={tree.current_state} />
            <StatusBadge entity={tree} />
          </>
        )}
        <div class="con-entity-acts">
          {!gone && (
            <Button icon={FlaskConical} disabled={tree === undefined} onClick={() => setForking(true)}>
              Open in simulator
            </Button>
          )}
          <CopyCurl
            request={() => ({
              method: "GET",
              path: apiPath("machines", machine, "entities", entity),
              query: { tree: true },
            })}
          />
          {!gone && (
            <Button
              icon={Trash2}
              kind="danger"
              busy={busy}
              onClick={() => run((deed) => deleteEntity(subject, tree, deed))}
            >
              Delete
            </Button>
          )}
        </div>
      </div>
      {error !== undefined && <Failure error={error} what="Could not delete the entity" />}
      {tree !== undefined && (
        <dl class="con-entity-glance">
          <div>
            <dt>Version</dt>
            <dd>{tree.state_version}</dd>
          </div>
          <div>
            <dt>Revision</dt>
            <dd>{tree.revision}</dd>
          </div>
          <div>
            <dt>Made</dt>
            <dd>
              <Time at={tree.created_at} />
            </dd>
          </div>
          <div>
            <dt>Changed</dt>
            <dd>
              <Time at={tree.updated_at} />
            </dd>
          </div>
          {tree.instance !== undefined && (
            <>
              <div>
                <dt>Root</dt>
                <dd>
                  <a href={entityLink({ machine: root.machine_id, entity: root.entity_id })}>
                    {root.entity_id}
                  </a>
                </dd>
              </div>
              <div>
                <dt>Level</dt>
                <dd>{tree.instance.depth}</dd>
              </div>
              {tree.instance.ended !== undefined && (
                <div>
                  <dt>Ended</dt>
                  <dd>
                    <Time at={tree.instance.ended} />
                  </dd>
                </div>
              )}
            </>
          )}
        </dl>
      )}
      {forking && (
        <ForkDialog
          subject={{ machine_id: machine, entity_id: entity }}
          root={{ machine_id: root.machine_id, entity_id: root.entity_id }}
          onClose={() => setForking(false)}
        />
      )}
    </header>
  );
}
