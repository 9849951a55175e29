// Transcripts on machines and snapshots, which have no memory: who walks keeps snapshots and history rows. What is answered is
// held against the native session's answers. It uses nothing of Node.js.

import { canonical, type Fields, isFields, type Json, parse } from "../matching.ts";
import type { Script } from "./sessions.ts";

/** A snapshot, whatever its form. */
export type Snapshot = unknown;

/** What came of an event, as JSON. */
export interface Came {
  readonly snapshot: Snapshot;
  /** The answer; none where the event is refused. */
  readonly answer: Json;
  /** The code of the refusal. */
  readonly code: string | undefined;
  /** The rows of all commits that stand, in order. */
  readonly rows: readonly Fields[];
}

/** A machine, wherever it is. Refusals are thrown as `{code}`. */
export interface Machine {
  create(
    id: string,
    context: Fields,
    now: number,
  ): { readonly snapshot: Snapshot; readonly rows: readonly Fields[] };
  /** An event as the body of a request. */
  send(of: Snapshot, event: Fields, now: number, history: readonly Fields[]): Came;
  why(of: Snapshot, event: Fields, now: number): Json;
  events(of: Snapshot, now: number): Json;
  advance(of: Snapshot, now: number): { readonly snapshot: Snapshot; readonly rows: readonly Fields[] };
  /** The entity alone, as a service shows it. */
  view(of: Snapshot): Fields;
}

/** Compiles a definition with those that it may refer to. */
export type Compile = (definition: Fields, others: readonly Fields[]) => Machine;

/** What came of walking. */
export interface Walked {
  /** How many answers were compared. */
  readonly compared: number;
  /** What differs. */
  readonly problems: string[];
}

interface Kept {
  readonly machine: Machine;
  snapshot: Snapshot;
  readonly rows: Fields[];
}

/** A script with the native answers, each a status and a canonical JSON. */
export interface Told extends Script {
  readonly name: string;
  readonly answers: readonly string[];
}

/** What a service tells beside a snapshot, or of rows that only it numbers. */
const BESIDE = new Set([
  "tenant_id",
  "revision",
  "created_at",
  "id",
  "row",
  "parent_row",
  "basis",
  "explain",
]);

function bare(value: Json, kept: ReadonlySet<string> = new Set()): Json {
  if (Array.isArray(value)) return value.map((item) => bare(item, kept));
  if (!isFields(value)) return value;
  const entries = Object.entries(value).filter(([key]) => !BESIDE.has(key) || kept.has(key));
  // Contexts and params are the user's: nothing is left out of them.
  return Object.fromEntries(
    entries.map(([key, item]) => [
      key,
      key === "context" || key === "event_params" ? item : bare(item, kept),
    ]),
  );
}

/** Events that only a session can take further; what comes after is not walked. */
const ENDS_THE_WALK = new Set(["release", "deliver", "delete_machine"]);

const CHANGES = new Set(["create", "evaluate", "transition", "delete"]);

/** What is sent to a child by its own id, its tree's snapshot cannot take. */
function isChild(id: string): boolean {
  return id.includes("::sub::");
}

/** Whether JavaScript's own numbers say all that the numbers of a script do. */
export function isOfPlainNumbers({ asked }: Script): boolean {
  return asked.every(([, args]) => JSON.stringify(JSON.parse(args)) === JSON.stringify(parse(args)));
}

/** Walks scripts. */
export function walk(compile: Compile, scripts: readonly Told[]): Walked {
  let compared = 0;
  const problems: string[] = [];
  for (const script of scripts) {
    const steps = new Walk(compile, script.start);
    for (const [place, [op, args]] of script.asked.entries()) {
      const [, status = "", body = "null"] = /^(\d+) ([^]*)$/.exec(script.answers[place] ?? "") ?? [];
      if (ENDS_THE_WALK.has(op)) break;
      const came = steps.step(op, parse(args) as Fields, Number(status), parse(body));
      if (came === "end") break;
      if (came === "looked past") continue;
      compared += 1;
      if (came === undefined) continue;
      problems.push(`${script.name}: step ${place} (${op}): ${came}`);
      break;
    }
  }
  return { compared, problems };
}

/** Undefined where the answer is the native one; otherwise what is the matter. */
type Found = "end" | "looked past" | string | undefined;

class Walk {
  readonly #compile: Compile;
  readonly #definitions = new Map<string, Fields>();
  readonly #machines = new Map<string, Machine>();
  readonly #entities = new Map<string, Kept>();
  #now: number;

  constructor(compile: Compile, start: number) {
    this.#compile = compile;
    this.#now = start;
  }

