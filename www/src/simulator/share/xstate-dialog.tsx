import type { ComponentType, JSX } from "preact";
import { useState } from "preact/hooks";
import type { JsonDefinition } from "statewright";

import { Lazy } from "../../parts/lazy.tsx";

interface XStateDialogProps {
  readonly onImport: (definitions: readonly JsonDefinition[]) => void;
  readonly onClose: () => void;
}

/** The import from XState: its reader is loaded when it is first asked for. */
export function XStateDialog(props: XStateDialogProps): JSX.Element {
  const [load] = useState(() => async (): Promise<ComponentType> => {
    const { XStateImport } = await import("../../editor/xstate-import.tsx");
    return () => <XStateImport {...props} />;
  });
  return <Lazy load={load} name="the import" />;
}
