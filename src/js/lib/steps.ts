// What an event does to an entity that is plain data. What was met before is not decided again.
//
// A step of an entity without children hangs on its states, on the event's type, and on those fields of params and context that
// guards compare; the core says which (`Plan`). What the core answered is kept as a template by these, and what else an answer tells
// is counted on from the snapshot: the version, the numbers of entries, times, the keys made of them, and the context with the
// params over it. Before a template is kept, it must give what the core gave, to the letter. Whatever is not plainly an ordinary
// snapshot and an ordinary event goes to the core.

import type { WasmMachine, WasmSteps } from "#core-bindings";
import { core } from "#core-wasm";

import { type ErrorBody, StatewrightError } from "./errors.ts";
import { eventText, type Given } from "./event.ts";
import { nowOf } from "./given.ts";
import { jsonText } from "./json.ts";
import { Copier, type Members, merged } from "./plain.ts";
import { called, errorOf } from "./refusal.ts";
import { Reader, shownAs, type Standing } from "./standing.ts";
import { type Answering, type Rendering, Template } from "./template.ts";
import type * as typed from "./typed.ts";

/** What the steps of a machine hang on, as the core tells it. */
export interface Plan {
  readonly machine_id: string;
  readonly parallel: boolean;
  /** In the order of their numbers. */
  readonly regions: readonly RegionPlan[];
  /** Whether timers that are due are fired before an event. */
  readonly exact_timers: boolean;
  /** In the order of their numbers, with the fields that guards compare. */
  readonly events: readonly { readonly event_type: string; readonly fields: readonly string[] }[];
}

/** A region of a machine. */
export interface RegionPlan {
  readonly id: string;
  /** What the place of its state counts in the number of a configuration. */
  readonly weight: number | null;
  /** In the order of their numbers; `delay` says after how many milliseconds a state first times out. */
  readonly states: readonly { readonly name: string; readonly delay: number | null }[];
}

/** What the core answers to an event. */
export interface Told {
  readonly outcome: typed.Outcome;
  readonly snapshot: typed.Snapshot;
  readonly answer: typed.Answer | null;
  readonly commit: typed.Commit | null;
  readonly timeouts: readonly typed.Commit[];
  readonly before?: readonly typed.Commit[];
  readonly error?: ErrorBody;
}

/** How a function is made the getter of an own member: the one way that costs little. */
const { __defineGetter__: defineGetter } = Object.prototype as unknown as {
  __defineGetter__(this: object, name: string, getter: (this: never) => unknown): void;
};

/**
 * What `Machine.send` answers: plain data, but for `answer` and `commit`, which are made when they are read. They are members of its
 * own all the same, so that copies have them.
 */
export class Sent {
  readonly outcome: typed.Outcome;
  readonly snapshot: typed.Snapshot;
  readonly timeouts: readonly typed.Commit[];
  declare readonly before?: readonly typed.Commit[];
  declare readonly error?: StatewrightError;
  /** What a service would answer; null where the event is refused. */
  declare readonly answer: typed.Answer | null;
  /** What the event writes; null where it moved nothing. */
  declare readonly commit: typed.Commit | null;
  #answer: typed.Answer | null | undefined;
  #commit: typed.Commit | null | undefined;
  readonly #answering: Answering | undefined;

