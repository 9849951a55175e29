import type { JSX } from "preact";

import type { Model } from "../model.ts";

export function Panels({ model }: { model: Model }): JSX.Element {
  return <p class="loading">{model.view.value?.done} steps</p>;
}
