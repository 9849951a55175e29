// What drives an engine's timers and effects in time, and what it reports.

import { wrong } from "./wrong.ts";

/** What became of timers. */
export interface TimersReport {
  /** How many due timers were read. */
  readonly scanned: number;
  /** How many entities these belong to. */
  readonly due: number;
  /** How many timeouts were applied. */
  readonly fired: number;
  /** How many entities had changed meanwhile; theirs are left to the next tick. */
  readonly stale: number;
  /** How many timers were parked, since their commit is refused. */
  readonly parked: number;
  /** How many entities failed; they are tried again later. */
  readonly failed: number;
  /** How many entities had their due times worked out anew. */
  readonly rearmed: number;
  /** How late the oldest timer was, in milliseconds. */
  readonly lag_ms: number;
}

/** What became of effects. */
export interface EffectsReport {
  /** How many were accepted. */
  readonly done: number;
  /** How many failed and are tried again. */
  readonly failed: number;
  /** How many are dead now. */
  readonly dead: number;
  /** How many were denied admission, or put off. */
  readonly denied: number;
  /** How many are held for a suspended subscription. */
  readonly held: number;
  /** How many had nobody to be told. */
  readonly skipped: number;
  /** How many could not be marked: they are presented again. */
  readonly unmarked: number;
}

/** What a tick did. */
export interface TickReport {
  readonly timers: TimersReport;
  readonly effects: EffectsReport;
}

/** How an engine runs by itself. */
export interface RunOptions {
  /** The pause between two ticks in milliseconds: 10,000 when left out. */
  readonly interval?: number | undefined;
  /** Is told of what each tick did. */
  readonly onTick?: ((report: TickReport) => void) | undefined;
  /** Is told of a tick that failed; the next one begins afresh. Where it is left out, the console is. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** A run that goes on. */
export interface Running {
  /** Ends it, once the tick that is under way is over. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type Passes<Report> = readonly { readonly [Name in keyof Report]: number }[];

/** The reports of a tick's passes in one. */
export function summed(text: string): TickReport {
  const { timers, effects } = JSON.parse(text) as {
    timers: Passes<TimersReport>;
    effects: Passes<EffectsReport>;
  };
  const sum = <Name extends string>(passes: readonly Readonly<Record<Name, number>>[], name: Name) =>
    passes.reduce((sum, pass) => sum + pass[name], 0);
  return {
    timers: {
      scanned: sum(timers, "scanned"),
      due: sum(timers, "due"),
      fired: sum(timers, "fired"),
      stale: sum(timers, "stale"),
      parked: sum(timers, "parked"),
      failed: sum(timers, "failed"),
      rearmed: sum(timers, "rearmed"),
      lag_ms: Math.max(0, ...timers.map((pass) => pass.lag_ms)),
    },
    effects: {
      done: sum(effects, "done"),
      failed: sum(effects, "failed"),
      dead: sum(effects, "dead"),
      denied: sum(effects, "denied"),
      held: sum(effects, "held"),
      skipped: sum(effects, "skipped"),
      unmarked: sum(effects, "unmarked"),
    },
  };
}

const INTERVAL = 10_000;
/** What a timer of JavaScript can wait. */
const LONGEST = 2 ** 31 - 1;

/** The runs of an engine. */
export class Runs {
  readonly #tick: (now: undefined) => Promise<TickReport>;
  readonly #running = new Set<Running>();

  constructor(tick: (now: undefined) => Promise<TickReport>) {
    this.#tick = tick;
  }

  start(options: RunOptions): Running {
    const { interval = INTERVAL, onTick, onError } = options;
    if (!(interval >= 0 && interval <= LONGEST)) {
      throw wrong("interval", `it is ${String(interval)}`, `milliseconds from 0 to ${LONGEST}`);
    }
    const stopping = new AbortController();
    const going = this.#go(interval, stopping.signal, onTick, onError ?? ((error) => console.error(error)));
    const stop = async (): Promise<void> => {
      stopping.abort();
      await going;
      this.#running.delete(running);
    };
    const running: Running = { stop, [Symbol.asyncDispose]: stop };
    this.#running.add(running);
    return running;
  }

  async #go(
    interval: number,
    stopped: AbortSignal,
    onTick: RunOptions["onTick"],
    onError: (error: unknown) => void,
  ): Promise<void> {
    while (!stopped.aborted) {
      try {
        const report = await this.#tick(undefined);
        onTick?.(report);
      } catch (error) {
        onError(error);
      }
      await pause(interval, stopped);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#running, (running) => running.stop()));
  }
}

/** Waits, or until it is stopped. */
function pause(millis: number, stopped: AbortSignal): Promise<void> {
  if (stopped.aborted) return Promise.resolve();
  return new Promise((wake) => {
    const over = () => {
      clearTimeout(timer);
      stopped.removeEventListener("abort", over);
      wake();
    };
    const timer = setTimeout(over, millis);
    stopped.addEventListener("abort", over, { once: true });
  });
}
