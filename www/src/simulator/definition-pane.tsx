import "./definition-pane.css";

import { Plus, Trash2 } from "lucide";
import type { JSX } from "preact";
import { useId, useRef } from "preact/hooks";

import { JsonEditor } from "../editor/editor.tsx";
import { IconButton } from "../parts/button.tsx";
import { confirm } from "../parts/overlays.tsx";
import type { Doc, Model } from "./model.ts";

/** A place in a document. */
export interface Revealed {
  readonly key: number;
  readonly path: string;
}

export interface DefinitionProps {
  readonly model: Model;
  /** A new object shows that place. */
  readonly reveal: Revealed | undefined;
}

/** The definitions in their editor: a tab for each machine. */
export function DefinitionPane({ model, reveal }: DefinitionProps): JSX.Element {
  const id = useId();
  const docs = model.docs.value;
  const doc = docs.find(({ key }) => key === model.selected.value) ?? docs[0];
  return (
    <section class="sim-definition" aria-label="Definition">
      <h2 class="only-read">Definition</h2>
      <div class="sim-docs">
        <DocTabs model={model} docs={docs} shown={doc} id={id} />
        <IconButton icon={Plus} label="Add a machine" onClick={() => model.addDoc()} />
        <IconButton
          icon={Trash2}
          label={`Remove ${doc?.name ?? "the machine"}`}
          disabled={docs.length < 2}
          onClick={() => doc !== undefined && void remove(model, doc)}
        />
      </div>
      <div
        class="sim-definition-editor"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${doc?.key ?? ""}`}
      >
        {doc !== undefined && (
          <JsonEditor
            key={doc.key}
            value={doc.text}
            problems={doc.problems}
            schema="machine"
            label={`Definition of ${doc.name}`}
            reveal={reveal?.key === doc.key ? reveal : undefined}
            names={docs.map(({ name }) => name)}
            onChange={(text) => model.setText(doc.key, text)}
          />
        )}
      </div>
      <p
        class={model.stale.value ? "sim-definition-note sim-definition-stale" : "sim-definition-note"}
        role="status"
        title={noteOf(model)}
      >
        {noteOf(model)}
      </p>
    </section>
  );
}

function noteOf(model: Model): string {
  if (!model.stale.value) return model.note.value ?? "The simulation runs by this.";
  return model.definitions.value.length === 0
    ? "Faults: the simulation begins without them."
    : "Faults: the simulation runs by what was before.";
}

async function remove(model: Model, doc: Doc): Promise<void> {
  const yes = await confirm({
    title: `Remove ${doc.name}?`,
    body: "Its text is lost, and so are its entities and the steps that were about them. The other machines stay.",
    action: "Remove",
    danger: true,
  });
  if (yes) model.removeDoc(doc.key);
}

interface DocTabsProps {
  readonly model: Model;
  readonly docs: readonly Doc[];
  readonly shown: Doc | undefined;
  readonly id: string;
}

function DocTabs({ model, docs, shown, id }: DocTabsProps): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const at = docs.findIndex((doc) => doc === shown);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: docs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + docs.length) % docs.length;
    model.selected.value = docs[next]?.key ?? model.selected.value;
    list.current?.querySelectorAll("button").item(next)?.focus();
  };
  return (
    <div class="tabs-list sim-docs-list" role="tablist" aria-label="Machines" ref={list} onKeyDown={move}>
      {docs.map((doc) => (
        <button
          key={doc.key}
          type="button"
          role="tab"
          id={`${id}-${doc.key}`}
          title={doc.name}
          aria-selected={doc === shown}
          aria-controls={`${id}-panel`}
          tabIndex={doc === shown ? 0 : -1}
          onClick={() => (model.selected.value = doc.key)}
        >
          <span class="sim-docs-name">{doc.name}</span>
          <Faults doc={doc} />
        </button>
      ))}
    </div>
  );
}

/** How many faults a document has, on its tab. */
function Faults({ doc }: { doc: Doc }): JSX.Element | null {
  const faults = doc.problems.filter(({ severity }) => severity === "error").length;
  const count = doc.broken ? 1 : faults;
  if (count === 0) return null;
  return (
    <span class="badge badge-bad">
      {count}
      <span class="only-read"> {count === 1 ? "fault" : "faults"}</span>
    </span>
  );
}
