import type { IconNode } from "lucide";
import type { ComponentChildren, JSX } from "preact";

import { Icon } from "./icon.tsx";

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly icon?: IconNode;
  /** `primary` for the one thing to do next, `danger` for what destroys. */
  readonly kind?: "plain" | "primary" | "danger";
  readonly onClick?: (event: MouseEvent) => void;
  readonly disabled?: boolean;
  /** Why it cannot be used, or what it does: shown on hover, and read out. */
  readonly title?: string;
  readonly type?: "button" | "submit";
  readonly busy?: boolean;
}

export function Button(props: ButtonProps): JSX.Element {
  const { children, icon, kind = "plain", onClick, disabled = false, title, type = "button", busy } = props;
  return (
    <button
      type={type}
      class={`button button-${kind}`}
      onClick={unlessOff(disabled || busy === true, onClick)}
      aria-disabled={disabled || busy === true ? true : undefined}
      title={title}
      aria-busy={busy}
    >
      {icon !== undefined && <Icon icon={icon} />}
      <span>{children}</span>
    </button>
  );
}

export interface IconButtonProps {
  readonly icon: IconNode;
  /** What it does: there is no text. */
  readonly label: string;
  readonly onClick?: (event: MouseEvent) => void;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
}

/** A button that shows an icon alone. */
export function IconButton({ icon, label, onClick, disabled, pressed }: IconButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      onClick={unlessOff(disabled === true, onClick)}
      aria-disabled={disabled === true ? true : undefined}
      aria-pressed={pressed}
    >
      <Icon icon={icon} />
    </button>
  );
}

/** A button that cannot be used now keeps the focus, so that the keyboard goes on from it: it is not `disabled` to the browser. */
function unlessOff(off: boolean, onClick: ((event: MouseEvent) => void) | undefined) {
  if (!off) return onClick;
  // Nor does it send its form.
  return (event: MouseEvent) => event.preventDefault();
}
