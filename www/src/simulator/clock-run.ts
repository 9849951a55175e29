// A clock that runs: real time, or many times as fast.

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Timer } from "statewright";

import type { Model } from "./model.ts";

/** How fast it can run. */
export const SPEEDS: readonly number[] = [1, 60, 3600, 86_400];

/** After how many milliseconds it goes on each time. */
const TICK = 250;
/** How many timers one tick fires; what is left is for the next. */
const MOST_FIRED = 20;

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
export const PAGE_TICKS: Ticks = {
  now: () => performance.now(),
  every: (milliseconds, what) => {
    const timer = setInterval(what, milliseconds);
    return () => clearInterval(timer);
  },
  hidden: () => document.hidden,
};

function isSame(one: Timer, other: Timer | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

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
    for (let fired = 0; fired < MOST_FIRED; fired += 1) {
      const due = this.#model.view.value?.due;
      if (due === undefined) {
        this.pause("Nothing is left to wait for.");
        return;
      }
      if (due.at > to) break;
      this.#go(Math.max(due.at, this.#model.view.value?.now ?? 0), true);
      const next = this.#model.view.value?.due;
      if (this.#model.failure.value !== undefined || isSame(due, next)) {
        this.pause("The timer that is due does not fire.");
        return;
      }
    }
    if (to > (this.#model.view.value?.now ?? to)) this.#go(to, false);
  }

  /** Turns the clock on: as a part of the quiet step before, where that was its own. */
  #go(to: number, fires: boolean): void {
    const view = this.#model.view.value;
    const last = view?.steps[view.done - 1];
    const isQuiet = last?.op === "advance" && last.rows.length === 0;
    const goesOn = isQuiet && this.#own === view?.done;
    if (goesOn) this.#model.replaceLast((session) => session.advance(to));
    else this.#model.act((session) => session.advance(to));
    this.#seen = this.#model.view.value?.done ?? 0;
    this.#own = fires ? undefined : this.#seen;
  }
}
