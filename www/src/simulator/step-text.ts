// What the last step did, in a line.

import type { SimulatedRow } from "statewright";

import { stepWords } from "./panels/history-words.ts";
import type { StepView, View } from "./model-view.ts";

function moveText({ region, from_state, to_state }: SimulatedRow): string {
  return `${region === "_" ? "" : `${region}: `}${from_state} → ${to_state}`;
}

function cameOf({ op, rows, status, reason }: StepView): string {
  if (status >= 300) return reason === undefined ? ", and was refused" : `, and was refused: ${reason}`;
  const [first] = rows;
  if (first === undefined) {
    if (op !== "transition") return "";
    return reason === undefined ? ", and nothing moved" : `, and nothing moved: ${reason}`;
  }
  if (op === "adopt") return "";
  return `: ${moveText(first)}${rows.length > 1 ? `, and ${rows.length - 1} more` : ""}`;
}

/** The last step that is done: `Step 3 of 5: Sent pay to o-1: placed → paid`. While the clock runs it is not told how far. */
export function stepText({ steps, done }: View, running: boolean): string {
  const last = steps[done - 1];
  if (running && last?.op === "advance" && last.rows.length === 0) return `Step ${done}: the clock runs`;
  if (last === undefined) {
    if (steps.length === 0) return "Nothing was done yet.";
    return steps.length === 1 ? "The one step is undone." : `All ${steps.length} steps are undone.`;
  }
  const { verb, name, rest } = stepWords(last);
  const what = [verb, name, rest].filter((part) => part !== undefined).join(" ");
  const of = done === steps.length ? "" : ` of ${steps.length}`;
  return `Step ${done}${of}: ${what}${cameOf(last)}`;
}
