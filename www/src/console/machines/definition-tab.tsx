import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { JsonEditor } from "../../editor/editor.tsx";
import { Rounded } from "../../parts/rounded.tsx";
import { definitionText } from "./definition-text.ts";
import type { TabProps } from "./machine.tsx";

/** The definition of the newest revision, to be read. */
export function DefinitionTab({ machine }: TabProps): JSX.Element {
  const text = useMemo(() => definitionText(machine), [machine.content_hash]);
  return (
    <>
      <div class="con-editor">
        <JsonEditor value={text} readOnly label={`Definition of ${machine.machine_id}`} />
      </div>
      <Rounded value={machine} />
    </>
  );
}
