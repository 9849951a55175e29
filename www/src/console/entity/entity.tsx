import type { JSX } from "preact";

/** One entity. */
export function EntityView({ machine, entity }: { machine: string; entity: string }): JSX.Element {
  return (
    <h1>
      {machine} / {entity}
    </h1>
  );
}
