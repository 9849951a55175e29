// A simulation that is played step by step, and which rows each of its steps wrote.

import {
  type AnyMachine,
  type JsonDefinition,
  type Scenario,
  type SimulatedRow,
  Simulation,
} from "statewright";

import { NewRows } from "./model-rows.ts";
import { forestOf, type StepView, type Subject, type View, viewOf } from "./model-view.ts";

/** Of so many steps that are loaded, the rows are found at once; of more, while the page has nothing else to do. */
const AT_ONCE = 100;
/** How long a part of it takes, in milliseconds. */
const PART = 20;

type Step = Omit<StepView, "index" | "done" | "rows">;
type Rows = readonly SimulatedRow[];

/** What a session begins with. */
type Beginning = Omit<Scenario, "machines" | "statewright">;

type Note = (op: string, args: object, before: number, status: number) => void;

/** A simulation that tells of what is performed by it. */
class Noted extends Simulation {
  note: Note | undefined;

  override perform(op: string, args: object = {}): { readonly status: number; readonly body: unknown } {
    const { now, note } = this;
    const reply = super.perform(op, args);
    if (note === undefined) return reply;
    // What is asked to find out what it was is not told of.
    this.note = undefined;
    note(op, args, now, reply.status);
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

/** A simulation that is played step by step. */
export class Session {
  readonly simulation: Noted;
  readonly definitions: readonly JsonDefinition[];
  readonly #rowsOf: NewRows;
  #steps: Step[] = [];
  #rows: Rows[] = [];
  #done = 0;
  /** What finds the rows of steps that were loaded, as long as it is not through. */
  #filling: Generator<void, void> | undefined;

  constructor(machines: readonly AnyMachine[], beginning?: Beginning) {
    // Without faults, it is what a JSON file has.
    this.definitions = machines.map(({ definition }) => definition as JsonDefinition);
    this.simulation = begun(machines, beginning);
    this.#rowsOf = new NewRows(this.simulation);
    if (beginning === undefined || beginning.steps.length === 0) return;
    const { machines: given } = this.simulation.export();
    this.simulation.import({ statewright: "scenario/1", ...beginning, machines: given });
    const { done, steps } = this.simulation.steps();
    this.#steps = [...steps];
    this.#done = done;
    this.#rowsOf.standAt();
    this.#filling = this.#fill(begun(machines, beginning), steps);
    if (this.#steps.length <= AT_ONCE) this.goOn(Number.POSITIVE_INFINITY);
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
      beside.perform(op, { ...args, at });
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
  #note(op: string, args: object, before: number, status: number): void {
    if (!this.#isNew()) return;
    const { at = before, ...kept } = args as { readonly at?: number; readonly [name: string]: unknown };
    this.#steps.length = this.#done;
    this.#rows.length = this.#done;
    this.#steps.push({ op, at, args: JSON.parse(JSON.stringify(kept)) as Step["args"], status });
    this.#rows.push(this.#rowsOf.next());
    this.#done += 1;
  }

  /** Whether more steps are done than are known: the simulation goes on only to a step from there on. */
  #isNew(): boolean {
    return this.simulation.perform("redo", { to: this.#done }).status >= 300;
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
