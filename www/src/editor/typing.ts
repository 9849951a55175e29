// Typing over a selection. Left to it, Chromium gives what is typed the style of what was there, as a style attribute, which the page's
// policy refuses with a complaint.

import { EditorView } from "@codemirror/view";

/** Types over a selection as CodeMirror would. */
export const typingOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { state } = view;
    const { ranges, main } = state.selection;
    const text = event.inputType === "insertText" ? event.data : null;
    if (text === null || main.empty || ranges.length > 1 || event.isComposing || view.composing) return false;
    if (state.readOnly) return false;
    const insert = () =>
      state.update(state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    const handlers = state.facet(EditorView.inputHandler);
    const handled = handlers.some((handler) => handler(view, main.from, main.to, text, insert));
    if (!handled) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});
