// Completion in a definition: keys, values and names that can stand where the cursor is.

import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  type CompletionSource,
  hasNextSnippetField,
  snippet,
  startCompletion,
} from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";

import { Names, namesFor } from "./names.ts";
import { described } from "./described.ts";
import { type Step, textOf } from "./place.ts";
import { type Cursor, cursorAt, isClosed } from "./scan.ts";
import { isOf, keysOf, mappedBy, type Schema, schemasAt } from "./schema.ts";
import { formLabel, formSnippet, kindOf, quoted, valueSnippet } from "./snippets.ts";

/** In texts that are longer nothing is completed while one types, only when one asks. */
const LONGEST = 300_000;
/** How many names are offered. */
const MOST_NAMES = 500;

/** Completes a definition; `machines` are the ids of those that there are. */
export function completion(machines: () => readonly string[]): CompletionSource {
  return (context) => {
    if (context.state.doc.length > LONGEST && !context.explicit) return null;
    const text = context.state.doc.toString();
    const cursor = cursorAt(text, context.pos);
    if (cursor === undefined) return null;
    // Where a comma is missing, something else may be meant.
    if (cursor.comma !== undefined && cursor.token === undefined && !context.explicit) return null;
    const names = namesFor(cursor.path, cursor.members, new Names(text), machines()).slice(0, MOST_NAMES);
    const options = cursor.role === "key" ? keyOptions(cursor, names) : valueOptions(cursor, names);
    return result(context, cursor, options);
  };
}

function result(
  { pos }: CompletionContext,
  { token }: Cursor,
  options: Completion[],
): CompletionResult | null {
  if (options.length === 0) return null;
  if (token === undefined) return { from: pos, options, validFor: /^[\w$]*$/ };
  const isText = token.text.startsWith('"');
  return { from: token.from + (isText ? 1 : 0), options, validFor: isText ? /^[^"\\]*$/ : /^[\w$]*$/ };
}

function keyOptions({ path, members, token }: Cursor, names: readonly string[]): Completion[] {
  const schemas = schemasAt(path, members);
  const present = new Map(members.at(-1));
  // The key that is written is not there yet.
  if (token !== undefined) present.delete(textOf(token.text));
  const mapped = mappedBy(schemas);
  if (mapped !== undefined) {
    return names
      .filter((name) => !present.has(name))
      .map((name) => ({ label: name, type: "variable", apply: keyApply(quoted(name), mapped) }));
  }
  return keysOf(schemas, present)
    .filter(({ name }) => isMeant(name, path, members))
    .map(({ name, schema, required }) => ({
      label: name,
      type: "property",
      detail: required ? `${kindOf(schema)}, required`.replace(/^, /, "") : kindOf(schema),
      boost: required ? 10 : 0,
      ...explained(schema.description),
      apply: keyApply(quoted(name), schema),
    }));
}

/** Whether a key has a meaning in the machine at hand: a flat one has no regions to name. */
function isMeant(key: string, path: readonly Step[], members: Cursor["members"]): boolean {
  const root = members[0];
  const isFlat = root?.has("states") === true && !root.has("regions");
  const isParallel = root?.has("regions") === true;
  if (isFlat) return !(key === "region" || (path.length === 0 && (key === "joins" || key === "broadcast")));
  return !(isParallel && path.length === 0 && key === "sub_machines");
}

function valueOptions({ path, members, token }: Cursor, names: readonly string[]): Completion[] {
  const options = new Map<string, Completion>();
  const add = (option: Completion) => {
    if (!options.has(option.label)) options.set(option.label, option);
  };
  for (const name of names) add({ label: name, type: "variable", boost: 5, apply: valueApply(quoted(name)) });
  const isText = token?.text.startsWith('"') === true;
  schemasAt(path, members).forEach((form, at) => {
    for (const value of form.enum ?? [])
      add({ label: value, type: "constant", apply: valueApply(quoted(value)) });
    if (form.const !== undefined) {
      add({
        label: form.const,
        type: "constant",
        ...explained(form.description),
        apply: valueApply(quoted(form.const)),
      });
    }
    if (isText) return;
    if (isOf(form, "boolean")) {
      for (const word of ["true", "false"]) add({ label: word, type: "keyword", apply: valueApply(word) });
    }
    if (isOf(form, "object")) {
      // In the order of the schema: what is used most comes first.
      const more = { boost: -at, ...explained(form.description) };
      add({ label: formLabel(form), type: "class", ...more, apply: valueApply(formSnippet(form)) });
    }
    if (isOf(form, "array")) add({ label: "[ ]", type: "class", apply: valueApply("[${}]") });
  });
  return [...options.values()];
}

function explained(description: string | undefined): { info?: () => Node } {
  return description === undefined ? {} : { info: () => described(description) };
}

type Apply = (view: EditorView, option: Completion, from: number, to: number) => void;

/** Puts a key in, and its value's beginning unless it has one. */
function keyApply(key: string, schema: Schema): Apply {
  return (view, _option, from, to) => {
    const cursor = cursorAt(view.state.doc.toString(), to);
    const hasValue = cursor?.next === ":";
    put(view, hasValue ? key : `${key}: ${valueSnippet(schema)}`, cursor, from, to, !hasValue);
  };
}

function valueApply(text: string): Apply {
  return (view, _option, from, to) => {
    put(view, text, cursorAt(view.state.doc.toString(), to), from, to, text.includes("${}"));
  };
}

/** Puts a snippet in the place of what was begun, with the commas that it needs, and offers what can go on from there. */
function put(
  view: EditorView,
  text: string,
  cursor: Cursor | undefined,
  from: number,
  to: number,
  goesOn: boolean,
): void {
  const { token, comma, next = "" } = cursor ?? {};
  const start = token?.from ?? from;
  const end = token === undefined || !isWhole(token.text) ? to : token.to;
  const after = next === "" || /^[,:}\]]/.test(next) ? "" : ",";
  const missing = comma === undefined ? 0 : 1;
  if (comma !== undefined)
    view.dispatch({ changes: { from: comma, insert: "," }, userEvent: "input.complete" });
  if (text.includes("${}")) snippet(`${text}${after}`)(view, null, start + missing, end + missing);
  else putPlain(view, text.replaceAll(/\\([{}])/g, "$1"), after, start + missing, end + missing);
  if (goesOn) startCompletion(view);
}

/** A text goes between the quotes that are there: so what is still to be filled in around it can be reached by Tab. */
function putPlain(view: EditorView, text: string, after: string, from: number, to: number): void {
  const quotes = text.startsWith('"') && isClosed(view.state.doc.sliceString(from, to)) ? 1 : 0;
  const stays = quotes > 0 && hasNextSnippetField(view.state);
  view.dispatch({
    changes: [
      { from: from + quotes, to: to - quotes, insert: text.slice(quotes, text.length - quotes) },
      { from: to, insert: after },
    ],
    selection: { anchor: from + text.length - (stays ? 1 : 0) },
    scrollIntoView: true,
    userEvent: "input.complete",
  });
}

/** Whether all of a token is what was begun; a text without its last quote goes on to the end of the line. */
function isWhole(token: string): boolean {
  return !token.startsWith('"') || isClosed(token);
}
