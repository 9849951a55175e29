// Where a JSON path stands in a text.

import type { SyntaxNode, Tree } from "@lezer/common";
import { parser } from "@lezer/json";

/** A stretch of a text: from its first character to behind its last. */
export interface Place {
  readonly from: number;
  readonly to: number;
}

/** What a path leads to, so far as the text has it. */
export interface Found extends Place {
  /** Whether the whole path is there; otherwise it is the innermost part that is. */
  readonly whole: boolean;
  /** The name in front of it, where it is the value of a key. */
  readonly name: Place | undefined;
}

/** One step of a path: a key of an object, or the number of an item. */
export type Step = string | number;

/** Reads a stretch of the text. */
export type Read = (from: number, to: number) => string;

/**
 * The steps of a path as faults and warnings have it: `$.transitions[0].to`, `$.sub_machines["my state"]`. What is no
 * path ends where it stops to be one.
 */
export function stepsOf(path: string): Step[] {
  const step = /\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/sy;
  const steps: Step[] = [];
  step.lastIndex = path.startsWith("$") ? 1 : 0;
  for (let found = step.exec(path); found !== null; found = step.exec(path)) {
    const [, key, index, quoted] = found;
    if (key !== undefined) steps.push(key);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(textOf(quoted));
  }
  return steps;
}

/** Where a JSON path is in a text: [from, to), by the syntax tree. Where it is missing, the innermost part that is there. */
export function placeOf(text: string, path: string): Place {
  const { from, to } = placeIn(parser.parse(text), (start, end) => text.slice(start, end), path);
  return { from, to };
}

/** The same in a text that is parsed already. */
export function placeIn(tree: Tree, read: Read, path: string): Found {
  const root = valueOf(tree.topNode);
  if (root === undefined) return { from: 0, to: tree.length, whole: false, name: undefined };
  let at: { node: SyntaxNode; name: SyntaxNode | undefined } = { node: root, name: undefined };
  for (const step of stepsOf(path)) {
    const next = typeof step === "number" ? item(at.node, step) : member(at.node, step, read);
    if (next === undefined) return found(at, false);
    at = next;
  }
  return found(at, true);
}

/** The text that a JSON string stands for; of a broken one, what is between its quotes. */
export function textOf(string: string): string {
  try {
    const value: unknown = JSON.parse(string);
    if (typeof value === "string") return value;
  } catch {
    // It is cut off, or has an escape that is none.
  }
  return string.replace(/^"|"$/g, "");
}

function found({ node, name }: { node: SyntaxNode; name: SyntaxNode | undefined }, whole: boolean): Found {
  return {
    from: node.from,
    to: node.to,
    whole,
    name: name === undefined ? undefined : { from: name.from, to: name.to },
  };
}

const VALUES = new Set(["Object", "Array", "String", "Number", "True", "False", "Null"]);

/** The first value among a node's children. */
function valueOf(node: SyntaxNode): SyntaxNode | undefined {
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (VALUES.has(child.name)) return child;
  }
  return undefined;
}

function item(node: SyntaxNode, index: number): { node: SyntaxNode; name: undefined } | undefined {
  if (node.name !== "Array") return undefined;
  let count = 0;
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (!VALUES.has(child.name)) continue;
    if (count === index) return { node: child, name: undefined };
    count += 1;
  }
  return undefined;
}

/** The last member of that name: of two, JSON takes the last. */
function member(
  node: SyntaxNode,
  key: string,
  read: Read,
): { node: SyntaxNode; name: SyntaxNode } | undefined {
  if (node.name !== "Object") return undefined;
  for (let child = node.lastChild; child !== null; child = child.prevSibling) {
    if (child.name !== "Property") continue;
    const name = child.getChild("PropertyName");
    if (name === null || textOf(read(name.from, name.to)) !== key) continue;
    return { node: valueOf(child) ?? child, name };
  }
  return undefined;
}