  /** Use `Machine.send`. */
  constructor(
    outcome: typed.Outcome,
    snapshot: typed.Snapshot,
    timeouts: readonly typed.Commit[],
    rest: unknown,
  );
  constructor(
    outcome: typed.Outcome,
    snapshot: typed.Snapshot,
    timeouts: readonly typed.Commit[],
    rest: Told | Answering,
  ) {
    this.outcome = outcome;
    this.snapshot = snapshot;
    this.timeouts = timeouts;
    defineGetter.call(this, "answer", Sent.#answerOf);
    defineGetter.call(this, "commit", Sent.#commitOf);
    if ("template" in rest) {
      this.#answering = rest;
      return;
    }
    this.#answer = rest.answer;
    this.#commit = rest.commit;
    if (rest.before !== undefined) this.before = rest.before;
    if (rest.error !== undefined) this.error = errorOf(rest.error);
  }

  static #answerOf(this: Sent): typed.Answer | null {
    return (this.#answer ??= this.#answering?.template.answer(this.#answering) ?? null);
  }

  static #commitOf(this: Sent): typed.Commit | null {
    if (this.#commit === undefined) this.#commit = this.#answering?.template.commit(this.#answering) ?? null;
    return this.#commit;
  }

  /** All of it as plain data. */
  toJSON(): Told {
    const { outcome, snapshot, answer, commit, timeouts, before, error } = this;
    return {
      outcome,
      snapshot,
      answer,
      commit,
      timeouts,
      ...(before === undefined ? {} : { before }),
      ...(error === undefined ? {} : { error: bodyOf(error) }),
    };
  }
}

function bodyOf({ code, message, retry, details }: StatewrightError): ErrorBody {
  return { code, message, retry, ...details };
}

/** How a machine sends events to plain data. */
export class Steps {
  readonly #machine: () => WasmMachine;
  /** Null where nothing can be remembered: the machine has children. */
  #memory: Memory | null | undefined;

  constructor(machine: () => WasmMachine) {
    this.#machine = machine;
  }

  /** What an event does to an entity. */
  send(snapshot: object, event: string | Given, options: typed.SendOptions = {}): Sent {
    const now = nowOf(options, OPTIONS);
    if (this.#memory === undefined) this.#memory = remember(this.#machine());
    const remembered = this.#memory?.send(snapshot, event, now, options.history !== undefined);
    if (remembered !== undefined) return remembered;
    const told = decide(this.#machine(), snapshot, eventText(event), now, options.history);
    return new Sent(told.outcome, told.snapshot, told.timeouts, told);
  }
}

function decide(
  machine: WasmMachine,
  snapshot: object,
  event: string,
  now: number,
  history?: readonly object[],
): Told {
  const text = jsonText(snapshot, "snapshot");
  const rows = history === undefined ? undefined : jsonText(history, "history");
  return JSON.parse(called(() => machine.send(text, event, now, rows))) as Told;
}

/** What can be said of how an event is sent. */
const OPTIONS: readonly string[] = ["now", "history"];

function remember(machine: WasmMachine): Memory | null {
  const steps = core().WasmSteps.of(machine);
  if (steps === undefined) return null;
  const plan = JSON.parse(steps.plan()) as Plan;
  // What is made of regions here has their names for its members'.
  if (plan.regions.some(({ id }) => id === "__proto__")) return null;
  return new Memory(machine, steps, plan);
}

/** So many steps, and ways to them, are kept; then all are forgotten. */
const MOST_TEMPLATES = 2048;
const MOST_WAYS = 8192;
/** What a context and params may weigh, so that they are within the core's bounds whatever their characters. */
const MOST_CONTEXT = 32_768;
const MOST_PARAMS = 8192;
/** The longest text by which a way is kept. */
const MOST_VALUE = 256;

/** Where the values of the fields that are compared lead, one after the other. */
class Way {
  template: Template | undefined = undefined;
  params: Map<unknown, Way> | undefined = undefined;
  context: Map<unknown, Way> | undefined = undefined;
  absent: Way | undefined = undefined;
}

interface EventMemory {
  readonly type: string;
  readonly number: number;
  readonly fields: readonly string[];
  /** By the number of the configuration. */
  readonly ways: Map<number, Way>;
  /** What it does where it moves nothing. */
  readonly stays: Map<number, Template | null>;
}

const NO_MEMBERS: Members = Object.freeze({});
const NOTHING: readonly never[] = Object.freeze([]);

/** The steps of a machine that were met. */
class Memory {
  readonly #machine: WasmMachine;
  readonly #steps: WasmSteps;
  readonly #plan: Plan;
  readonly #reader: Reader;
  readonly #copier = new Copier();
  readonly #events: ReadonlyMap<string, EventMemory>;
  /** By the number that the core gives to what they do; null for what no template gives. */
  readonly #templates = new Map<number, Template | null>();
  #kept = 0;
  #ways = 0;
  /** The longest delay of a timeout. */
  readonly #longest: number;

  constructor(machine: WasmMachine, steps: WasmSteps, plan: Plan) {
    this.#machine = machine;
    this.#steps = steps;
    this.#plan = plan;
    this.#reader = new Reader(plan);
    const delays = plan.regions.flatMap(({ states }) => states.map(({ delay }) => delay ?? 0));
    this.#longest = Math.max(0, ...delays);
    const events = plan.events.map(({ event_type: type, fields }, number): [string, EventMemory] => [
      type,
      { type, number, fields, ways: new Map(), stays: new Map() },
    ]);
    this.#events = new Map(events);
  }

  /** What an event does, where nothing about it or the snapshot is out of the ordinary. */
  send(snapshot: object, event: string | Given, now: number, hasHistory: boolean): Sent | undefined {
    let type: string;
    let given: object | undefined;
    let stamp: number | undefined;
    let expected: number | undefined;
    if (typeof event === "string") type = event;
    else {
      if (typeof event !== "object" || event === null || event.target !== undefined) return undefined;
      ({ type, params: given, timestamp: stamp, expectedVersion: expected } = event);
      // Whether it is a replay is for the core to see.
      if (stamp !== undefined && (!Number.isSafeInteger(stamp) || hasHistory)) return undefined;
      // Nothing is said that is not read.
      let said = 1;
      if (given !== undefined) said += 1;
      if (stamp !== undefined) said += 1;
      if (expected !== undefined) said += 1;
      if (Object.keys(event).length !== said) return undefined;
    }
    const known = this.#events.get(type);
    if (known === undefined || !Number.isSafeInteger(now + this.#longest)) return undefined;
    const standing = this.#reader.read(snapshot, now + 0);
    if (standing === undefined) return undefined;
    if (expected !== undefined && expected !== standing.version) return undefined;
    if (stamp !== undefined) stamp += 0;

    let params = NO_MEMBERS;
    let kept = NO_MEMBERS;
    if (given !== undefined) {
      if (typeof given !== "object" || given === null) return undefined;
      const copied = this.#copier.members(given, MOST_PARAMS);
      if (copied === undefined) return undefined;
      params = copied;
      // What the commit will tell of them is no part of the snapshot, which is the caller's.
      kept = this.#copier.nested ? (this.#copier.members(given, MOST_PARAMS) ?? copied) : copied;
    }
    const context = this.#copier.members(standing.context, MOST_CONTEXT);
    if (context === undefined) return undefined;
    const nested = this.#copier.nested;

    const way = this.#way(known, standing.configuration, params, context);
    const template = way.template ?? this.#meet(known, way, standing, params, context, stamp);
    if (template === null) return undefined;
    return sent(template, standing, context, params, kept, nested, stamp);
  }

  /** The way that the values of what is compared lead. */
  #way(known: EventMemory, configuration: number, params: Members, context: Members): Way {
    let way = known.ways.get(configuration);
    if (way === undefined) {
      way = new Way();
      known.ways.set(configuration, way);
      this.#ways += 1;
    }
    for (const field of known.fields) {
      if (Object.hasOwn(params, field)) {
        way = this.#on((way.params ??= new Map()), params[field]);
      } else if (Object.hasOwn(context, field)) {
        way = this.#on((way.context ??= new Map()), context[field]);
      } else {
        if (way.absent === undefined) this.#ways += 1;
        way = way.absent ??= new Way();
      }
    }
    return way;
  }

  #on(ways: Map<unknown, Way>, value: unknown): Way {
    // A text that stands for other data is told from the same text by the character before it, which no value has.
    const by = typeof value === "object" && value !== null ? `\uD800${JSON.stringify(value)}` : value;
    const known = ways.get(by);
    if (known !== undefined) return known;
    const way = new Way();
    if (typeof by === "string" && by.length > MOST_VALUE) return way;
    ways.set(by, way);
    this.#ways += 1;
    return way;
  }

  /** The template at the end of a way that was not gone before; null where there is none. */
  #meet(
    known: EventMemory,
    way: Way,
    standing: Standing,
    params: Members,
    context: Members,
    stamp: number | undefined,
  ): Template | null {
    if (this.#ways > MOST_WAYS) this.#forgetWays();
    const [read, beside] = [params, context].map((from) => JSON.stringify(only(from, known.fields)));
    const choice = this.#steps.choose(standing.configuration, known.number, read ?? "{}", beside ?? "{}");
    if (choice === REFUSED) return null;
    const [templates, by] =
      choice === STAYS ? [known.stays, standing.configuration] : [this.#templates, choice];
    let template = templates.get(by);
    if (template === undefined) {
      template = this.#learn(known.type, standing, params, context, stamp);
      this.#kept += 1;
      if (this.#kept > MOST_TEMPLATES) this.#forget();
      templates.set(by, template);
    }
    way.template = template ?? undefined;
    return template;
  }

  /** Asks the core, and makes a template of what it says; null where that would not say the same. */
  #learn(
    type: string,
    standing: Standing,
    params: Members,
    context: Members,
    stamp: number | undefined,
  ): Template | null {
    const before = shownAs(this.#plan, standing, context);
    const told = this.#ask(before, type, params, standing.now, stamp);
    const effects: Rendering = (entity, of, at, mark) =>
      this.#ask(entity, type, of, at, mark).commit?.effects ?? [];
    const template = Template.of(this.#plan, type, told, effects);
    if (template === undefined) return null;
    const same = sent(template, standing, context, params, params, true, stamp);
    return JSON.stringify(same) === JSON.stringify(told) ? template : null;
  }

  #ask(entity: object, type: string, params: Members, now: number, stamp: number | undefined): Told {
    const event = JSON.stringify({ event_type: type, params, timestamp: stamp });
    return decide(this.#machine, entity, event, now);
  }

  #forgetWays(): void {
    for (const { ways } of this.#events.values()) ways.clear();
    this.#ways = 0;
  }

  #forget(): void {
    this.#forgetWays();
    for (const { stays } of this.#events.values()) stays.clear();
    this.#templates.clear();
    this.#kept = 0;
  }
}

/** What `WasmSteps.choose` says where nothing moves, or the event is refused. */
const STAYS = -1;
const REFUSED = -2;

function sent(
  template: Template,
  standing: Standing,
  context: Members,
  params: Members,
  kept: Members,
  nested: boolean,
  stamp: number | undefined,
): Sent {
  const before = template.before(standing, context, nested);
  const after = template.outcome === "applied" ? merged(context, params) : context;
  const answering = template.answering(standing, kept, before, stamp);
  return new Sent(template.outcome, template.snapshot(standing, after, stamp), NOTHING, answering);
}

function only(members: Members, names: readonly string[]): Members {
  const some: Members = {};
  for (const name of names) if (Object.hasOwn(members, name)) some[name] = members[name];
  return some;
}
