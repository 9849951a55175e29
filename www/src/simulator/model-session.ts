// A simulation that is played step by step, and which rows each of its steps wrote.

import {
  type AnyMachine,
  type JsonDefinition,
  type Scenario,
  type ScenarioStep,
  type SimulatedRow,
  Simulation,
} from "statewright";

import { NewRows } from "./model-rows.ts";
import { forestOf, type StepView, type Subject, type View, viewOf } from "./model-view.ts";

/** Of so many steps that are loaded, the rows are found at once; of more, while the page has nothing else to do. */
const AT_ONCE = 100;
/** How long a part of it takes, in milliseconds. */
const PART = 20;
/** How many timers one turn of the clock fires: machines can have timers without end. */
const MOST_FIRED = 1000;
/** How many timers a scenario that is loaded may fire. */
const MOST_FIRED_BY_ALL = 20_000;

type Step = Omit<StepView, "index" | "done" | "rows" | "reason">;
type Rows = readonly SimulatedRow[];

/** What a session begins with. */
type Beginning = Omit<Scenario, "machines" | "statewright">;

type Reply = { readonly status: number; readonly body: unknown };
type Note = (op: string, args: object, before: number, reply: Reply) => void;

/** A simulation that tells of what is performed by it. */
class Noted extends Simulation {
  note: Note | undefined;

  override perform(op: string, args: object = {}): Reply {
    const { now, note } = this;
    const reply = super.perform(op, args);
    if (note === undefined) return reply;
    // What is asked to find out what it was is not told of.
    this.note = undefined;
    note(op, args, now, reply);
    this.note = note;
    return reply;
  }
}

/** What the clock of a new simulation reads: times that people know, without seconds that they would have to read. */
function thisMinute(): number {
  return Math.floor(Date.now() / 60_000) * 60_000;
}

function begun(machines: readonly AnyMachine[], beginning: Beginning | undefined): Noted {
  const { start = 0, tenant, deliver } = beginning ?? { start: thisMinute() };
  return new Noted(machines, {
    now: start,
    ...(tenant === undefined ? {} : { tenant }),
    ...(deliver === undefined ? {} : { deliver }),
  });
}

/** How many timers a turn of the clock fired. */
function firedBy({ body }: Reply): number {
  const fired = memberOf(body, "fired");
  return typeof fired === "number" ? fired : 0;
}

/** Why an answer moved nothing: the reason that it gives, or that of its refusal. */
function reasonIn(body: unknown): string | undefined {
  const reason = memberOf(body, "reason") ?? memberOf(memberOf(body, "error"), "message");
  return typeof reason === "string" ? reason : undefined;
}

