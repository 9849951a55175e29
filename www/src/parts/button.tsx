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
      onClick={onClick}
      disabled={disabled || busy === true}
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
      onClick={onClick}
      disabled={disabled}
      aria-pressed={pressed}
    >
      <Icon icon={icon} />
    </button>
  );
}
