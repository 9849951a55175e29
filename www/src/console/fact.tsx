import type { ComponentChildren, JSX } from "preact";

/** A fact in a list of facts (`con-facts`): its name, and what it is. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="con-fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
