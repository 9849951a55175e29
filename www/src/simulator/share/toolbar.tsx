import type { JSX } from "preact";

import type { Model } from "../model.ts";

export function Toolbar({ model }: { model: Model }): JSX.Element {
  return <div class="sim-toolbar">{model.name.value}</div>;
}
