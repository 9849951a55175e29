// A clock that runs: real time, or many times as fast.

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";

import { LAST } from "./clock-time.ts";
import type { Model } from "./model.ts";

/** How fast it can run. */
export const SPEEDS: readonly number[] = [1, 60, 3600, 86_400];

/** After how many milliseconds it goes on each time. */
const TICK = 250;
/** How many timers one tick fires; what is left is for the next. */
const MOST_A_TICK = 20;
/** After how many timers a run stops: machines can have timers without end. */
const MOST_A_RUN = 1000;

/** What a clock needs of its host. */
export interface Ticks {
  /** A time that only grows, in milliseconds. */
  now(): number;
  /** Calls again and again; gives what ends it. */
  every(milliseconds: number, what: () => void): () => void;
  /** Whether nobody looks. */
  hidden(): boolean;
}

/** The ticks of a page. */
const PAGE_TICKS: Ticks = {
  now: () => performance.now(),
  every: (milliseconds, what) => {
    const timer = setInterval(what, milliseconds);
    return () => clearInterval(timer);
  },
  hidden: () => document.hidden,
};

/** Runs the clock of a model. Time without an event is one step, however long it ran; each firing ends it. */
export class Runner {
  readonly #model: Model;
  readonly #ticks: Ticks;
  readonly #running = signal(false);
  #stop: (() => void) | undefined;
  #last = 0;
  /** Part of a millisecond that is left over. */
  #rest = 0;
  /** How many steps there are after its own quiet step, which goes on. */
  #own: number | undefined;
  /** How many timers fired since it was started. */
  #fired = 0;
  /** How many there were when it last looked: fewer are an undo. */
  #seen = 0;

  /** Whether it runs. */
  readonly running: ReadonlySignal<boolean> = this.#running;
  readonly speed: Signal<number> = signal(60);
  /** Why it stopped by itself. */
  readonly stopped: Signal<string | undefined> = signal(undefined);

  constructor(model: Model, ticks: Ticks = PAGE_TICKS) {
    this.#model = model;
    this.#ticks = ticks;
  }

  /** Starts it, if there is anything to wait for. */
  start(): void {
    if (this.#running.value) return;
    const view = this.#model.view.value;
    if (view?.due === undefined) {
      this.stopped.value = "No timer is armed: there is nothing to wait for.";
      return;
    }
    this.stopped.value = undefined;
    this.#last = this.#ticks.now();
    this.#rest = 0;
    this.#own = undefined;
    this.#fired = 0;
    this.#seen = view.done;
    this.#running.value = true;
    this.#stop = this.#ticks.every(TICK, () => this.#tick());
  }

  /** Stops it. */
  pause(why?: string): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#running.value = false;
    this.stopped.value = why;
  }

  /** Starts or stops it. */
  toggle(): void {
    if (this.#running.value) this.pause();
    else this.start();
  }

  /** Turns the clock on, and fires what is due by then. */
  turnTo(to: number): void {
    const isThere = this.#model.advance(Math.min(to, LAST));
    this.stopped.value = isThere ? undefined : "Stopped after many timers. Step again to go on.";
  }

  /** Turns the clock to the timer that is due first, and so fires it. */
  jump(): void {
    const due = this.#model.view.value?.due;
    if (due === undefined) return;
    this.turnTo(Math.max(due.at, this.#model.view.value?.now ?? 0));
    const view = this.#model.view.value;
    const rows = view?.steps[view.done - 1]?.rows;
    if (rows?.length === 0 && this.stopped.value === undefined) {
      this.stopped.value = `The timer of ${due.state} was due, and its conditions did not hold: nothing moved.`;
    }
  }

  #tick(): void {
    const real = this.#ticks.now();
    const passed = (real - this.#last) * this.speed.value + this.#rest;
    this.#last = real;
    const view = this.#model.view.value;
    if (view === undefined || view.done < this.#seen) {
      this.pause();
      return;
    }
    // What passes while nobody looks does not count.
    if (this.#ticks.hidden()) return;
    const to = view.now + Math.floor(passed);
    this.#rest = passed - Math.floor(passed);
    if (view.due !== undefined && view.due.at <= to && !this.#fire(to)) return;
    const { now, due } = this.#model.view.value ?? view;
    if (due === undefined) this.pause("Nothing is left to wait for.");
    else if (to > now && due.at > to) this.#passTo(to);
  }

  /** Fires what is due by a time; whether the run goes on. */
  #fire(to: number): boolean {
    // Its own quiet step becomes a part of the one that fires.
    if (this.#isOwn()) this.#model.undo();
    const fired = this.#model.fire(to, MOST_A_TICK);
    this.#own = undefined;
    this.#seen = this.#model.view.value?.done ?? 0;
    this.#fired += fired;
    if (fired === 0) this.pause("The timer that is due does not fire.");
    else if (this.#fired >= MOST_A_RUN) {
      this.pause(`Stopped after ${MOST_A_RUN.toLocaleString("en-GB")} timers.`);
    }
    return this.#running.value;
  }

  /** Whether the last step is time that passed in this run, and nothing else. */
  #isOwn(): boolean {
    const view = this.#model.view.value;
    const last = view?.steps[view.done - 1];
    return this.#own === view?.done && last?.op === "advance" && last.rows.length === 0;
  }

  /** Lets time pass: as a part of the quiet step before, where that was its own. */
  #passTo(to: number): void {
    if (this.#isOwn()) this.#model.replaceLast((session) => session.advance(to));
    else this.#model.act((session) => session.advance(to));
    this.#seen = this.#model.view.value?.done ?? 0;
    this.#own = this.#seen;
  }
}
