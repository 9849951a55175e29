import type { JSX } from "preact";

import { Rounded } from "./rounded.tsx";

/** JSON, indented. Long ones scroll. */
export function Json({ value, label }: { value: unknown; label: string }): JSX.Element {
  return (
    <>
      <pre class="json" tabIndex={0} aria-label={label} role="region">
        {JSON.stringify(value, undefined, 2)}
      </pre>
      <Rounded value={value} />
    </>
  );
}
