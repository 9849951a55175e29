// Machines of the component by jco, as they are walked: its typed records, put into the JSON that a service tells.

import { type Fields, isFields, type Json, parse } from "../matching.ts";
import type { Compile } from "./walk.ts";

/** A record of jco: camel-case names, numbers of 64 bits as bigint, options undefined where they are none. */
type Typed = { readonly [name: string]: unknown };

/** What is used of the interface `machines`. */
export interface Machines {
  readonly Machine: {
    compile(definition: string, others: string[]): TypedMachine;
  };
}

interface TypedMachine {
  create(id: string, context: string | undefined, now: bigint): Typed;
  send(of: Typed, event: Typed, now: bigint, history: Typed[]): Typed;
  why(of: Typed, event: Typed, now: bigint): Typed;
  events(of: Typed, now: bigint): Typed[];
  advance(of: Typed, now: bigint): Typed;
}

/** Fields that are JSON text. */
const TEXTS = new Set(["context", "params", "eventParams", "expected", "seen"]);
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A record as JSON. */
function told(value: unknown): Json {
  if (Array.isArray(value)) return value.map(told);
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value as Json;
  const fields: Fields = {};
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined) continue;
    fields[snake(name)] = TEXTS.has(name) ? parse(String(item)) : told(item);
  }
  return fields;
}

function stateOf(state: unknown): Json {
  const { tag, val } = state as { tag: "flat" | "regions"; val: unknown };
  if (tag === "flat") return val as string;
  const regions = val as { region: string; state: string }[];
  return Object.fromEntries(regions.map(({ region, state }) => [region, state]));
}

const list = (value: unknown): Typed[] => value as Typed[];
const hyphens = (code: string) => code.replaceAll("-", "_");

function actionOf({ what, ...rest }: Typed): Fields {
  const { tag, val } = what as { tag: string; val: unknown };
  const kind: Fields =
    tag === "webhook"
      ? { url: String(val) }
      : tag === "event"
        ? { event_type: String(val) }
        : (told(val) as Fields);
  return { action_type: tag, ...kind, ...(told(rest) as Fields) };
}

function causeOf({ tag, val }: { tag: string; val?: unknown }): Fields {
  switch (tag) {
    case "timeout":
      return { via: tag, due_at: told(val) };
    case "join":
      return { via: tag, ...(told(val) as Fields) };
    case "managed":
    case "legacy": {
      const { key = null, ...child } = told(val) as Fields;
      return { via: tag, child, key };
    }
    case "cancel":
    case "resume":
      return { via: tag, by: told(val ?? null) };
    default:
      return { via: tag };
  }
}

function rowOf(row: Typed): Fields {
  const { cause, actionsDispatched, ...rest } = row;
  return {
    ...(told(rest) as Fields),
    actions_dispatched: list(actionsDispatched).map(actionOf),
    cause: causeOf(cause as { tag: string }),
  };
}

function lifeOf({ parentTo, parentKey, ...life }: Typed): Fields {
  const kind = String(life["kind"]);
  const ends =
    kind === "completed" ? { parent_key: told(parentKey ?? null), parent_to: told(parentTo ?? null) } : {};
  return { key: null, ...(told(life) as Fields), ...ends };
}

/** Lists that an answer leaves out where they are empty. */
function some(name: string, items: readonly Json[]): Fields {
  return items.length === 0 ? {} : { [name]: [...items] };
}

function answerOf(answer: Typed): Fields {
  const { previousState, currentState, actionsDispatched, joinsFired, instances, transitions, ...rest } =
    answer;
  const { subMachine, timeoutsFired, ...plain } = rest;
  const child = subMachine as Typed | undefined;
  return {
    transition: null,
    ...(told(plain) as Fields),
    previous_state: stateOf(previousState),
    current_state: stateOf(currentState),
    ...some("actions_dispatched", list(actionsDispatched).map(actionOf)),
    ...some("joins_fired", list(joinsFired).map(told)),
    ...some("instances", list(instances).map(lifeOf)),
    ...some("transitions", list(transitions).map(told)),
    ...(timeoutsFired === 0 ? {} : { timeouts_fired: told(timeoutsFired) }),
    ...(child === undefined
      ? {}
      : {
          sub_machine: {
            ...(told(child) as Fields),
            previous_state: stateOf(child["previousState"]),
            current_state: stateOf(child["currentState"]),
          },
        }),
  };
}

