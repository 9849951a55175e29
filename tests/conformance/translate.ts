// The part of the vectors that the pure core can do: what a session of `simulate` takes, step by step. A session has no
// tenants, no HTTP and no database, so what is about these is not translated; reasons are kept with what is left out.

import { type Fields, isFields, type Json } from "./matching.ts";
import { type Case, START, type Step, under } from "./vectors.ts";

/** One step of a transcript. */
export interface Op {
  /** A session's operation. */
  readonly op: string;
  /** When: milliseconds since the epoch. */
  readonly at: number;
  /** Its arguments; what earlier steps captured stands in them as in the vector. */
  readonly args: Json;
  /** How often it is done. */
  readonly repeat: number;
  /** The vector's step, with what it expects; none where nothing is expected. */
  readonly step: Step | undefined;
}

/** A case as a session takes it, under one contract. */
export interface Transcript {
  readonly name: string;
  readonly contract: string;
  readonly start: number;
  readonly ops: readonly Op[];
}

/** Steps that only look at what a session does not have; the rest of their cases is told without them. */
const LOOKS_ELSEWHERE = new Set(["machine", "machines", "entities", "counts", "scheduler", "revisions"]);

/** What a session does not do, and why. */
const NOT_IN_A_SESSION = new Map<string, string>([
  ["replace", "revisions of a definition are the service's"],
  ["delete_machine", "a session keeps its machines"],
  ["batch", "batches are the service's"],
  ["release", "timers are freed by hand in the service alone"],
  ["deliver", "a session sends nothing"],
  ["validate", "it is asked of `validate`, not of a session"],
]);

/** Why a step is not told in a session, or undefined. */
function reason(step: Step): string | undefined {
  if (step.send !== undefined) return "it is about HTTP";
  if (step.headers !== undefined) return "headers are HTTP's";
  if (step.raw !== undefined) return "a body that is no JSON is HTTP's";
  if (step.tenant !== undefined && step.tenant !== "t1") return "tenants are the service's";
  if (step.body !== undefined && !isFields(step.body)) return "a body that is no object is HTTP's";
  return NOT_IN_A_SESSION.get(step.op ?? "");
}

function args(step: Step, contract: string): Json {
  const path: Fields = {
    ...(step.machine === undefined ? {} : { machine_id: step.machine }),
    ...(step.entity === undefined ? {} : { entity_id: step.entity }),
  };
  const body = isFields(step.body) ? step.body : {};
  return step.op === "register" ? (under(contract, body) ?? null) : { ...path, ...body };
}

/** The transcript of a case, or why there is none. */
export function translate(one: Case, contract: string): Transcript | string {
  const start = one.start ?? START;
  if (one.settings !== undefined) return "settings are the service's";
  const ops: Op[] = [];
  for (const definition of one.machines ?? []) {
    const body = under(contract, definition) ?? null;
    ops.push({ op: "register", at: start, args: body, repeat: 1, step: { op: "register" } });
  }
  let now = start;
  const captured = new Set<string>();
  const lost = new Set<string>();
  for (const step of one.steps) {
    now = start + (step.at ?? now - start);
    const why = reason(step);
    if (why !== undefined) return why;
    if (LOOKS_ELSEWHERE.has(step.op ?? "")) {
      for (const name of Object.keys(step.capture ?? {})) lost.add(name);
      continue;
    }
    for (const name of Object.keys(step.capture ?? {})) captured.add(name);
    const text = JSON.stringify(step);
    for (const name of lost) {
      if (!captured.has(name) && text.includes(`{"$captured":${JSON.stringify(name)}}`))
        return "it goes on with what only the service tells";
    }
    if (step.op === "tick") {
      ops.push({ op: "advance", at: now, args: { to: now }, repeat: step.repeat ?? 1, step: undefined });
      continue;
    }
    ops.push({ op: step.op ?? "", at: now, args: args(step, contract), repeat: step.repeat ?? 1, step });
  }
  return { name: one.name, contract, start, ops };
}
