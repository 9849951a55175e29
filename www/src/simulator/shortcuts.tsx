import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/overlays.tsx";

/** What shortcuts do. */
interface Shortcuts {
  readonly undo: () => void;
  readonly redo: () => void;
  readonly run: () => void;
  readonly jump: () => void;
  readonly events: () => void;
  readonly help: () => void;
}

const isApple = (): boolean => /Mac|iP(hone|ad|od)/.test(navigator.userAgent);

const LIST: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["Z"], "Undo the last step"],
  [["Shift", "Z"], "Redo the next step"],
  [["Enter"], "Go to what can happen now"],
  [["Shift", "Enter"], "Run or pause the clock"],
  [["."], "Jump to the next timer"],
  [["/"], "Show these shortcuts"],
];

/** What a key of the list does. */
function meaning(event: KeyboardEvent, shortcuts: Shortcuts): (() => void) | undefined {
  switch (event.key.toLowerCase()) {
    case "z":
      return event.shiftKey ? shortcuts.redo : shortcuts.undo;
    case "y":
      return event.shiftKey ? undefined : shortcuts.redo;
    case "enter":
      return event.shiftKey ? shortcuts.run : shortcuts.events;
    case ".":
      return shortcuts.jump;
    case "/":
      return shortcuts.help;
    default:
      return undefined;
  }
}

/** Where keys are text: the editor's and the fields' own shortcuts come first. */
function isText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input, textarea, select");
}

/** Listens for the shortcuts. All of them have Ctrl or Command: screen readers use letters alone. */
export function useShortcuts(shortcuts: Shortcuts): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isOurs = isApple() ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
      if (!isOurs || event.altKey || event.defaultPrevented || isText(event.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const does = meaning(event, shortcuts);
      if (does === undefined) return;
      event.preventDefault();
      does();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });
}

/** The list of them. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const first = isApple() ? "⌘" : "Ctrl";
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="sim-keys">
        {LIST.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {[first, ...keys].map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        They do nothing while you type: the editor and the fields keep their own. In the editor, Escape and
        then Tab leaves it. Lines between panes move by the arrow keys.
      </p>
      <div class="dialog-actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