function entryOf({ region: _, timer, ...rest }: Typed): Fields {
  const { tag, val } = timer as { tag: string; val?: Typed | bigint };
  const due: Fields =
    tag === "armed"
      ? { due_at: told(val) }
      : tag === "parked"
        ? { due_at: told((val as Typed)["dueAt"]), parked: told((val as Typed)["error"]) }
        : {};
  return { key: null, ...(told(rest) as Fields), ...due };
}

function viewOf(snapshot: Typed): Fields {
  const { entries, place: _, state, ...rest } = list(snapshot["instances"])[0] ?? {};
  const regions = list(entries).map((entry): [string, Json] => [String(entry["region"]), entryOf(entry)]);
  return {
    ...(told(rest) as Fields),
    current_state: stateOf(state),
    region_entries: Object.fromEntries(regions),
  };
}

function whereOf({ at, ...rest }: Typed): Fields {
  const { forwarded, ...place } = told(at) as Fields;
  return { ...(told(rest) as Fields), ...place, ...(forwarded === true ? { forwarded } : {}) };
}

function explanationOf(explanation: Typed): Fields {
  const { currentState, elsewhere, would, refusal, ...rest } = explanation;
  const error = refusal as { tag: string; val: string } | undefined;
  return {
    ...(told(rest) as Fields),
    would: hyphens(String(would)),
    current_state: stateOf(currentState),
    ...some("elsewhere", list(elsewhere).map(whereOf)),
    ...(error === undefined
      ? {}
      : { refusal: { code: hyphens(error.tag).toUpperCase(), message: error.val } }),
  };
}

function eventIn(event: Fields): Typed {
  const big = (value: Json | undefined) =>
    value === undefined || value === null ? undefined : BigInt(String(value));
  const target = event["target"];
  const step = (step: Json): Typed => {
    const { region = "_", state, seq } = isFields(step) ? step : {};
    return { region, state, seq: big(seq) };
  };
  return {
    eventType: event["event_type"],
    params:
      event["params"] === undefined || event["params"] === null ? undefined : JSON.stringify(event["params"]),
    timestamp: big(event["timestamp"]),
    expectedVersion: big(event["expected_version"]),
    target: Array.isArray(target) ? target.map(step) : undefined,
  };
}

/** The code of a variant's case. */
function codeOf(error: unknown): string {
  const { tag } = error as { tag: string };
  return tag === "invalid-definition" ? "BAD_REQUEST" : hyphens(tag).toUpperCase();
}

/** Rows as the component told them go back to it as they came. */
const typedRows = new WeakMap<Fields, Typed>();

function rowsOf(commits: readonly unknown[]): Fields[] {
  return commits.flatMap((commit) =>
    list((commit as Typed)["rows"]).map((row) => {
      const fields = rowOf(row);
      typedRows.set(fields, row);
      return fields;
    }),
  );
}

/** How machines are compiled by what jco made. */
export function compileBy({ Machine }: Machines): Compile {
  return (definition, others) => {
    const machine = Machine.compile(
      JSON.stringify(definition),
      others.map((other) => JSON.stringify(other)),
    );
    return {
      create(id, context, now) {
        const { snapshot, commit } = machine.create(id, JSON.stringify(context), BigInt(now));
        return { snapshot, rows: rowsOf([commit]) };
      },
      send(of, event, now, history) {
        try {
          const rows = history.map((row) => typedRows.get(row)).filter((row) => row !== undefined);
          const sent = machine.send(of as Typed, eventIn(event), BigInt(now), rows);
          const { tag, val } = sent["outcome"] as { tag: string; val?: unknown };
          const commits = [
            ...list(sent["timeouts"]),
            ...list(sent["before"]),
            ...(tag === "applied" ? [val] : []),
          ];
          return {
            snapshot: sent["snapshot"],
            answer: sent["answer"] === undefined ? null : answerOf(sent["answer"] as Typed),
            code: tag === "refused" ? codeOf(val) : undefined,
            rows: rowsOf(commits),
          };
        } catch (error) {
          return {
            snapshot: of,
            answer: null,
            code: codeOf((error as { payload: unknown }).payload),
            rows: [],
          };
        }
      },
      why: (of, event, now) => explanationOf(machine.why(of as Typed, eventIn(event), BigInt(now))),
      events: (of, now) => machine.events(of as Typed, BigInt(now)).map(whereOf),
      advance(of, now) {
        const { snapshot, timeouts } = machine.advance(of as Typed, BigInt(now));
        return { snapshot, rows: rowsOf(list(timeouts)) };
      },
      view: (of) => viewOf(of as Typed),
    };
  };
}
