import type { IconNode } from "lucide";
import { createElement, type JSX } from "preact";

/** An icon of lucide. It says nothing by itself: what it stands beside, or its button's label, does. */
export function Icon({ icon, size = 16 }: { icon: IconNode; size?: number }): JSX.Element {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {icon.map(([tag, attributes], key) => createElement(tag, { ...attributes, key }))}
    </svg>
  );
}
