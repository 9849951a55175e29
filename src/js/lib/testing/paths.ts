// The shortest ways to everything in a definition.

import type { AnyMachine, ContextOf, Machine, Snapshot } from "../typed.ts";
import { Alphabet, contextsOf, timedFieldsOf } from "./alphabet.ts";
import { itemsOf, keyOf, keysOfCommit, keysOfStart, type Item } from "./items.ts";
import { begin, take, type Step } from "./steps.ts";

/** A way through a machine. */
export interface Path<M = AnyMachine> {
  /** Its steps in words, such as `pay, ship`. */
  readonly title: string;
  readonly context: ContextOf<M>;
  readonly steps: readonly Step<M>[];
  /** What it visits, and no path before it. */
  readonly covers: readonly Item[];
}

/** Ways that together visit all of a machine that can be found. */
export interface Paths<M = AnyMachine> extends Iterable<Path<M>> {
  readonly paths: readonly Path<M>[];
  /** What no way was found to: nothing leads there, or what its guard asks for was not found. */
  readonly missed: readonly Item[];
}

/** How ways are looked for. */
export interface PathOptions<M = AnyMachine> {
  /**
   * The contexts to begin with. Left out: the empty one, and those with which the conditions of timeouts pass, found
   * from the values they compare with.
   */
  readonly contexts?: readonly ContextOf<M>[];
  /** Most situations that are looked at; 10,000 if left out. */
  readonly limit?: number;
}

/** A situation that was reached, and how. */
interface Node {
  readonly snapshot: Snapshot;
  readonly now: number;
  readonly from: Node | undefined;
  readonly step: Step | undefined;
  readonly context: object;
}

const MOST_NODES = 10_000;
/** Most timers that are passed in one wait. */
const MOST_TIMERS = 64;

/**
 * Finds the shortest steps to every state, transition, timeout and join of a machine: breadth first, with params taken from
 * the values in guards, and with waits until the next timer is due. Children of machines that it was given are sent
 * their events, too. What is on the way to something else gets no path of its own.
 *
 * The core decides each step, so what is found is so.
 */
export function paths<M extends Machine>(machine: M, options: PathOptions<M> = {}): Paths<M> {
  const found = search(machine as AnyMachine, options);
  return { ...found, [Symbol.iterator]: () => found.paths[Symbol.iterator]() } as Paths<M>;
}

function search(machine: AnyMachine, options: PathOptions): Pick<Paths, "paths" | "missed"> {
  const items = new Map(itemsOf(machine).map((item) => [keyOf(item), item]));
  const open = new Set(items.keys());
  const reached = new Map<Node, Item[]>();
  const visit = (node: Node, keys: readonly string[]) => {
    for (const key of keys) {
      const item = items.get(key);
      if (item === undefined || !open.delete(key)) continue;
      reached.set(node, [...(reached.get(node) ?? []), item]);
    }
  };
  const explorer = new Explorer(machine);
  const queue: Node[] = [];
  for (const context of options.contexts ?? contextsOf(machine)) {
    const start = {
      snapshot: begin(machine, { context }),
      now: 0,
      from: undefined,
      step: undefined,
      context,
    };
    visit(start, keysOfStart(machine));
    if (explorer.isNew(start.snapshot)) queue.push(start);
  }
  // What is pushed while it runs is looked at, too: nearest first.
  for (const node of queue) {
    if (open.size === 0 || queue.length > (options.limit ?? MOST_NODES)) break;
    for (const step of explorer.steps(node)) {
      const { now, after, before, commits } = take(machine, node.snapshot, step, node.now);
      if (commits.length === 0) continue;
      const next: Node = { snapshot: after, now, from: node, step, context: node.context };
      visit(
        next,
        commits.flatMap((commit) => keysOfCommit(machine, commit, { before, now })),
      );
      if (explorer.isNew(after)) queue.push(next);
    }
  }
  return { paths: pathsTo(reached), missed: [...open].flatMap((key) => items.get(key) ?? []) };
}

/** What can be done in a situation, and which situations differ. */
class Explorer {
  readonly #machine: AnyMachine;
  readonly #alphabet: Alphabet;
  readonly #fields: readonly string[];
  readonly #seen = new Set<string>();

  constructor(machine: AnyMachine) {
    this.#machine = machine;
    this.#alphabet = new Alphabet(machine);
    this.#fields = timedFieldsOf(machine);
  }

  /** Whether no situation was like it: in the states of its tree, and in what timeouts see of its context. */
  isNew(snapshot: Snapshot): boolean {
    const text = JSON.stringify(this.#situation(snapshot));
    const isNew = !this.#seen.has(text);
    this.#seen.add(text);
    return isNew;
  }

  #situation(snapshot: Snapshot): unknown {
    const context: Readonly<Record<string, unknown>> = { ...snapshot.context };
    const children = (snapshot.children ?? []).map((child) => [
      child.instance?.status,
      this.#situation(child),
    ]);
    return [snapshot.current_state, this.#fields.map((field) => context[field] ?? null), children];
  }

  steps({ snapshot, now }: Node): readonly Step[] {
    const possible = this.#machine.events(snapshot, { now });
    const letters = new Set(possible.flatMap((event) => this.#alphabet.for(event)));
    const wait = this.#wait(snapshot, now);
    return [...letters, ...(wait === undefined ? [] : [{ wait }])];
  }

  /** How long until a timer moves something: those whose conditions fail are passed. */
  #wait(snapshot: Snapshot, now: number): number | undefined {
    let later = snapshot;
    for (let tries = 0; tries < MOST_TIMERS; tries += 1) {
      const timer = this.#machine.due(later);
      if (timer === undefined) return undefined;
      const advanced = this.#machine.advance(later, timer.at);
      if (advanced.timeouts.length > 0) return Math.max(0, timer.at - now);
      later = advanced.snapshot;
    }
    return undefined;
  }
}

/** A path to each node where something was first visited, but for those on the way to another. */
function pathsTo(reached: ReadonlyMap<Node, readonly Item[]>): readonly Path[] {
  const inner = new Set<Node>();
  for (const node of reached.keys()) {
    for (let before = node.from; before !== undefined; before = before.from) inner.add(before);
  }
  const ends = [...reached.keys()].filter((node) => !inner.has(node));
  const told = new Set<Node>();
  return ends.map((end) => {
    const nodes = lineTo(end);
    const covers = nodes.filter((node) => !told.has(node)).flatMap((node) => reached.get(node) ?? []);
    for (const node of nodes) told.add(node);
    const steps = nodes.flatMap(({ step }) => step ?? []);
    return { title: steps.map(titleOf).join(", ") || "start", context: end.context, steps, covers };
  });
}

function lineTo(end: Node): readonly Node[] {
  const line: Node[] = [];
  for (let node: Node | undefined = end; node !== undefined; node = node.from) line.unshift(node);
  return line;
}

function titleOf(step: Step): string {
  if (step.event === undefined) return `wait ${step.wait} ms`;
  const { type, params } = step.event;
  const target = "target" in step.event ? step.event.target.map(({ state }) => `${state}/`).join("") : "";
  return `${target}${type}${params === undefined ? "" : ` ${JSON.stringify(params)}`}`;
}
