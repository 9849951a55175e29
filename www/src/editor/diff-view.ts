// The view of a difference: loaded when one is first shown.

import { getChunks, MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

import { reading } from "./setup.ts";

interface DiffView {
  readonly before: string;
  readonly after: string;
  readonly beforeLabel: string;
  readonly afterLabel: string;
  /** Side by side, or in one. */
  readonly wide: boolean;
}

/** A difference that is shown. */
export interface ShownDiff {
  readonly changes: number;
  /** Goes to the next change or the one before; answers which it is. */
  go(by: 1 | -1): number;
  destroy(): void;
}

/** Unchanged lines further than this from a change are folded. */
const COLLAPSED = { margin: 3, minSize: 6 };
/** Where texts differ this much, what differs is found more roughly, and fast. */
const CONFIG = { scanLimit: 500, timeout: 500 };

/** Shows what differs. */
export function showDiff(
  parent: HTMLElement,
  { before, after, beforeLabel, afterLabel, wide }: DiffView,
): ShownDiff {
  if (!wide) {
    const view = new EditorView({
      parent,
      doc: after,
      extensions: [
        readOnly(`${beforeLabel} and ${afterLabel}`),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          collapseUnchanged: COLLAPSED,
          diffConfig: CONFIG,
        }),
      ],
    });
    return steps(view, getChunks(view.state)?.chunks ?? [], () => view.destroy());
  }
  const merge = new MergeView({
    parent,
    a: { doc: before, extensions: readOnly(beforeLabel) },
    b: { doc: after, extensions: readOnly(afterLabel) },
    collapseUnchanged: COLLAPSED,
    diffConfig: CONFIG,
  });
  return steps(merge.b, merge.chunks, () => merge.destroy());
}

function readOnly(label: string): Extension {
  return [
    EditorState.readOnly.of(true),
    reading(),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true" }),
  ];
}

function steps(
  view: EditorView,
  chunks: readonly { readonly fromB: number }[],
  destroy: () => void,
): ShownDiff {
  let at = -1;
  return {
    changes: chunks.length,
    go(by) {
      if (at < 0) at = by > 0 ? 0 : chunks.length - 1;
      else at = (at + by + chunks.length) % chunks.length;
      const start = Math.min(chunks[at]?.fromB ?? 0, view.state.doc.length);
      view.dispatch({
        selection: { anchor: start },
        effects: EditorView.scrollIntoView(start, { y: "center" }),
      });
      return at;
    },
    destroy,
  };
}
