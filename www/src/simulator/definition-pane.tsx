import type { JSX } from "preact";

import { JsonEditor } from "../editor/editor.tsx";
import type { Model } from "./model.ts";

/** The definitions in their editor. */
export function DefinitionPane({ model }: { model: Model }): JSX.Element {
  const docs = model.docs.value;
  const doc = docs.find(({ key }) => key === model.selected.value);
  return (
    <section aria-label="Definition">
      {doc !== undefined && (
        <JsonEditor
          key={doc.key}
          value={doc.text}
          problems={doc.problems}
          schema="machine"
          label={`Definition of ${doc.name}`}
          names={docs.map(({ name }) => name)}
          onChange={(text) => model.setText(doc.key, text)}
        />
      )}
    </section>
  );
}
