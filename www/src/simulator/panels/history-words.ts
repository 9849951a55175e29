// What steps did and why rows were written, in words.

import type { JsonDefinition, SimulatedRow } from "statewright";

import { memberOf } from "../../parts/json-value.ts";
import { moment, span } from "../../parts/time.tsx";
import type { StepView } from "../model.ts";

/** Why a row was written: a kind for its mark, and the reason in words. */
export interface RowCause {
  readonly kind: "event" | "timeout" | "join" | "completed" | "cancelled" | "resumed" | "other";
  readonly words: string;
}

/** What a row says of its cause. Rows of an adopted entity may say anything. */
export function causeOf(row: SimulatedRow, definitions: readonly JsonDefinition[]): RowCause {
  const { cause, event_type } = row;
  switch (cause["via"]) {
    case "event":
      return { kind: "event", words: event_type };
    case "timeout": {
      const due = cause["due_at"];
      return { kind: "timeout", words: typeof due === "number" ? `timeout, due ${moment(due)}` : "timeout" };
    }
    case "join":
      return { kind: "join", words: joinWords(row, cause["join"], definitions) };
    case "managed":
    case "legacy":
      return { kind: "completed", words: `child completed: ${childOf(cause["child"])}` };
    case "cancel":
      return { kind: "cancelled", words: "cancelled: its parent left the state" };
    case "resume":
      return { kind: "resumed", words: "woken: its parent entered the state again" };
    default:
      return { kind: "other", words: event_type };
  }
}

function joinWords(row: SimulatedRow, index: unknown, definitions: readonly JsonDefinition[]): string {
  if (typeof index !== "number") return "join";
  const definition = definitions.find(({ machine_id }) => machine_id === row.machine_id);
  const join = definition?.joins?.[index];
  if (join === undefined) return `join ${index + 1}`;
  const { description, when } = join;
  if (typeof description === "string" && description !== "") return `join: ${description}`;
  const states = Object.entries(when).map(([region, state]) => `${region} ${String(state)}`);
  return `join: ${states.join(" and ")}`;
}

function childOf(child: unknown): string {
  if (typeof child === "string") return child;
  const id = memberOf(child, "entity_id");
  return typeof id === "string" ? id : "a child";
}

/** What a step did. */
interface StepWords {
  readonly verb: string;
  /** What it was about, to be shown as a name. */
  readonly name?: string;
  readonly rest?: string;
}

/** A step in words: `Event pay for o-1`. */
export function stepWords({ op, args, at }: StepView): StepWords {
  const body = args["body"];
  const entity = textOf(args["entity_id"]);
  switch (op) {
    case "create":
      return {
        verb: "Created",
        name: textOf(memberOf(body, "entity_id")) ?? "an entity",
        rest: `of ${machineOf(args)}`,
      };
    case "transition":
    case "evaluate": {
      const target = targetText(memberOf(body, "target"));
      const to = entity ?? machineOf(args);
      return {
        verb: "Sent",
        name: textOf(memberOf(body, "event_type")) ?? "an event",
        rest: target === "" ? `to ${to}` : `to ${to}, at ${target}`,
      };
    }
    case "advance": {
      const to = args["to"];
      return typeof to === "number"
        ? { verb: "Clock to", name: moment(to), rest: `${span(to - at)} later` }
        : { verb: "Clock turned on" };
    }
    case "tick":
      return { verb: "Fired what was due" };
    case "deliver":
      return { verb: "Delivered events that waited" };
    case "delete":
      return { verb: "Deleted", name: entity ?? "an entity" };
    case "release":
      return { verb: "Freed parked timers of", name: entity ?? "an entity" };
    case "register":
      return { verb: "Registered", name: textOf(memberOf(body, "machine_id")) ?? "a machine" };
    case "delete_machine":
      return { verb: "Deleted machine", name: machineOf(args) };
    case "adopt":
      return {
        verb: "Took over",
        name: textOf(memberOf(memberOf(body, "tree"), "entity_id")) ?? "an entity",
      };
    default:
      return { verb: "Did", name: op };
  }
}

/** The params that a step sent. */
export function paramsOf({ args }: StepView): object | undefined {
  const body = args["body"];
  const params = memberOf(body, "params") ?? memberOf(body, "context");
  return typeof params === "object" && params !== null && Object.keys(params).length > 0 ? params : undefined;
}

function machineOf(args: StepView["args"]): string {
  return textOf(args["machine_id"]) ?? "a machine";
}

/** The way to a child: `ret_b1, settling`. */
function targetText(target: unknown): string {
  if (!Array.isArray(target)) return "";
  return target.map((step: unknown) => textOf(memberOf(step, "state")) ?? "…").join(", ");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
