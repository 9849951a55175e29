// How large things are, and how much of a text is drawn.

import type { EdgeNode, LineNode } from "./graph.ts";

/** What is written: names of states, what stands at edges, and headings of boxes. */
export type Font = "state" | "line" | "heading";

/** How wide texts are. */
export type Measure = (text: string, font: Font) => number;

/** The most characters of a name that are drawn, and of a line at an edge. */
export const NAME_LENGTH = 40;
const LINE_LENGTH = 48;
/** The most lines at an edge; the rest is counted. */
const MOST_LINES = 6;

export const LINE_HEIGHT = 17;
/** The room of the icon before a line's text. */
export const LINE_ICON = 15;
/** Left and right of the lines at an edge. */
export const LINE_MARGIN = 5;
export const STATE_HEIGHT = 38;
/** Of a compound state: its name, and under it its child's machine. */
export const COMPOUND_HEAD = 54;
/** Of a region: its name. */
export const REGION_HEAD = 32;

/** A text cut to a length, with an ellipsis where it is longer. */
export function cut(text: string, length: number): string {
  // Of very long texts only the beginning is looked at; a character has two code units at most.
  const characters = [...text.slice(0, (length + 1) * 2)];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** What is written of a transition. */
export function lineText({ kind, text, guard }: LineNode): string {
  const what = kind === "completion" ? `when ${text}` : text;
  return guard === undefined ? what : `${what} [${guard}]`;
}

/** A line at an edge; without a transition, the one that counts those that are not written. */
export interface ShownLine {
  readonly line: LineNode | undefined;
  readonly text: string;
}

/** The lines that are written at an edge, cut. */
export function shownLines({ lines }: EdgeNode): readonly ShownLine[] {
  const shown = lines.length > MOST_LINES ? lines.slice(0, MOST_LINES - 1) : lines;
  const written: ShownLine[] = shown.map((line) => ({ line, text: cut(lineText(line), LINE_LENGTH) }));
  const rest = lines.length - shown.length;
  return rest === 0 ? written : [...written, { line: undefined, text: `and ${rest} more` }];
}

/** Whether a line has an icon before its text. */
export function hasIcon(line: LineNode | undefined): boolean {
  return line !== undefined && (line.kind !== "event" || line.broadcast);
}

/** The room that an edge's lines take. */
export function textSize(
  edge: EdgeNode,
  measure: Measure,
): { readonly width: number; readonly height: number } {
  const lines = shownLines(edge);
  const widths = lines.map(({ line, text }) => measure(text, "line") + (hasIcon(line) ? LINE_ICON : 0));
  return { width: Math.ceil(Math.max(...widths)) + 2 * LINE_MARGIN, height: lines.length * LINE_HEIGHT + 2 };
}
