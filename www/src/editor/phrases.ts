// The words of CodeMirror's own panels, as the page writes them.

import { EditorState } from "@codemirror/state";

/** Has CodeMirror say them. */
export const phrases = EditorState.phrases.of({
  next: "Next",
  previous: "Previous",
  all: "Select all",
  "match case": "Match case",
  regexp: "Regular expression",
  "by word": "Whole words",
  replace: "Replace",
  "replace all": "Replace all",
  close: "Close",
  Diagnostics: "Faults and warnings",
  "No diagnostics": "No faults",
  "$ unchanged lines": "$ lines without a change",
  Completions: "Completions",
});
