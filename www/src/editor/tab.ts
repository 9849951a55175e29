// Tab indents, and Escape before it leaves: told on the way in, and said again by Escape.

import { indentWithTab } from "@codemirror/commands";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

/** How long after Escape the Tab key leaves. */
const LEAVE_MS = 10_000;

/** What a screen reader says of the keys when it comes in. */
export const TAB_HINT = "Tab indents. Press Escape, then Tab, to leave the editor.";

/** The keys Tab and Escape. */
export const tabbing: Extension = [
  keymap.of([
    {
      key: "Escape",
      run(view) {
        view.setTabFocusMode(LEAVE_MS);
        view.dispatch({ effects: EditorView.announce.of("Tab now leaves the editor") });
        // Others may have a use for it as well, such as a dialog around the editor.
        return false;
      },
    },
    indentWithTab,
  ]),
];
