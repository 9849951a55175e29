// Views that stay at what the service says: read again and again, less often while nothing changes or while it fails.

import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { FIRST_WAIT, nextWait, type Outcome } from "./live-schedule.ts";

/** Browsers fire a timer of more at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** What a live view shows. */
export interface Shown<T> {
  /** What was read last; it stays while the next one is read, and when that fails. */
  readonly value: T | undefined;
  /** Why the last read failed; undefined where it did not. */
  readonly error: unknown;
  /** When the last read was answered, milliseconds since the epoch. */
  readonly at: number | undefined;
  readonly loading: boolean;
  /** How long until it reads again, in milliseconds. */
  readonly wait: number;
}

/** A value that is read again and again. */
export interface LiveValue<T> extends Shown<T> {
  /** Reads at once. */
  refresh(): void;
}

/** Reads while a view is there. */
class Reading<T> {
  readonly #read: (signal: AbortSignal) => Promise<T>;
  readonly #pace: number;
  readonly #shown;
  #wait = FIRST_WAIT;
  #text: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #trying: AbortController | undefined;
  #stopped = true;

  constructor(read: (signal: AbortSignal) => Promise<T>, pace: number, before: T | undefined) {
    this.#read = read;
    this.#pace = Math.max(1, pace);
    this.#shown = signal<Shown<T>>({
      value: before,
      error: undefined,
      at: undefined,
      loading: true,
      wait: FIRST_WAIT,
    });
  }

  get shown(): ReadonlySignal<Shown<T>> {
    return this.#shown;
  }

  start(): void {
    this.#stopped = false;
    void this.now();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#trying?.abort();
  }

  /** Reads at once; a read that is under way may have seen what was before, and is given up. */
  async now(): Promise<void> {
    clearTimeout(this.#timer);
    this.#trying?.abort();
    if (this.#stopped) return;
    const trying = new AbortController();
    this.#trying = trying;
    this.#shown.value = { ...this.#shown.peek(), loading: true };
    try {
      const value = await this.#read(trying.signal);
      if (!trying.signal.aborted) this.#answered(value);
    } catch (error) {
      if (!trying.signal.aborted) this.#failed(error);
    }
  }

  /** Goes on waiting, or stops to while nobody looks. */
  wait(): void {
    clearTimeout(this.#timer);
    if (this.#stopped || paused.peek() || document.hidden || this.#trying !== undefined) return;
    this.#timer = setTimeout(() => void this.now(), this.#nextIn());
  }

  #answered(value: T): void {
    const text = JSON.stringify(value);
    const before = this.#shown.peek();
    const same = before.error === undefined && text === this.#text;
    this.#text = text;
    // The same value stays the same object: what is drawn from it is not drawn anew.
    this.#settle(same ? "same" : "changed", { value: same ? before.value : value, error: undefined });
  }

  #failed(error: unknown): void {
    this.#settle("failed", { value: this.#shown.peek().value, error });
  }

  #settle(outcome: Outcome, settled: Pick<Shown<T>, "value" | "error">): void {
    this.#trying = undefined;
    this.#wait = nextWait(this.#wait, outcome);
    this.#shown.value = { ...settled, at: Date.now(), loading: false, wait: this.#nextIn() };
    this.wait();
  }

  #nextIn(): number {
    return Math.min(Math.max(this.#wait * this.#pace, heldUntil - Date.now()), LONGEST_TIMER);
  }
}

const reading = signal<ReadonlySet<Reading<unknown>>>(new Set());

/** What is read live now. */
export const readings: ReadonlySignal<ReadonlySet<{ readonly shown: ReadonlySignal<Shown<unknown>> }>> =
  reading;

/** Whether the user has stopped reading by itself. */
export const paused = signal(false);

/** Until when the service asked not to be asked again by itself. */
let heldUntil = 0;

/** Keeps all live views from reading by themselves until then: what a `Retry-After` asked for. */
export function holdUntil(at: number): void {
  heldUntil = Math.max(heldUntil, at);
}

/** Holds nothing any more: it was another service, or tenant, that asked for it. */
export function holdNothing(): void {
  heldUntil = 0;
}

/** Reads all live views at once: the user asked for it, came back, or changed something. */
export function refreshAll(): void {
  for (const each of reading.peek()) void each.now();
}

/** Stops reading by itself, or goes on with a read at once. */
export function setPaused(to: boolean): void {
  paused.value = to;
  if (to) for (const each of reading.peek()) each.wait();
  else refreshAll();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) for (const each of reading.peek()) each.wait();
  else if (!paused.peek()) refreshAll();
});

/** What {@link useLive} may be told. */
export interface LiveOptions {
  /** Whether what was read by other `deps` is shown until the first read by these: for another filter of the same list. */
  readonly keep?: boolean;
  /** How many times longer the waits are, where one read asks the service much; 1 at least. */
  readonly pace?: number;
}

/**
 * What `read` gives, read again by itself: every 4 s while it changes, up to every minute while it does not, up to every
 * two while it fails; not while the page is hidden. It begins anew when one of `deps` changes.
 *
 * `read` must give JSON: what it gives is compared as such.
 */
export function useLive<T>(
  read: (signal: AbortSignal) => Promise<T>,
  deps: readonly unknown[],
  { keep = false, pace = 1 }: LiveOptions = {},
): LiveValue<T> {
  const before = useRef<T | undefined>(undefined);
  const live = useMemo(() => new Reading<T>(read, pace, keep ? before.current : undefined), deps);
  useEffect(() => {
    reading.value = new Set([...reading.peek(), live]);
    live.start();
    return () => {
      live.stop();
      reading.value = new Set([...reading.peek()].filter((each) => each !== live));
    };
  }, [live]);
  const shown = live.shown.value;
  before.current = shown.value;
  return { ...shown, refresh: () => void live.now() };
}
