// What a key or a value means, where the pointer rests on it.

import type { Extension } from "@codemirror/state";
import { hoverTooltip } from "@codemirror/view";

import { described } from "./described.ts";
import { textOf } from "./place.ts";
import { cursorAt } from "./scan.ts";
import { schemasAt } from "./schema.ts";

/** Longer texts are not looked at for a pointer that passes. */
const LONGEST = 1_000_000;

/** Shows the schema's descriptions. */
export const explaining: Extension = hoverTooltip((view, at) => {
  if (view.state.doc.length > LONGEST) return null;
  // A cursor at the beginning of a word is not in it yet.
  const cursor = cursorAt(view.state.doc.toString(), at + 1);
  const token = cursor?.token;
  if (cursor === undefined || token === undefined) return null;
  const word = textOf(token.text);
  const path = cursor.role === "key" ? [...cursor.path, word] : cursor.path;
  const schemas = schemasAt(path, cursor.members);
  const descriptions = schemas
    .filter((schema) => cursor.role === "key" || schema.const === word)
    .flatMap(({ description }) => description ?? []);
  const [first] = descriptions;
  if (first === undefined) return null;
  return {
    pos: token.from,
    end: token.to,
    above: true,
    create() {
      const dom = described(first);
      dom.className = "editor-hover";
      return { dom };
    },
  };
});
