// Reads JSON that is being written: whatever is missing or broken, it says where each text stands.

import { type Step, textOf } from "./place.ts";

/** An object or a list that is open. */
export interface Frame {
  readonly kind: "object" | "list";
  /** The key of what is read now, in an object that has one. */
  key: string | undefined;
  /** The number of what is read now, in a list. */
  index: number;
  /** The values so far that are plain: texts as they are, everything else as it is written. */
  readonly members: Map<string, string>;
  /** What comes next. */
  expects: "key" | "colon" | "value" | "comma";
}

/** A token of the text. */
interface Token {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

const TOKEN = /"[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|\\?$)|[{}[\],:]|[^\s{}[\],:"]+/gm;

/** Walks through the text from its beginning. It stops where the visit answers true. What is open then is answered. */
export function scan(
  text: string,
  visit: (token: Token, open: readonly Frame[]) => boolean | undefined,
): readonly Frame[] {
  const open: Frame[] = [];
  TOKEN.lastIndex = 0;
  for (const match of text.matchAll(TOKEN)) {
    const token = { text: match[0], from: match.index, to: match.index + match[0].length };
    if (visit(token, open) === true) break;
    apply(token.text, open);
  }
  return open;
}

function apply(token: string, open: Frame[]): void {
  const at = open.at(-1);
  switch (token) {
    case "{":
    case "[":
      if (at !== undefined) at.expects = "comma";
      open.push({
        kind: token === "{" ? "object" : "list",
        key: undefined,
        index: 0,
        members: new Map(),
        expects: token === "{" ? "key" : "value",
      });
      return;
    case "}":
    case "]":
      open.pop();
      return;
    case ",":
      if (at === undefined) return;
      at.index += 1;
      at.key = undefined;
      at.expects = at.kind === "object" ? "key" : "value";
      return;
    case ":":
      if (at !== undefined) at.expects = "value";
      return;
    default:
      word(token, at);
  }
}

function word(token: string, at: Frame | undefined): void {
  if (at === undefined) return;
  const value = token.startsWith('"') ? textOf(token) : token;
  // Where a colon or a comma is missing, the next text is a key as well.
  if (at.kind === "object" && at.expects !== "value") {
    at.key = value;
    at.members.set(value, "");
    at.expects = "colon";
    return;
  }
  if (at.kind === "object" && at.key !== undefined && at.expects === "value") at.members.set(at.key, value);
  at.expects = "comma";
}

/** The steps from the root to what is read now. */
export function pathOf(open: readonly Frame[]): Step[] {
  const steps: Step[] = [];
  for (const { kind, key, index } of open) {
    if (kind === "list") steps.push(index);
    else if (key !== undefined) steps.push(key);
  }
  return steps;
}

/** Where the cursor stands. */
export interface Cursor {
  /** Whether a key or a value is written there. */
  readonly role: "key" | "value";
  /** The way to the object of the key, or to the value. */
  readonly path: readonly Step[];
  /** For each step of the way, what is plain in the object it starts from. */
  readonly members: readonly ReadonlyMap<string, string>[];
  /** The word or text that the cursor is in. */
  readonly token: Token | undefined;
  /** Where a comma is missing in front of it. */
  readonly comma: number | undefined;
  /** The token behind it: a bracket, a colon, a comma, or the beginning of something else. */
  readonly next: string;
}

/** How far behind the cursor the objects around it are read. */
const MOST_BEHIND = 20_000;

/** What is written at a place in the text; undefined outside of the root. */
export function cursorAt(text: string, at: number): Cursor | undefined {
  let found: { frames: readonly Frame[]; path: Step[]; role: "key" | "value"; comma: boolean } | undefined;
  let token: Token | undefined;
  let end = 0;
  let next: string | undefined;
  let behind = 0;
  const stand = (open: readonly Frame[]) => {
    const inner = open.at(-1);
    if (inner === undefined) return undefined;
    const comma = inner.expects === "comma";
    const isKey = inner.kind === "object" && inner.expects !== "value";
    const path = pathOf(open);
    // After a value and before its comma, the key is still that of the value.
    if (isKey && inner.key !== undefined) path.pop();
    if (comma && inner.kind === "list") path[path.length - 1] = inner.index + 1;
    return { frames: [...open], path, role: isKey ? ("key" as const) : ("value" as const), comma };
  };
  const left = scan(text, (each, open) => {
    if (found === undefined && each.to >= at && holds(each, at)) {
      found = stand(open);
      token = each;
      return found === undefined;
    }
    if (found === undefined && each.from >= at) found = stand(open);
    if (each.from >= at) {
      if (found === undefined) return true;
      next ??= each.text;
      behind += 1;
      return behind > MOST_BEHIND || open.length === 0;
    }
    end = each.to;
    return undefined;
  });
  found ??= next === undefined ? stand(left) : undefined;
  if (found === undefined) return undefined;
  const { frames, path, role, comma } = found;
  return {
    role,
    path,
    members: frames.map(({ members }) => members),
    token,
    comma: comma ? end : undefined,
    next: next ?? "",
  };
}

/** Whether the cursor is in a word or a text; behind a text's last quote it is outside. */
function holds({ text, from, to }: Token, at: number): boolean {
  if (/^[{}[\],:]$/.test(text) || from >= at) return false;
  if (!text.startsWith('"')) return at <= to;
  return at < to || (at === to && !isClosed(text));
}

/** Whether a text has its last quote. */
export function isClosed(text: string): boolean {
  return text.length > 1 && /(?:^|[^\\])(?:\\\\)*"$/.test(text.slice(1));
}