/** The message of an answer that refuses. */
export function messageIn(body: unknown): string {
  return String(memberOf(memberOf(body, "error"), "message"));
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** A simulation that is played step by step. */
export class Session {
  readonly simulation: Noted;
  readonly definitions: readonly JsonDefinition[];
  readonly #rowsOf: NewRows;
  #steps: Step[] = [];
  #rows: Rows[] = [];
  /** Why steps moved nothing. */
  readonly #reasons = new WeakMap<object, string>();
  #done = 0;
  /** What finds the rows of steps that were loaded, as long as it is not through. */
  #filling: Generator<void, void> | undefined;

  constructor(machines: readonly AnyMachine[], beginning?: Beginning) {
    // Without faults, it is what a JSON file has.
    this.definitions = machines.map(({ definition }) => definition as JsonDefinition);
    this.simulation = begun(machines, beginning);
    this.#rowsOf = new NewRows(this.simulation);
    if (beginning === undefined || beginning.steps.length === 0) return;
    this.#play(beginning.steps);
    const { done, steps } = this.simulation.steps();
    this.#steps = [...steps];
    this.#done = done;
    this.#rowsOf.standAt();
    this.#filling = this.#fill(begun(machines, beginning), steps);
    if (this.#steps.length <= AT_ONCE) this.goOn(Number.POSITIVE_INFINITY);
  }

  /** Does the steps of a scenario. It is no import: that goes on for as long as timers fire. */
  #play(steps: readonly ScenarioStep[]): void {
    let fired = 0;
    for (const [index, { op, at, args, expect }] of steps.entries()) {
      const reply = this.simulation.perform(op, at === undefined ? { ...args } : { ...args, at });
      fired += firedBy(reply);
      if (fired > MOST_FIRED_BY_ALL) {
        throw new Error(`step ${index + 1} fires more timers than are played: ${MOST_FIRED_BY_ALL}`);
      }
      if (this.#isNew()) this.#done += 1;
      else if (reply.status >= 400 && expect === undefined) {
        throw new Error(`step ${index + 1} is none: ${messageIn(reply.body)}`);
      }
    }
  }

  /** All steps, also those that are undone, as a scenario. */
  everything(): Scenario {
    const steps = this.#steps.map(({ op, at, args, status }) => ({
      op,
      at,
      args,
      ...(status < 300 ? {} : { expect: { status } }),
    }));
    return { ...this.simulation.export(), steps };
  }

  /** How many steps of another session moved something, and the same steps of this one do not. */
  stillAgainst(other: Session): number {
    const moved = (rows: Rows | undefined) => (rows?.length ?? 0) > 0;
    const known = this.#filling === undefined ? this.#rows : [];
    return known.filter((rows, index) => moved(other.#rows[index]) && !moved(rows)).length;
  }

  /** How many steps are done. */
  get done(): number {
    return this.#done;
  }

  /** What each step was answered with. */
  get statuses(): readonly number[] {
    return this.#steps.map(({ status }) => status);
  }

  /** Finds rows of steps that were loaded, for a while; whether there are more. */
  goOn(milliseconds = PART): boolean {
    const end = performance.now() + milliseconds;
    while (this.#filling !== undefined && performance.now() < end) {
      if (this.#filling.next().done === true) this.#filling = undefined;
    }
    return this.#filling !== undefined;
  }

  /** Does the steps again, one by one, beside the session. */
  *#fill(beside: Simulation, steps: readonly Step[]): Generator<void, void> {
    const rows = new NewRows(beside);
    for (const [index, { op, at, args }] of steps.entries()) {
      // Another step stands there since.
      if (this.#steps[index] !== steps[index]) break;
      const reason = reasonIn(beside.perform(op, { ...args, at }).body);
      if (reason !== undefined) this.#reasons.set(steps[index] ?? {}, reason);
      this.#rows[index] = rows.next();
      yield;
    }
    beside.free();
  }

  /** Does something, and notes which steps it is, and which rows came of them, also where it is refused in the end. */
  act(what: (simulation: Simulation) => void): void {
    this.simulation.note = (...performed) => this.#note(...performed);
    try {
      what(this.simulation);
    } finally {
      this.simulation.note = undefined;
    }
  }

  /** Notes what was performed, if it is a step: what only looks is none. */
  #note(op: string, args: object, before: number, { status, body }: Reply): void {
    if (!this.#isNew()) return;
    const { at = before, ...kept } = args as { readonly at?: number; readonly [name: string]: unknown };
    this.#steps.length = this.#done;
    this.#rows.length = this.#done;
    const step: Step = { op, at, args: JSON.parse(JSON.stringify(kept)) as Step["args"], status };
    const reason = reasonIn(body);
    if (reason !== undefined) this.#reasons.set(step, reason);
    this.#steps.push(step);
    this.#rows.push(this.#rowsOf.next());
    this.#done += 1;
  }

  /** Whether more steps are done than are known: the simulation goes on only to a step from there on. */
  #isNew(): boolean {
    return this.simulation.perform("redo", { to: this.#done }).status >= 300;
  }

  /** Turns the clock on, as one step: to that time, or as far as so many timers fire. Gives whether it got there. */
  advance(to: number, most = MOST_FIRED): boolean {
    if (this.#isOverdue()) {
      this.#pass();
      if (this.#isOverdue()) return false;
    }
    const { last, more } = this.#tried(to, most);
    this.act((simulation) => simulation.advance(more ? last : to));
    return !more;
  }

  /** Fires what is due by a time, so many timers at most, as one step that ends with the last of them. Gives how many. */
  fire(to: number, most: number): number {
    if (this.#isOverdue()) return this.#pass();
    const { last, fired } = this.#tried(to, most);
    if (fired > 0) this.act((simulation) => simulation.advance(last));
    return fired;
  }

  /** Whether the clock was turned past a timer, as a scenario can. */
  #isOverdue(): boolean {
    return (this.simulation.due()?.at ?? Number.POSITIVE_INFINITY) < this.simulation.now;
  }

  /** Fires some of what is overdue: turning the clock on would fire all of it at once. Gives how many. */
  #pass(): number {
    let fired = 0;
    this.act((simulation) => {
      fired = firedBy(simulation.perform("tick"));
    });
    return fired;
  }

  /** Finds by trying how far so many timers lead: when the last of them fires, and whether more are due by then. */
  #tried(
    to: number,
    most: number,
  ): { readonly last: number; readonly fired: number; readonly more: boolean } {
    const { simulation } = this;
    const next = () => simulation.due()?.at ?? Number.POSITIVE_INFINITY;
    let fired = 0;
    let last = simulation.now;
    if (next() > to) return { last, fired, more: false };
    while (next() <= to && fired < most) {
      const due = next();
      const more = firedBy(simulation.perform("advance", { to: Math.max(due, last) }));
      // One that is parked instead is not due again; anything else would not end.
      if (more === 0 && next() === due) break;
      last = simulation.now;
      fired += more;
    }
    const more = fired >= most && next() <= to;
    simulation.undo(this.#done);
    return { last, fired, more };
  }

  /** Does something instead of the last step. */
  replaceLast(what: (simulation: Simulation) => void): void {
    this.undo();
    this.act(what);
  }

  /** Undoes the last step, or all but so many. */
  undo(to = Math.max(this.#done - 1, 0)): void {
    this.simulation.undo(to);
    this.#stand(to);
  }

  /** Redoes the next step that was undone, or so many. */
  redo(to = Math.min(this.#done + 1, this.#steps.length)): void {
    this.simulation.redo(to);
    this.#stand(to);
  }

  /** Goes on from a step that was noted before. */
  #stand(done: number): void {
    this.#done = done;
    this.#rowsOf.standAt(this.#filling === undefined ? this.#lastRow() : undefined);
  }

  #lastRow(): number {
    for (let index = this.#done - 1; index >= 0; index -= 1) {
      const last = this.#rows[index]?.at(-1);
      if (last !== undefined) return last.id;
    }
    return 0;
  }

  /** All that is to be seen, with one entity looked at closely. */
  view(subject: Subject | undefined): View {
    const steps = this.#steps.map((step, index) => ({
      ...step,
      index,
      done: index < this.#done,
      reason: this.#reasons.get(step),
      rows: this.#rows[index] ?? [],
    }));
    return viewOf(this.simulation, subject, steps, this.#done);
  }

  /** The entity that is looked at where none is chosen: the first that is nobody's child. */
  first(): Subject | undefined {
    const [first] = forestOf(this.simulation, this.simulation.entities());
    return first && { machine_id: first.machine_id, entity_id: first.entity_id };
  }

  /** Frees its memory. */
  free(): void {
    this.#filling = undefined;
    this.simulation.free();
  }
}
