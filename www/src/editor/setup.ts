// What the editor is made of.

import {
  autocompletion,
  clearSnippet,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  nextSnippetField,
  prevSnippetField,
  snippetKeymap,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
} from "@codemirror/language";
import { lintGutter, lintKeymap, linter } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";

import { highlighting } from "./highlight.ts";
import { phrases } from "./phrases.ts";
import { tabbing } from "./tab.ts";
import { typingOver } from "./typing.ts";
import { wrapping } from "./wrapping.ts";

/** The nonce that the page's policy lets styles in by. */
function nonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
}

/** What every editor of JSON has, one that is only read too. */
export function reading(): Extension {
  return [
    EditorView.cspNonce.of(nonce()),
    // It has the focus anyway; said in words, tools that look for scrollable areas without a focus know it too.
    EditorView.contentAttributes.of({ tabindex: "0" }),
    phrases,
    wrapping,
    json(),
    highlighting,
    lineNumbers(),
    // What cannot be seen, or turns the text around it, is shown as a mark with its name.
    highlightSpecialChars(),
    drawSelection(),
    bracketMatching(),
    codeFolding(),
    foldGutter({ openText: "⌄", closedText: "›" }),
    highlightSelectionMatches(),
    search({ top: true }),
    keymap.of([...searchKeymap, ...foldKeymap]),
  ];
}

/** What an editor has that is written in. */
export function writing(): Extension {
  return [
    history(),
    indentUnit.of("  "),
    EditorState.tabSize.of(2),
    indentOnInput(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    lintGutter(),
    linter(null),
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...lintKeymap]),
    // From one place to fill in to the next, with what can stand there.
    snippetKeymap.of([
      {
        key: "Tab",
        run: (view) => nextSnippetField(view) && (startCompletion(view), true),
        shift: (view) => prevSnippetField(view) && (startCompletion(view), true),
      },
      { key: "Escape", run: clearSnippet },
    ]),
    autocompletion({ icons: false, maxRenderedOptions: 200 }),
    tabbing,
    typingOver,
    keymap.of(defaultKeymap),
  ];
}
