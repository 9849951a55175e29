// Event sequences for fast-check.

/** @ts-ignore: who has no fast-check needs no types of it. */
import type * as fastCheck from "fast-check";

import { optionsOf, wholeOf } from "../given.ts";
import { machineOf } from "../kin.ts";
import type { AnyMachine, ContextOf, Machine, Snapshot } from "../typed.ts";
import { Alphabet, contextsOf, delaysOf } from "./alphabet.ts";
import { begin, take, type Step } from "./steps.ts";

/** What of fast-check is used: give it `import * as fc from "fast-check"`, or its default export. */
export type FastCheck = Pick<typeof fastCheck, "Arbitrary" | "Value" | "array" | "constantFrom">;

/** How sequences are made. */
export interface ArbitraryOptions<M = AnyMachine> {
  /** Most steps; 20 if left out. */
  readonly maxLength?: number;
  /** The context in which the entity is thought to begin; the empty one if left out. It only guides what is likely. */
  readonly context?: ContextOf<M>;
  /** How many of 100 steps are any, and not one that the machine can take where it is; 20 if left out. */
  readonly wild?: number;
}

/**
 * Steps for a machine: events with params from the values in its guards, and waits for its timeouts. Most are steps that
 * the machine can take where the ones before have led, so that deep states are reached; some are any.
 *
 * A sequence that fails shrinks by leaving steps out, and to simpler ones.
 */
export function arbitraryEvents<M extends Machine>(
  fc: FastCheck,
  machine: M,
  options: ArbitraryOptions<M> = {},
): fastCheck.Arbitrary<Step<M>[]> {
  const { maxLength = 0, wild = 0 } = optionsOf(options, ["maxLength", "context", "wild"]);
  wholeOf(maxLength, "maxLength", 0, MOST_STEPS);
  wholeOf(wild, "wild", 0, 100);
  return walks(fc, machineOf(machine as AnyMachine), options) as unknown as fastCheck.Arbitrary<Step<M>[]>;
}

/** More than fast-check makes of anything. */
const MOST_STEPS = 2 ** 31 - 1;

function walks(fc: FastCheck, machine: AnyMachine, options: ArbitraryOptions): fastCheck.Arbitrary<Step[]> {
  const { maxLength = 20, wild = 20 } = options;
  const alphabet = new Alphabet(machine);
  const waits = delaysOf(machine).flatMap((delay): Step[] => [
    { wait: delay },
    { wait: Math.max(0, delay - 1) },
  ]);
  // The simplest first: that is what fast-check shrinks to.
  const steps: Step[] = [...alphabet.letters].sort((a, b) => sizeOf(a) - sizeOf(b));
  steps.push(...waits);
  if (steps.length === 0) return fc.array(fc.constantFrom<Step>({ wait: 1 }), { maxLength });
  const shrunk = fc.array(fc.constantFrom(...steps), { maxLength });
  const [first = {}] = contextsOf(machine);
  const start = { context: options.context ?? first };

  const known = new Map(steps.map((step) => [JSON.stringify(step), step]));
  /** The steps that the machine can take now. */
  const likely = (snapshot: Snapshot, now: number): readonly Step[] => {
    const choices = alphabet.choices(machine.events(snapshot, { now }));
    // Those that can be shrunk: the very ones of the list.
    const letters = choices.flatMap((choice) =>
      choice.letters.flatMap((letter) => known.get(JSON.stringify(letter)) ?? []),
    );
    return machine.due(snapshot) === undefined ? letters : [...letters, ...waits];
  };

  class Walks extends fc.Arbitrary<Step[]> {
    override generate(random: fastCheck.Random): fastCheck.Value<Step[]> {
      const length = random.nextInt(0, maxLength);
      const walk: Step[] = [];
      let [snapshot, now] = [begin(machine, start), 0];
      while (walk.length < length) {
        const choices = random.nextInt(0, 99) < wild ? steps : likely(snapshot, now);
        const from = choices.length > 0 ? choices : steps;
        const step = from[random.nextInt(0, from.length - 1)];
        if (step === undefined) break;
        walk.push(step);
        ({ after: snapshot, now } = take(machine, snapshot, step, now));
      }
      return new fc.Value(walk, undefined);
    }

    override canShrinkWithoutContext(value: unknown): value is Step[] {
      return shrunk.canShrinkWithoutContext(value);
    }

    override shrink(value: Step[], context: unknown): fastCheck.Stream<fastCheck.Value<Step[]>> {
      return shrunk.shrink(value, context);
    }
  }
  return new Walks();
}

function sizeOf(step: Step): number {
  return JSON.stringify(step).length;
}
