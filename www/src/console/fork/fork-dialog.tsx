import "./fork.css";

import { FlaskConical } from "lucide";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import { go } from "../../app/route.ts";
import { Button } from "../../parts/button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { CheckField } from "../../parts/field.tsx";
import { Dialog } from "../../parts/overlays.tsx";
import { Rounded } from "../../parts/rounded.tsx";
import { client } from "../service.ts";
import { isLive, withinTree } from "./definitions.ts";
import { forkOf } from "./forked.ts";
import { handover } from "./handover.ts";
import { type LiveCopy, type Progress, readLiveCopy } from "./live-copy.ts";
import { mask } from "./mask.ts";

interface Name {
  readonly machine_id: string;
  readonly entity_id: string;
}

interface ForkDialogProps {
  /** The entity that the fork is asked of. */
  readonly subject: Name;
  /** The root of its tree: a child moves with what is above it, so all of it is taken. */
  readonly root: Name;
  readonly onClose: () => void;
}

/** Says what a fork is, reads the entity with its tree, and opens it in the simulator. */
export function ForkDialog({ subject, root, onClose }: ForkDialogProps): JSX.Element {
  const [personal, setPersonal] = useState(false);
  const [progress, setProgress] = useState<Progress>();
  const [copy, setCopy] = useState<LiveCopy>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const reading = new AbortController();
    readLiveCopy(client(), root.machine_id, root.entity_id, reading.signal, setProgress).then(
      (read) => !reading.signal.aborted && setCopy(read),
      (refused: unknown) => !reading.signal.aborted && setError(refused),
    );
    return () => reading.abort();
  }, []);
  const open = () => {
    if (copy === undefined) return;
    handover.value = forkOf(copy, { personal, now: Date.now(), subject });
    onClose();
    go("fork");
  };
  const isRoot = root.entity_id === subject.entity_id && root.machine_id === subject.machine_id;
  return (
    <Dialog title="Open in simulator" onClose={onClose}>
      <div class="dialog-body">
        <p>
          A fork is a copy of the entity in this page: its states, timers, children and history, on a clock of
          its own. What happens there changes nothing in the service, and nothing is sent: its effects are
          only listed.
        </p>
        {!isRoot && (
          <p>
            {subject.entity_id} is a child. A child moves with what is above it, so the fork has the whole
            tree, from its root <strong>{root.entity_id}</strong> of {root.machine_id}.
          </p>
        )}
        <CheckField label="Include personal values" checked={personal} onChange={setPersonal} />
        <div class="stack" aria-live="polite">
          {error !== undefined && <Failure error={error} what="Could not read the entity" />}
          {copy === undefined ? (
            error === undefined && (
              <p class="muted">
                {progress === undefined
                  ? "Reading the entity…"
                  : `Reading histories: ${progress.read} of ${progress.of}…`}
              </p>
            )
          ) : (
            <Taken copy={copy} personal={personal} />
          )}
        </div>
      </div>
      <div class="dialog-actions">
        <Button onClick={onClose}>Leave it</Button>
        <Button icon={FlaskConical} kind="primary" disabled={copy === undefined} onClick={open}>
          Open the fork
        </Button>
      </div>
    </Dialog>
  );
}

/** What goes along, and what of it is masked. */
function Taken({ copy, personal }: { copy: LiveCopy; personal: boolean }): JSX.Element {
  const { tree, history, definitions, missing, mixed } = copy;
  const { kept, masked } = useMemo(() => mask(tree, history, definitions), [copy]);
  const entities = [...withinTree(tree)];
  const timers = entities.filter(isLive).flatMap(({ region_entries }) => Object.values(region_entries));
  const armed = timers.filter(({ due_at }) => due_at !== undefined).length;
  return (
    <>
      <dl class="con-details">
        <dt>Entities</dt>
        <dd>
          {entities.length}, of which {entities.filter(isLive).length} live
        </dd>
        <dt>History</dt>
        <dd>{history.length} rows</dd>
        <dt>Timers</dt>
        <dd>{armed}</dd>
        <dt>Machines</dt>
        <dd>{definitions.map(({ machine_id }) => machine_id).join(", ")}</dd>
        <dt>{personal ? "Values" : "Masked"}</dt>
        <dd>
          {personal
            ? "as they are. They are in the fork, and in the links and files that are made of it."
            : `${masked} values of context and params are replaced by •••`}
        </dd>
        {!personal && kept.size > 0 && (
          <>
            <dt>Kept</dt>
            <dd>
              {[...kept].map(([machine, fields]) => (
                <span key={machine} class="con-fork-kept">
                  {fields.join(", ")} <span class="muted">of {machine}</span>
                </span>
              ))}
              <span class="muted">Guards read them, so they decide what the fork does.</span>
            </dd>
          </>
        )}
      </dl>
      <Rounded value={[tree, history, definitions]} what="are rounded in the fork" />
      {!personal && (
        <p class="muted">
          Ids, names of fields, states, events and times are never masked; names within a masked field are.
        </p>
      )}
      {missing.length > 0 && (
        <p class="notice notice-warn">
          Not registered, so not in the fork: {missing.join(", ")}. A state that would start such a child
          cannot be entered there.
        </p>
      )}
      {mixed.map(({ machine_id, taken, others }) => (
        <p key={machine_id} class="notice notice-warn">
          Entities of {machine_id} run by several revisions. In the fork all of them run by revision {taken},
          those of {others.join(", ")} too.
        </p>
      ))}
    </>
  );
}
