import type { JSX } from "preact";

import { roundedIn } from "./exact-numbers.ts";

interface RoundedProps {
  readonly value: unknown;
  /** What becomes of them. */
  readonly what?: string;
}

/** Says that numbers of a value that was read may be others than the service has, where there are such. */
export function Rounded({ value, what = "are shown rounded here" }: RoundedProps): JSX.Element | null {
  if (roundedIn(value).size === 0) return null;
  return (
    <p class="field-hint">
      Whole numbers beyond 2<sup>53</sup> {what}. The service has them as they were sent.
    </p>
  );
}
