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
  const { from, to } = new Places(parser.parse(text), (start, end) => text.slice(start, end)).find(path);
  return { from, to };
}

/** A value of the tree, with the name in front of it where it has one. */
interface Value {
  readonly node: SyntaxNode;
  readonly name: SyntaxNode | undefined;
}

/** Finds paths in a text that is parsed already: many of them, each object and list being gone through once. */
export class Places {
  private readonly tree: Tree;
  private readonly read: Read;
  private readonly lists = new Map<number, readonly Value[]>();
  private readonly objects = new Map<number, ReadonlyMap<string, Value>>();

  constructor(tree: Tree, read: Read) {
    this.tree = tree;
    this.read = read;
  }

  /** Where a path leads. */
  find(path: string): Found {
    const root = valueOf(this.tree.topNode);
    if (root === undefined) return { from: 0, to: this.tree.length, whole: false, name: undefined };
    let at: Value = { node: root, name: undefined };
    for (const step of stepsOf(path)) {
      const next = typeof step === "number" ? this.items(at.node)[step] : this.members(at.node).get(step);
      if (next === undefined) return found(at, false);
      at = next;
    }
    return found(at, true);
  }

  private items(node: SyntaxNode): readonly Value[] {
    if (node.name !== "Array") return [];
    const known = this.lists.get(node.from);
    if (known !== undefined) return known;
    const items: Value[] = [];
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (VALUES.has(child.name)) items.push({ node: child, name: undefined });
    }
    this.lists.set(node.from, items);
    return items;
  }

  /** Of two members of one name, JSON takes the last, and so does this. */
  private members(node: SyntaxNode): ReadonlyMap<string, Value> {
    const members = new Map<string, Value>();
    if (node.name !== "Object") return members;
    const known = this.objects.get(node.from);
    if (known !== undefined) return known;
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      const name = child.name === "Property" ? child.getChild("PropertyName") : null;
      if (name === null) continue;
      members.set(textOf(this.read(name.from, name.to)), { node: valueOf(child) ?? child, name });
    }
    this.objects.set(node.from, members);
    return members;
  }
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

function found({ node, name }: Value, whole: boolean): Found {
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