  step(op: string, args: Fields, status: number, body: Json): Found {
    this.#now = Number(args["at"] ?? this.#now);
    const asked = isFields(args["body"]) ? args["body"] : {};
    const name = String(args["machine_id"]);
    if (
      CHANGES.has(op) &&
      isChild(op === "evaluate" ? idOf(asked) : String(args["entity_id"] ?? asked["entity_id"]))
    )
      return "end";
    switch (op) {
      case "register":
        return this.#register(asked, status);
      case "create":
        return status === 201 ? this.#create(name, asked, body) : "looked past";
      case "evaluate":
        return this.#event(name, idOf(asked), asked, status, body, true);
      case "transition":
        return this.#event(name, String(args["entity_id"]), asked, status, body, false);
      case "tick":
        for (const kept of this.#entities.values()) {
          const { snapshot, rows } = kept.machine.advance(kept.snapshot, this.#now);
          kept.snapshot = snapshot;
          kept.rows.push(...rows);
        }
        return "looked past";
      default:
        return this.#look(op, name, String(args["entity_id"]), args, status, body);
    }
  }

  #register(definition: Fields, status: number): Found {
    if (status !== 201) return "looked past";
    this.#definitions.set(String(definition["machine_id"]), definition);
    // What was compiled before did not know it.
    this.#machines.clear();
    return this.#entities.size > 0 ? "end" : "looked past";
  }

  #machine(name: string): Machine | undefined {
    const definition = this.#definitions.get(name);
    if (definition === undefined) return undefined;
    const compiled = this.#machines.get(name);
    if (compiled !== undefined) return compiled;
    const others = [...this.#definitions.values()].filter((other) => other !== definition);
    try {
      const machine = this.#compile(definition, others);
      this.#machines.set(name, machine);
      return machine;
    } catch {
      // It was registered before those that it does not fit.
      return undefined;
    }
  }

  #make(name: string, id: string, context: Fields): Kept | undefined {
    const machine = this.#machine(name);
    if (machine === undefined) return undefined;
    const { snapshot, rows } = machine.create(id, context, this.#now);
    const kept = { machine, snapshot, rows: [...rows] };
    this.#entities.set(`${name} ${id}`, kept);
    return kept;
  }

  #create(name: string, asked: Fields, body: Json): Found {
    const context = isFields(asked["context"]) ? asked["context"] : {};
    const kept = this.#make(name, String(asked["entity_id"]), context);
    return kept === undefined ? "end" : differs(body, kept.machine.view(kept.snapshot));
  }

  #event(name: string, id: string, asked: Fields, status: number, body: Json, makes: boolean): Found {
    let kept = this.#entities.get(`${name} ${id}`);
    if (kept === undefined && (status !== 200 || !makes)) return status === 200 ? "end" : "looked past";
    const { entity_key: _, explain: __, dry_run: dry, dispatch: ___, ...event } = asked;
    // What is only tried is told by a session; what no service takes is not an event.
    if (dry === true || status === 400) return "looked past";
    if (kept === undefined) {
      kept = this.#make(name, id, {});
      // Who expects version 0 expects that there is none yet.
      if (event["expected_version"] === 0) delete event["expected_version"];
    }
    if (kept === undefined) return "end";
    const came = kept.machine.send(kept.snapshot, event, this.#now, kept.rows);
    kept.snapshot = came.snapshot;
    kept.rows.push(...came.rows);
    if (status === 200) return differs(body, came.answer);
    const error = isFields(body) && isFields(body["error"]) ? body["error"] : {};
    return differs(error["code"] ?? null, came.code ?? null);
  }

  #look(op: string, name: string, id: string, args: Fields, status: number, body: Json): Found {
    const kept = this.#entities.get(`${name} ${id}`);
    if (op === "delete") {
      if (status === 204 && kept === undefined) return "end";
      if (status === 204) this.#entities.delete(`${name} ${id}`);
      return "looked past";
    }
    if (op === "history" && status === 200 && args["order"] === undefined)
      return this.#history(name, id, kept, body);
    if (kept === undefined || status !== 200) return "looked past";
    switch (op) {
      case "entity":
        return differs(body, kept.machine.view(kept.snapshot));
      case "events":
        return differs(body, kept.machine.events(kept.snapshot, this.#now));
      case "explain": {
        const { explain: _, dry_run: __, ...event } = isFields(args["body"]) ? args["body"] : {};
        return differs(body, kept.machine.why(kept.snapshot, event, this.#now));
      }
      default:
        return "looked past";
    }
  }

  /** By timestamp; of one timestamp, in the order of the commits. */
  #history(name: string, id: string, kept: Kept | undefined, body: Json): Found {
    if (kept === undefined) return "looked past";
    const own = kept.rows.filter((row) => row["machine_id"] === name && row["entity_id"] === id);
    const sorted = own.toSorted((a, b) => Number(a["timestamp"]) - Number(b["timestamp"]));
    return differs(body, sorted, new Set(["created_at"]));
  }
}

function idOf(asked: Fields): string {
  const params = isFields(asked["params"]) ? asked["params"] : {};
  return String(params[String(asked["entity_key"])]);
}

/** What is otherwise, or undefined. */
function differs(native: Json, own: Json, kept?: ReadonlySet<string>): string | undefined {
  const [expected, actual] = [canonical(bare(native, kept)), canonical(bare(own, kept))];
  if (expected === actual) return undefined;
  let at = 0;
  while (expected[at] === actual[at]) at += 1;
  const near = (text: string) => text.slice(Math.max(0, at - 150), at + 150);
  return `…${near(actual)}… instead of …${near(expected)}…`;
}
