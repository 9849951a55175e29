import type { JSX } from "preact";

import { roundedIn } from "./exact-numbers.ts";

/** Says that numbers of a value that was read may be shown rounded, where there are such. */
export function Rounded({ value }: { value: unknown }): JSX.Element | null {
  if (roundedIn(value).size === 0) return null;
  return (
    <p class="field-hint">
      Whole numbers beyond 2<sup>53</sup> are shown rounded here. The service has them as they were sent.
    </p>
  );
}
