import { Download } from "lucide";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { messageOf } from "../parts/failure.tsx";
import { Icon } from "../parts/icon.tsx";
import { tell } from "../parts/overlays.tsx";
import { fileName, saveFile } from "../parts/save-file.ts";
import { pngOf, svgOf } from "./export.ts";

export interface ExportMenuProps {
  /** The drawing, where there is one. */
  readonly drawing: (() => SVGSVGElement | undefined) | undefined;
  readonly mermaid: (() => string | Promise<string>) | undefined;
  readonly name: string;
}

/** A button that opens what the diagram can be saved as. */
export function ExportMenu({ drawing, mermaid, name }: ExportMenuProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    menu.current?.querySelector("button")?.focus();
    const away = ({ target }: Event) => {
      if (target instanceof Node && menu.current?.parentElement?.contains(target) !== true) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("focusin", away);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("focusin", away);
    };
  }, [open]);

  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const save = (ending: string, make: () => Blob | Promise<Blob>) => async () => {
    close();
    try {
      const file = `${fileName(name, "diagram")}.${ending}`;
      saveFile(await make(), file);
      tell(`Saved ${file}`);
    } catch (error) {
      tell(`Could not save: ${messageOf(error)}`);
    }
  };
  const drawn = () => {
    const element = drawing?.();
    if (element === undefined) throw new Error("there is no drawing");
    return svgOf(element, name);
  };
  const choices: { text: string; act: () => Promise<void> }[] = [];
  if (drawing !== undefined) {
    choices.push(
      { text: "SVG", act: save("svg", () => new Blob([drawn().text], { type: "image/svg+xml" })) },
      { text: "PNG", act: save("png", () => pngOf(drawn())) },
    );
  }
  if (mermaid !== undefined) {
    choices.push({
      text: "Mermaid",
      act: save("mmd", async () => new Blob([await mermaid()], { type: "text/plain" })),
    });
  }

  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(menu.current?.querySelectorAll("button") ?? [])];
    const at = buttons.findIndex((one) => one === document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") buttons[(at + 1) % buttons.length]?.focus();
    else if (event.key === "ArrowUp") buttons.at(at - 1)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="diagram-export">
      <button
        ref={button}
        type="button"
        class="icon-button"
        aria-label="Export"
        title="Export"
        aria-haspopup="menu"
        aria-expanded={open}
        disabled={choices.length === 0}
        onClick={() => setOpen(!open)}
      >
        <Icon icon={Download} />
      </button>
      {open && (
        <div
          ref={menu}
          class="diagram-menu"
          role="menu"
          aria-label="Export as"
          tabIndex={-1}
          onKeyDown={onKeyDown}
        >
          {choices.map(({ text, act }) => (
            <button key={text} type="button" role="menuitem" tabIndex={-1} onClick={() => void act()}>
              {text}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
