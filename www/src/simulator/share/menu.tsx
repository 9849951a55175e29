import { ChevronDown, type IconNode } from "lucide";
import type { JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Icon } from "../../parts/icon.tsx";

/** Something that a menu offers. */
interface MenuItem {
  readonly id: string;
  readonly label: string;
  readonly description: string;
}

interface MenuProps {
  readonly label: string;
  readonly icon: IconNode;
  readonly items: readonly MenuItem[];
  readonly onSelect: (id: string) => void;
}

/** A button that opens a menu: arrows and first letters go through it, Escape and whatever leaves it closes it. */
export function Menu({ label, icon, items, onSelect }: MenuProps): JSX.Element {
  const id = useId();
  const [open, setOpen] = useState<"first" | "last">();
  const whole = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const itemButtons = () => [
    ...(whole.current?.querySelectorAll<HTMLButtonElement>('[role="menuitem"]') ?? []),
  ];

  // Before the next key comes, which is the menu's.
  useLayoutEffect(() => {
    if (open !== undefined)
      itemButtons()
        .at(open === "first" ? 0 : -1)
        ?.focus();
  }, [open]);

  useEffect(() => {
    if (open === undefined) return undefined;
    const away = ({ target }: Event) => {
      if (target instanceof Node && whole.current?.contains(target) !== true) setOpen(undefined);
    };
    addEventListener("pointerdown", away);
    addEventListener("focusin", away);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("focusin", away);
    };
  }, [open]);

  const close = () => {
    setOpen(undefined);
    button.current?.focus();
  };
  const opens = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    setOpen(event.key === "ArrowDown" ? "first" : "last");
  };
  const moves = (event: KeyboardEvent) => {
    const buttons = itemButtons();
    const at = buttons.findIndex((item) => item === event.target);
    if (event.key === "Escape") close();
    else if (event.key === "Tab") return setOpen(undefined);
    else {
      const next = nextOf(event.key, at, items);
      if (next === undefined) return undefined;
      buttons[next]?.focus();
    }
    return event.preventDefault();
  };

  return (
    <div class="sim-menu" ref={whole}>
      <button
        type="button"
        class="button"
        ref={button}
        aria-haspopup="menu"
        aria-expanded={open !== undefined}
        aria-controls={open === undefined ? undefined : id}
        onClick={() => setOpen(open === undefined ? "first" : undefined)}
        onKeyDown={opens}
      >
        <Icon icon={icon} />
        <span>{label}</span>
        <Icon icon={ChevronDown} size={14} />
      </button>
      {open !== undefined && (
        <div class="sim-menu-items" role="menu" id={id} aria-label={label} onKeyDown={moves}>
          {items.map((item) => (
            <button
              key={item.id}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                close();
                onSelect(item.id);
              }}
            >
              <span class="sim-menu-label">{item.label}</span>{" "}
              <span class="sim-menu-more">{item.description}</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

/** Which item a key leads to. */
function nextOf(key: string, at: number, items: readonly MenuItem[]): number | undefined {
  const { length } = items;
  if (key === "ArrowDown") return (at + 1) % length;
  if (key === "ArrowUp") return (at - 1 + length) % length;
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  if (key.length !== 1) return undefined;
  const order = items.map((_, step) => (at + 1 + step) % length);
  return order.find((place) => items[place]?.label.toLowerCase().startsWith(key.toLowerCase()));
}
