// The faults and warnings that the editor shows: those of the text itself, and those that it is given.

import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";
import { type Diagnostic, forEachDiagnostic, setDiagnostics } from "@codemirror/lint";
import { type EditorState, StateEffect } from "@codemirror/state";
import { type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

import { described } from "./described.ts";
import { doubledMarks, type Mark, type Problem, problemMark, syntaxMarks } from "./faults.ts";

/** How long the text must rest before it is looked at again. */
const REST_MS = 250;
/** How long the parser may take for the rest of a long text. */
const PARSE_MS = 1000;

/** What problems the definition has: from whoever checks it. */
export const showProblems = StateEffect.define<readonly Problem[]>();

/** How many of each are shown. */
export interface Counts {
  readonly errors: number;
  readonly warnings: number;
}

/** The syntax tree of the whole text, or of what could be parsed in time. */
export function wholeTree(state: EditorState) {
  return ensureSyntaxTree(state, state.doc.length, PARSE_MS) ?? syntaxTree(state);
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
      if (problems !== undefined) queueMicrotask(() => this.mark(problems));
      if (update.docChanged) this.later(REST_MS);
    }

    destroy(): void {
      clearTimeout(this.timer);
      this.gone = true;
    }

    private later(wait: number): void {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.mark(undefined), wait);
    }

    /** Marks afresh; without new problems, those that are marked stay where the changes have moved them. */
    private mark(problems: readonly Problem[] | undefined): void {
      if (this.gone) return;
      const { state } = this.view;
      const tree = wholeTree(state);
      const read = reader(state);
      const broken = syntaxMarks(tree, read);
      const given = problems?.map((problem) => problemMark(tree, read, problem)) ?? kept(state);
      const own = broken.length > 0 ? broken : doubledMarks(tree, read);
      const shown = [...own.map(diagnostic), ...given.map(givenDiagnostic)];
      this.view.dispatch(setDiagnostics(state, shown.sort(byPlace)));
    }
  },
);

/** Of all that is marked, what was given. */
const GIVEN = new WeakSet<Diagnostic>();

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
