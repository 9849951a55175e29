// The faults and warnings that the editor shows: those of the text itself, and those that it is given.

import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import {
  type Diagnostic,
  forEachDiagnostic,
  nextDiagnostic,
  previousDiagnostic,
  setDiagnostics,
} from "@codemirror/lint";
import { type EditorState, Prec, StateEffect } from "@codemirror/state";
import { type Command, EditorView, keymap, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import type { Tree } from "@lezer/common";

import { described } from "./described.ts";
import { doubledMarks, type Mark, type Problem, problemMark, syntaxMarks } from "./faults.ts";
import { Places } from "./place.ts";

/** How long the text must rest before it is looked at again. */
const REST_MS = 250;
/** How long the parser works at once on a long text, how long it rests, and how often it goes on. */
const PARSE_MS = 30;
const PARSE_REST_MS = 15;
const MOST_PARSES = 200;

/** What problems the definition has: from whoever checks it. */
export const showProblems = StateEffect.define<readonly Problem[]>();

/** How many of each are shown. */
export interface Counts {
  readonly errors: number;
  readonly warnings: number;
}

/** The places of a text, so far as it could be parsed at once. */
export function placesIn(state: EditorState): Places {
  return new Places(ensureSyntaxTree(state, state.doc.length, PARSE_MS) ?? syntaxTree(state), reader(state));
}

/** Reads a state's text. */
export function reader(state: EditorState): (from: number, to: number) => string {
  return (from, to) => state.doc.sliceString(from, to);
}

/** Counts what is marked. */
export function countMarks(state: EditorState): Counts {
  let errors = 0;
  let warnings = 0;
  forEachDiagnostic(state, ({ severity }) => {
    if (severity === "error") errors += 1;
    else warnings += 1;
  });
  return { errors, warnings };
}

/** Keeps the marks at what the text and the given problems are. */
export const marking = ViewPlugin.fromClass(
  class {
    private readonly view: EditorView;
    private timer: ReturnType<typeof setTimeout> | undefined;
    private gone = false;
    private parses = 0;
    /** Problems that are not marked yet. */
    private waiting: readonly Problem[] | undefined;

    constructor(view: EditorView) {
      this.view = view;
      this.later(0);
    }

    update(update: ViewUpdate): void {
      let problems: readonly Problem[] | undefined;
      for (const { effects } of update.transactions) {
        for (const effect of effects) if (effect.is(showProblems)) problems = effect.value;
      }
      // A view must not be changed while it is updated.
      if (problems !== undefined) {
        this.parses = 0;
        queueMicrotask(() => this.mark(problems));
      }
      if (update.docChanged) this.later(REST_MS);
    }

    destroy(): void {
      clearTimeout(this.timer);
      this.gone = true;
    }

    private later(wait: number): void {
      clearTimeout(this.timer);
      this.parses = 0;
      this.timer = setTimeout(() => this.mark(undefined), wait);
    }

    /** Marks afresh; without new problems, those that are marked stay where the changes have moved them. */
    private mark(problems: readonly Problem[] | undefined): void {
      if (this.gone) return;
      this.waiting = problems ?? this.waiting;
      const { state } = this.view;
      const tree = ensureSyntaxTree(state, state.doc.length, PARSE_MS);
      if (tree === null && this.parses < MOST_PARSES) {
        this.parses += 1;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.mark(undefined), PARSE_REST_MS);
        return;
      }
      this.show(tree ?? syntaxTree(state));
    }

    private show(tree: Tree): void {
      const { state } = this.view;
      const read = reader(state);
      const places = new Places(tree, read);
      const broken = syntaxMarks(tree, read);
      const given = this.waiting?.map((problem) => problemMark(places, read, problem)) ?? kept(state);
      this.waiting = undefined;
      const own = broken.length > 0 ? broken : doubledMarks(tree, read);
      const shown = [...own.map(diagnostic), ...given.map(givenDiagnostic)];
      this.view.dispatch(setDiagnostics(state, shown.sort(byPlace)));
    }
  },
);

/** Of all that is marked, what was given. */
const GIVEN = new WeakSet<Diagnostic>();

/** F8 and Shift F8 go from one fault or warning to the next; what it is, is read out. */
export const goingThrough = Prec.high(
  keymap.of([
    { key: "F8", run: (view) => step(view, nextDiagnostic), shift: (view) => step(view, previousDiagnostic) },
  ]),
);

function step(view: EditorView, go: Command): boolean {
  if (!go(view)) return false;
  const { from, to } = view.state.selection.main;
  const said: string[] = [];
  forEachDiagnostic(view.state, ({ message, severity }, start, end) => {
    if (start === from && end === to) said.push(`${severity === "error" ? "Fault" : "Warning"}: ${message}`);
  });
  const line = view.state.doc.lineAt(from).number;
  view.dispatch({ effects: EditorView.announce.of(`Line ${line}. ${said.join(". ")}`) });
  return true;
}

function kept(state: EditorState): Mark[] {
  const marks: Mark[] = [];
  forEachDiagnostic(state, (one, from, to) => {
    if (!GIVEN.has(one)) return;
    marks.push({ from, to, severity: one.severity === "error" ? "error" : "warning", message: one.message });
  });
  return marks;
}

function givenDiagnostic(mark: Mark): Diagnostic {
  const made = diagnostic(mark);
  GIVEN.add(made);
  return made;
}

function diagnostic({ from, to, severity, message }: Mark): Diagnostic {
  return {
    from,
    to,
    severity,
    message,
    // In words what the colour tells.
    renderMessage() {
      const line = described(message);
      const kind = document.createElement("strong");
      kind.textContent = severity === "error" ? "Fault: " : "Warning: ";
      line.prepend(kind);
      return line;
    },
  };
}

function byPlace(one: Diagnostic, other: Diagnostic): number {
  return one.from - other.from || one.to - other.to;
}
