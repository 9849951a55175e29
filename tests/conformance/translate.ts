// The part of the vectors that the pure core can do: what a session of a simulation is asked, step by step. A session has no
// HTTP, no database and one tenant, so what is about these is not translated; why is kept with what is left out.

import { type Fields, isFields, type Json } from "./matching.ts";
import { type Case, START, type Step, under } from "./vectors.ts";

/** One step of a transcript. */
export interface Op {
  /** The operation. */
  readonly op: string;
  /** Its arguments; what earlier steps captured stands in them as in the vector. */
  readonly args: Fields;
  /** How often it is done. */
  readonly repeat: number;
  /** The vector's step, with what it expects. */
  readonly step: Step;
}

/** A case as a session takes it, under one contract. */
export interface Transcript {
  readonly name: string;
  readonly contract: string;
  /** What the clock reads at the beginning. */
  readonly start: number;
  readonly ops: readonly Op[];
}

/** Steps that only look at what a session does not have; the rest of their cases is told without them. */
const LOOKS_ELSEWHERE = new Set(["machines", "entities", "counts", "scheduler", "revisions"]);

/** What a session does not do, and why. */
const NOT_IN_A_SESSION = new Map<string, string>([
  ["replace", "revisions of definitions are the service's"],
  ["batch", "batches are the service's"],
]);

/** Cases that ask what a session does otherwise, and why. */
export const OTHERWISE = new Map<string, string>([
  ["a-flat-definition-is-stored-and-returned", "no hash is made of a definition"],
  ["addresses-of-joins-are-looked-at", "nothing is sent, so no address is refused"],
  ["every-address-of-a-definition-is-looked-at", "nothing is sent, so no address is refused"],
]);

/** Why a step cannot be asked of a session, or undefined. */
function reason(step: Step): string | undefined {
  if (step.send !== undefined) return "routes are HTTP's";
  if (step.headers !== undefined) return "headers are HTTP's";
  if (step.raw !== undefined) return "what is no JSON is HTTP's";
  if (step.tenant !== undefined && step.tenant !== "t1") return "other tenants are the service's";
  if (LOOKS_ELSEWHERE.has(step.op ?? "")) return undefined;
  const known = Object.entries(step.query ?? {}).every(
    ([key, value]) =>
      (key === "tree" && value === true) || (key === "order" && (value === "id" || value === "newest")),
  );
  if (!known) return "queries are HTTP's";
  return NOT_IN_A_SESSION.get(step.op ?? "");
}

function args(step: Step, contract: string, at: number | undefined): Fields {
  const given = { machine_id: step.machine, entity_id: step.entity, format: step.format, at };
  const body = step.op === "register" || step.op === "validate" ? under(contract, step.body) : step.body;
  const all: [string, Json | undefined][] = [...Object.entries(given), ["body", body]];
  if (step.op === "history") all.push(["order", step.query?.["order"]]);
  return Object.fromEntries(all.filter((entry): entry is [string, Json] => entry[1] !== undefined));
}

/** The transcript of a case, or why there is none. */
export function translate(one: Case, contract: string): Transcript | string {
  const otherwise = OTHERWISE.get(one.name);
  if (otherwise !== undefined) return otherwise;
  if (one.settings !== undefined) return "settings are the service's";
  const start = one.start ?? START;
  const ops: Op[] = (one.machines ?? []).map((body) => {
    const step = { op: "register", body };
    return { op: "register", args: args(step, contract, undefined), repeat: 1, step };
  });
  const [captured, lost] = [new Set<string>(), new Set<string>()];
  for (const step of one.steps) {
    const why = reason(step);
    if (why !== undefined) return why;
    const names = Object.keys(step.capture ?? {});
    if (LOOKS_ELSEWHERE.has(step.op ?? "")) {
      for (const name of names) lost.add(name);
      continue;
    }
    const told = JSON.stringify(step);
    const isLost = (name: string) => !captured.has(name) && told.includes(`"$captured":"${name}"`);
    if ([...lost].some(isLost)) return "it goes on with what only a service tells";
    for (const name of names) captured.add(name);
    const at = step.at === undefined ? undefined : start + step.at;
    const op = step.op === "entity" && isFields(step.query) && step.query["tree"] === true ? "tree" : step.op;
    ops.push({ op: op ?? "", args: args(step, contract, at), repeat: step.repeat ?? 1, step });
  }
  const looks = ops.length > (one.machines?.length ?? 0);
  return looks ? { name: one.name, contract, start, ops } : "nothing of it is left without a service";
}
