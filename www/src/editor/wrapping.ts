// Lines that are wrapped go on under their own beginning.

import { type Extension, RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

/** How far a line's continuation is indented at most. */
const WIDEST = 40;
/** Only the beginnings of lines are looked at. */
const LINE_START = 200;

const hanging = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = hangingLines(view);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = hangingLines(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function hangingLines(view: EditorView): DecorationSet {
  const lines = new RangeSetBuilder<Decoration>();
  const { doc } = view.state;
  let done = -1;
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to;) {
      const line = doc.lineAt(at);
      at = line.to + 1;
      if (line.from <= done) continue;
      done = line.from;
      const start = doc.sliceString(line.from, Math.min(line.to, line.from + LINE_START));
      const indent = Math.min(/^ */.exec(start)?.[0].length ?? 0, WIDEST) + 2;
      lines.add(line.from, line.from, hang(indent));
    }
  }
  return lines.finish();
}

const HANGS = new Map<number, Decoration>();

function hang(indent: number): Decoration {
  const made =
    HANGS.get(indent) ??
    // CodeMirror sets it through the object model, which the page's policy allows.
    Decoration.line({
      attributes: { style: `text-indent: -${indent}ch; padding-left: calc(${indent}ch + 6px)` },
    });
  HANGS.set(indent, made);
  return made;
}

/** Wraps long lines, and indents what is wrapped. */
export const wrapping: Extension = [EditorView.lineWrapping, hanging];
