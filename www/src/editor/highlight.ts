// Colours of JSON, as classes: editor.css gives them the tokens of the page.

import { syntaxHighlighting } from "@codemirror/language";
import { tagHighlighter, tags } from "@lezer/highlight";

/** Gives keys and values the classes of their colours. */
export const highlighting = syntaxHighlighting(
  tagHighlighter([
    { tag: tags.propertyName, class: "editor-key" },
    { tag: tags.string, class: "editor-string" },
    { tag: tags.number, class: "editor-number" },
    { tag: [tags.bool, tags.null], class: "editor-word" },
  ]),
);
