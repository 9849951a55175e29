// What lies over the page: one question at a time, and short notes of what was done.

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Boundary } from "./boundary.tsx";
import { Button } from "./button.tsx";

/** A question with two answers. */
export interface Question {
  readonly title: string;
  /** What will happen, in full: what is lost, and what is not. */
  readonly body: ComponentChildren;
  /** What the button that does it says: a verb. */
  readonly action: string;
  readonly danger?: boolean;
}

const asked = signal<(Question & { readonly answer: (yes: boolean) => void }) | undefined>(undefined);
const told = signal<{ readonly text: string; readonly key: number } | undefined>(undefined);
/** The dialogs that are open, the one on top last. */
const open = signal<readonly symbol[]>([]);
let noteEnds: ReturnType<typeof setTimeout> | undefined;

/**
 * Asks before something is done; whether it shall be.
 *
 * @param signal ends the question where what it is about is left: the answer is no.
 */
export function confirm(question: Question, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted === true) return Promise.resolve(false);
  asked.value?.answer(false);
  return new Promise((answer) => {
    const asking = { ...question, answer };
    asked.value = asking;
    signal?.addEventListener("abort", () => {
      if (asked.peek() === asking) asked.value = undefined;
      answer(false);
    });
  });
}

/** Tells what was done; it goes away by itself. */
export function tell(text: string): void {
  told.value = { text, key: (told.value?.key ?? 0) + 1 };
  clearTimeout(noteEnds);
  noteEnds = setTimeout(() => {
    told.value = undefined;
  }, 5000);
}

/** Where questions and notes are shown: once in the page. */
export function Overlays(): JSX.Element {
  return (
    <>
      <Asked />
      <Told within={undefined} />
    </>
  );
}

/** The note that was told last. It stands in the dialog on top, if there is one: what is below is covered, and not read out. */
function Told({ within }: { within: symbol | undefined }): JSX.Element {
  const note = open.value.at(-1) === within ? told.value : undefined;
  return (
    <div class="told" role="status" aria-live="polite">
      {note !== undefined && <p key={note.key}>{note.text}</p>}
    </div>
  );
}

function Asked(): JSX.Element | null {
  const question = asked.value;
  const answer = (yes: boolean) => {
    asked.value = undefined;
    question?.answer(yes);
  };
  useEffect(() => {
    if (question === undefined) return undefined;
    // It was asked in a view that is left.
    const leave = () => answer(false);
    addEventListener("hashchange", leave);
    return () => removeEventListener("hashchange", leave);
  }, [question]);
  if (question === undefined) return null;
  return (
    <Dialog title={question.title} onClose={() => answer(false)}>
      <div class="dialog-body">{question.body}</div>
      <div class="dialog-actions">
        <Button onClick={() => answer(false)}>Leave it</Button>
        <Button kind={question.danger === true ? "danger" : "primary"} onClick={() => answer(true)}>
          {question.action}
        </Button>
      </div>
    </Dialog>
  );
}

export interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly wide?: boolean;
}

/** A modal dialog: the keyboard stays in it, Escape closes it, and the focus goes back where it was. */
export function Dialog({ title, children, onClose, wide = false }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [key] = useState(() => Symbol(title));
  // At once: the next key is already the dialog's.
  useLayoutEffect(() => {
    const { current } = dialog;
    const before = document.activeElement;
    current?.showModal();
    open.value = [...open.value, key];
    return () => {
      open.value = open.value.filter((each) => each !== key);
      current?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? "dialog dialog-wide" : "dialog"}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 class="dialog-title">{title}</h2>
      <Boundary name="what belongs here">{children}</Boundary>
      <Told within={key} />
    </dialog>
  );
}
