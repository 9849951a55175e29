// What is wrong with a text as JSON, found in its syntax tree; and where the faults of a definition are marked.

import type { Tree } from "@lezer/common";

import { type Place, type Places, type Read, stepsOf, textOf } from "./place.ts";
import { isKnown } from "./schema.ts";

/** A fault or warning of a definition. */
export interface Problem {
  /** Where it is: `$.transitions[0].to`. */
  readonly path: string;
  readonly severity: "error" | "warning";
  readonly message: string;
}

/** A problem at its place in a text. */
export interface Mark extends Place {
  readonly severity: "error" | "warning";
  readonly message: string;
}

/** How many places of broken syntax are marked: one mistake can break all that follows. */
const MOST_BROKEN = 20;
/** How many doubled keys are marked. */
const MOST_DOUBLED = 100;

/** What of a text is no JSON. */
export function syntaxMarks(tree: Tree, read: Read): Mark[] {
  if (tree.length === 0 || read(0, tree.length).trim() === "") {
    return [
      {
        from: 0,
        to: tree.length,
        severity: "error",
        message: "There is nothing here: a JSON object is needed",
      },
    ];
  }
  const marks: Mark[] = [];
  tree.iterate({
    enter(node) {
      if (marks.length >= MOST_BROKEN) return false;
      if (!node.type.isError) return undefined;
      const before = marks.at(-1);
      // Recovery leaves several in a row for one mistake.
      if (before !== undefined && node.from <= before.to + 1) return false;
      marks.push({
        ...visible(node, tree.length, read),
        severity: "error",
        message: brokenAt(node, tree, read),
      });
      return false;
    },
  });
  return marks;
}

/** Keys that stand twice in one object: only the last counts. */
export function doubledMarks(tree: Tree, read: Read): Mark[] {
  const marks: Mark[] = [];
  const open: Map<string, Place>[] = [];
  tree.iterate({
    enter(node) {
      if (marks.length >= MOST_DOUBLED) return false;
      if (node.name === "Object") open.push(new Map());
      if (node.name !== "PropertyName") return undefined;
      const key = textOf(read(node.from, node.to));
      const before = open.at(-1)?.get(key);
      if (before !== undefined) {
        const message = `\`${short(key)}\` stands here again further down: only the last one counts`;
        marks.push({ ...before, severity: "warning", message });
      }
      open.at(-1)?.set(key, { from: node.from, to: node.to });
      return undefined;
    },
    leave(node) {
      if (node.name === "Object") open.pop();
    },
  });
  return marks;
}

/** Where a problem is marked: the value, or the name in front of one that goes over several lines. */
export function problemMark(places: Places, read: Read, { path, severity, message }: Problem): Mark {
  const { from, to, name, whole } = places.find(path);
  // Of a key that there is not, the key is what is wrong.
  if (whole && name !== undefined && !isKnown(stepsOf(path))) return { ...name, severity, message };
  const line = read(from, Math.min(to, from + 500)).indexOf("\n");
  if (line < 0) return { from, to, severity, message };
  if (name !== undefined) return { ...name, severity, message };
  return { from, to: from + Math.max(line, 1), severity, message };
}

/** A name in a message, cut where it is long. */
export function short(name: string): string {
  return name.length <= 60 ? name : `${name.slice(0, 60)}…`;
}

/** The stretch of an error that can be seen: errors of what is missing are empty. */
function visible({ from, to }: Place, length: number, read: Read): Place {
  if (to > from) return { from, to: Math.min(to, from + 200) };
  const around = read(Math.max(0, from - 200), from);
  const gap = around.length - around.trimEnd().length;
  const end = from - gap;
  return end > 0 ? { from: end - 1, to: end } : { from: 0, to: Math.min(1, length) };
}

function brokenAt({ from, to }: Place, tree: Tree, read: Read): string {
  const text = read(from, Math.min(to, from + 40)).trim();
  if (/^"(?:[^"\\\n]|\\.)*"/.test(text)) return "A comma or a colon is missing in front of this text";
  if (text.startsWith('"')) return "This text does not end: a quote is missing";
  if (text.startsWith("'")) return "Texts stand in double quotes";
  if (text.startsWith("//") || text.startsWith("/*")) return "JSON has no comments";
  if (text === ",") return "A comma too many";
  if (/^[A-Za-z_]/.test(text))
    return `\`${short(/^[\w$]+/.exec(text)?.[0] ?? text)}\` is no JSON: names and texts stand in double quotes`;
  if (text !== "") return `\`${short(text)}\` is not expected here`;
  const next = read(from, Math.min(tree.length, from + 200)).trimStart();
  const before = read(Math.max(0, from - 200), from)
    .trimEnd()
    .at(-1);
  if (next === "") return "It ends too early: a bracket is missing";
  if (before === ",") return "A comma too many, or something is missing after it";
  if (before === ":") return "A value is missing";
  return "Something is missing here: a comma, a colon or a bracket";
}
