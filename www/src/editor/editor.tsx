import { openLintPanel, closeLintPanel } from "@codemirror/lint";
import { openSearchPanel } from "@codemirror/search";
import { Annotation, EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { AlignLeft, CircleAlert, CircleCheck, Search } from "lucide";
import type { JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { IconButton } from "../parts/button.tsx";
import { counted } from "../parts/counted.ts";
import { Icon } from "../parts/icon.tsx";
import { assist } from "./assist.ts";
import "./editor.css";
import type { Problem } from "./faults.ts";
import { formatJson } from "./format.ts";
import { type Counts, countMarks, goingThrough, marking, placesIn, showProblems } from "./marks.ts";
import { reading, writing } from "./setup.ts";
import { TAB_HINT } from "./tab.ts";

export type { Problem } from "./faults.ts";
export { formatJson, jsonText } from "./format.ts";
export { placeOf } from "./place.ts";

interface EditorProps {
  readonly value: string;
  readonly onChange?: (text: string) => void;
  /** Faults and warnings of what is written; the editor finds those of the syntax itself. */
  readonly problems?: readonly Problem[];
  /** What is completed and explained: a machine's definition, if nothing else is said. */
  readonly schema?: "machine" | "none";
  readonly readOnly?: boolean;
  readonly label: string;
  /** A new object scrolls to its path. */
  readonly reveal?: { readonly path: string } | undefined;
  /** Ids of machines, which children may have. */
  readonly names?: readonly string[];
}

/** A change that came from outside, and is not told there again. */
const fromOutside = Annotation.define<true>();

/** An editor of JSON: completion, faults at their lines, formatting, folding and search, all by keyboard. */
export function JsonEditor(props: EditorProps): JSX.Element {
  const { value, problems, readOnly = false, label, reveal } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const current = useRef(props);
  current.current = props;
  const [counts, setCounts] = useState<Counts>({ errors: 0, warnings: 0 });
  const [broken, setBroken] = useState(false);
  const hint = useId();

  useLayoutEffect(() => {
    const parent = box.current;
    if (parent === null) return;
    const made = new EditorView({
      parent,
      state: EditorState.create({
        doc: current.current.value,
        extensions: [
          readOnly
            ? [EditorState.readOnly.of(true), reading()]
            : [editing(), writing(), reading(), marking, goingThrough],
          (current.current.schema ?? "machine") === "machine"
            ? assist(() => current.current.names ?? [])
            : [],
          // The label can change while one writes: it may name what is written.
          EditorView.contentAttributes.of(() => ({
            "aria-label": current.current.label,
            ...(readOnly ? { "aria-readonly": "true" } : { "aria-describedby": hint }),
          })),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) {
              setBroken(false);
              const outside = update.transactions.some((one) => one.annotation(fromOutside) === true);
              if (!outside) current.current.onChange?.(update.state.doc.toString());
            }
            setCounts((before) => same(before, countMarks(update.state)));
          }),
        ],
      }),
    });
    view.current = made;
    return () => {
      view.current = undefined;
      made.destroy();
    };
  }, [readOnly]);

  useLayoutEffect(() => {
    view.current?.dispatch({});
  }, [label]);

  useLayoutEffect(() => {
    if (view.current !== undefined) replaceText(view.current, value);
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: showProblems.of(problems ?? []) });
  }, [problems, readOnly]);

  useEffect(() => {
    if (view.current !== undefined && reveal !== undefined) show(view.current, reveal.path);
  }, [reveal]);

  const run = (command: (target: EditorView) => boolean) => {
    if (view.current === undefined) return;
    if (command === format) setBroken(!command(view.current));
    else command(view.current);
  };

  /** The format command, by key. */
  function editing() {
    return keymap.of([
      { key: "Mod-Shift-f", preventDefault: true, run: (target) => (setBroken(!format(target)), true) },
    ]);
  }

  return (
    <div class="editor">
      <div class="editor-text" ref={box} />
      {!readOnly && (
        <div class="editor-foot">
          <ProblemsButton counts={counts} onOpen={() => run(togglePanel)} />
          <p class="only-read" role="status">
            {countsText(counts)}
          </p>
          <p class="editor-note" role="status">
            {broken ? "Not formatted: the JSON is broken" : ""}
          </p>
          <p class="only-read" id={hint}>
            {TAB_HINT}
          </p>
          <IconButton icon={Search} label="Find (Ctrl F)" onClick={() => run(openSearchPanel)} />
          <IconButton icon={AlignLeft} label="Format (Ctrl Shift F)" onClick={() => run(format)} />
        </div>
      )}
    </div>
  );
}

/** How many faults and warnings there are; opens the list of them. */
function ProblemsButton({ counts, onOpen }: { counts: Counts; onOpen: () => void }): JSX.Element {
  const { errors, warnings } = counts;
  const kind = errors > 0 ? "bad" : warnings > 0 ? "warn" : "good";
  return (
    <button
      type="button"
      class={`editor-problems editor-problems-${kind}`}
      onClick={onOpen}
      title="List them (Ctrl Shift M)"
      disabled={errors + warnings === 0}
    >
      <Icon icon={kind === "good" ? CircleCheck : CircleAlert} size={14} />
      <span>{countsText(counts)}</span>
    </button>
  );
}

function countsText({ errors, warnings }: Counts): string {
  if (errors + warnings === 0) return "No faults";
  const parts = [
    ...(errors === 0 ? [] : [counted(errors, "fault")]),
    ...(warnings === 0 ? [] : [counted(warnings, "warning")]),
  ];
  return parts.join(", ");
}

/** The old counts where they are the same, so that nothing is drawn again. */
function same(before: Counts, now: Counts): Counts {
  return before.errors === now.errors && before.warnings === now.warnings ? before : now;
}

function togglePanel(view: EditorView): boolean {
  if (view.dom.querySelector(".cm-panel-lint") === null) return openLintPanel(view);
  view.focus();
  return closeLintPanel(view);
}

/** Lays the text out; false where it is no JSON. */
function format(view: EditorView): boolean {
  const text = formatJson(view.state.doc.toString());
  if (text === undefined) return false;
  replaceText(view, text, false);
  return true;
}

/** Puts another text there, by a change of what differs alone: the cursor and what is folded stay. */
function replaceText(view: EditorView, text: string, outside = true): void {
  const before = view.state.doc.toString();
  if (before === text) return;
  const most = Math.min(before.length, text.length);
  let from = 0;
  while (from < most && before[from] === text[from]) from += 1;
  let end = 0;
  while (end < most - from && before[before.length - 1 - end] === text[text.length - 1 - end]) end += 1;
  view.dispatch({
    changes: { from, to: before.length - end, insert: text.slice(from, text.length - end) },
    ...(outside ? { annotations: fromOutside.of(true) } : { userEvent: "input.format" }),
  });
}

function show(view: EditorView, path: string): void {
  const { from, to, name } = placesIn(view.state).find(path);
  const start = name?.from ?? from;
  const line = view.state.doc.lineAt(start);
  view.dispatch({
    selection: { anchor: start, head: Math.min(to, line.to) },
    effects: EditorView.scrollIntoView(start, { y: "center" }),
  });
}
