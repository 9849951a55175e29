// The shortest ways to everything in a definition.

import { optionsOf, wholeOf } from "../given.ts";
import { machineOf } from "../kin.ts";
import { FLAT_REGION } from "../reserved.ts";
import { kindOf, wrong } from "../wrong.ts";
import type { AnyMachine, ContextOf, HistoryRow, Machine, PossibleEvent, Snapshot } from "../typed.ts";
import type { TransitionDef } from "../definition.ts";
import { Alphabet, type Choice, contextsOf, timedFieldsOf } from "./alphabet.ts";
import { itemsOf, keyOf, keysOfCommit, keysOfStart, type Item } from "./items.ts";
import { Frontier } from "./frontier.ts";
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
  /** About how many steps are tried, at most; 20,000 if left out. */
  readonly limit?: number;
}

/** A situation that was reached, and how. */
interface Node {
  readonly snapshot: Snapshot;
  readonly now: number;
  readonly from: Node | undefined;
  readonly step: Step | undefined;
  readonly context: object;
  /** The context and the steps that led here, as a text. */
  readonly trail: string;
}

/** What a step led to: a situation, if anything was written. */
interface Taken {
  readonly nodes: readonly Node[];
  /** The keys of what it visited. */
  readonly keys: readonly string[];
  readonly rows: readonly HistoryRow[];
}

const MOST_TRIES = 20_000;
/** How many situations are looked at, whatever they have, before those that have nothing new are left out. */
const FIRST_NODES = 100;
/** Most timers that are passed in one wait. */
const MOST_TIMERS = 64;

/**
 * Finds short ways to every state, transition, timeout and join of a machine: breadth first, with params taken from the
 * values in guards, and with waits until the next timer is due. Children of machines that it was given are sent their events,
 * too. What is on the way to something else gets no path of its own.
 *
 * Of a machine with at most 100 situations none is shorter. Of one with more, what is far is looked for from where
 * something was visited first, and joins by making true what they wait for, one after the other.
 *
 * The core decides each step, so what is found is so.
 */
export function paths<M extends Machine>(machine: M, options: PathOptions<M> = {}): Paths<M> {
  const { contexts, limit } = optionsOf(options, ["contexts", "limit"]);
  if (contexts !== undefined && !Array.isArray(contexts)) {
    throw wrong("contexts", `it is ${kindOf(contexts)}`, "an array of contexts");
  }
  if (limit !== undefined) wholeOf(limit, "limit", 0, Number.MAX_SAFE_INTEGER);
  const found = new Search(machineOf(machine as AnyMachine), options).run();
  return { ...found, [Symbol.iterator]: () => found.paths[Symbol.iterator]() } as Paths<M>;
}

class Search {
  readonly #machine: AnyMachine;
  readonly #alphabet: Alphabet;
  readonly #fields: readonly string[];
  readonly #starts: readonly Node[];
  readonly #items: ReadonlyMap<string, Item>;
  readonly #open: Set<string>;
  readonly #reached = new Map<Node, Item[]>();
  #left: number;

  constructor(machine: AnyMachine, { contexts = contextsOf(machine), limit = MOST_TRIES }: PathOptions) {
    this.#machine = machine;
    this.#alphabet = new Alphabet(machine);
    this.#fields = timedFieldsOf(machine);
    this.#starts = contexts.map((context) => ({
      snapshot: begin(machine, { context }),
      now: 0,
      from: undefined,
      step: undefined,
      context,
      trail: JSON.stringify(context),
    }));
    this.#items = new Map(itemsOf(machine).map((item) => [keyOf(item), item]));
    this.#open = new Set(this.#items.keys());
    this.#left = limit;
  }

  run(): Pick<Paths, "paths" | "missed"> {
    const start = this.#starts[0];
    if (start !== undefined) this.#visit(start, keysOfStart(this.#machine));
    if (!this.#explore(this.#starts, new Frontier("whole", this.#fields), FIRST_NODES)) {
      for (let before = Infinity; this.#open.size < before && this.#left > 0;) {
        before = this.#open.size;
        this.#spread();
        // Joins, which are few and lead on, come last in the list.
        for (const item of [...this.#items.values()].reverse()) this.#seek(item);
      }
      this.#explore(this.#starts, new Frontier("whole", this.#fields), Infinity);
    }
    const missed = [...this.#open].flatMap((key) => this.#items.get(key) ?? []);
    return { paths: pathsTo(this.#reached), missed };
  }

  #visit(node: Node, keys: readonly string[]): void {
    for (const key of keys) {
      const item = this.#items.get(key);
      if (item === undefined || !this.#open.delete(key)) continue;
      this.#reached.set(node, [...(this.#reached.get(node) ?? []), item]);
    }
  }

  /** Looks at situations, nearest first; whether those were all. */
  #explore(starts: readonly Node[], frontier: Frontier, most: number): boolean {
    const queue = starts.filter(({ snapshot }) => frontier.admit(snapshot));
    // What is pushed while it runs is looked at, too.
    for (const [index, node] of queue.entries()) {
      if (this.#open.size === 0) return true;
      if (index >= most || this.#left <= 0) return false;
      queue.push(...this.#after(node).filter(({ snapshot }) => frontier.admit(snapshot)));
    }
    return true;
  }

  /** Goes on from wherever something was visited first, with events that may take what was not visited yet. */
  #spread(): void {
    const frontier = new Frontier("state", this.#fields);
    const queue = [...this.#reached.keys()];
    for (const node of queue) {
      if (this.#open.size === 0 || this.#left <= 0) return;
      const next = this.#after(node, (transition) => this.#isOpen(transition));
      queue.push(...next.filter((found) => frontier.admit(found.snapshot) || this.#reached.has(found)));
    }
  }

  /** Goes for something that was not visited, if it can be said what it needs. */
  #seek(item: Item): void {
    if (!this.#open.has(keyOf(item)) || item.index === undefined) return;
    const { joins, transitions } = this.#machine.definition;
    const join = item.kind === "join" ? joins?.[item.index] : undefined;
    if (join !== undefined) return this.#satisfy(item, join.when);
    const transition = item.kind === "transition" ? transitions[item.index] : undefined;
    if (transition !== undefined) this.#unblock(item, transition);
  }

  /** Goes for a join: makes one after the other true of what it waits for. */
  #satisfy(item: Item, when: Readonly<Record<string, string>>): void {
    const met = (node: Node) =>
      Object.entries(when).filter(([region, name]) => isIn(node, region, name)).length;
    const [first, ...others] = this.#reached.keys();
    let best = others.reduce(
      (one, other) => (one !== undefined && met(one) >= met(other) ? one : other),
      first,
    );
    while (best !== undefined && this.#open.has(keyOf(item)) && this.#left > 0) {
      best = this.#better(best, when, met);
    }
  }

  /** Goes for a transition from where it can leave: moves the regions that may take its event before it. */
  #unblock(item: Item, { from, on }: TransitionDef): void {
    const start = [...this.#reached.keys()].find((node) => isIn(node, item.region, from));
    if (start === undefined) return;
    const earlier = this.#machine.definition.transitions
      .slice(0, item.index)
      .filter((other) => other.on === on);
    const blocking = new Set(earlier.map(({ region }) => region));
    const frontier = new Frontier("state", this.#fields);
    const queue = [start];
    for (const [index, node] of queue.entries()) {
      if (!this.#open.has(keyOf(item)) || index >= FIRST_NODES || this.#left <= 0) return;
      const next = this.#after(node, ({ region, event_type }) => event_type === on || blocking.has(region));
      queue.push(...next.filter(({ snapshot }) => frontier.admit(snapshot)));
    }
  }

  /** The nearest situation in which more is met, by moves of the regions that matter. */
  #better(from: Node, when: Readonly<Record<string, string>>, met: (node: Node) => number): Node | undefined {
    const frontier = new Frontier("state", this.#fields);
    const queue = [from];
    for (const node of queue) {
      if (this.#left <= 0) return undefined;
      const next = this.#after(
        node,
        ({ machine_id, region }) => machine_id !== this.#machine.id || (region ?? "") in when,
      );
      const better = next.find((found) => met(found) > met(from));
      if (better !== undefined) return better;
      queue.push(...next.filter(({ snapshot }) => frontier.admit(snapshot)));
    }
    return undefined;
  }

  /** Whether a transition was not taken yet; of a child's that is not known. */
  #isOpen({ machine_id, region = FLAT_REGION, to, index }: PossibleEvent): boolean {
    return (
      machine_id !== this.#machine.id ||
      this.#open.has(keyOf({ kind: "transition", region, state: to, index }))
    );
  }

  /** The situations that one step leads to. */
  #after(node: Node, isWanted: (transition: PossibleEvent) => boolean = () => true): readonly Node[] {
    const { snapshot, now } = node;
    const choices = this.#alphabet.choices(this.#machine.events(snapshot, { now }));
    const wanted = choices.filter(({ transitions }) => transitions.some(isWanted));
    const sent = wanted.flatMap((choice) => this.#try(node, choice));
    const wait = this.#wait(snapshot, now);
    return wait === undefined ? sent : [...sent, ...this.#take(node, { wait }).nodes];
  }

  /** Sends an event with one params after another, until each of its transitions was taken once. */
  #try(node: Node, { transitions, letters, isLasting }: Choice): readonly Node[] {
    const nodes: Node[] = [];
    const waiting = new Set(transitions);
    for (const letter of letters) {
      if (waiting.size === 0 && !isLasting) break;
      const taken = this.#take(node, letter);
      nodes.push(...taken.nodes);
      for (const transition of waiting) if (this.#isTaken(transition, taken)) waiting.delete(transition);
    }
    return nodes;
  }

  #take(node: Node, step: Step): Taken {
    this.#left -= 1;
    const { now, after, before, commits } = take(this.#machine, node.snapshot, step, node.now);
    if (commits.length === 0) return { nodes: [], keys: [], rows: [] };
    const trail = `${node.trail}\n${titleOf(step)}`;
    const next: Node = { snapshot: after, now, from: node, step, context: node.context, trail };
    const keys = commits.flatMap((commit) => keysOfCommit(this.#machine, commit, { before, now }));
    this.#visit(next, keys);
    return { nodes: [next], keys, rows: commits.flatMap(({ rows }) => rows) };
  }

  #isTaken(
    { machine_id, region = FLAT_REGION, from, to, index }: PossibleEvent,
    { keys, rows }: Taken,
  ): boolean {
    if (machine_id === this.#machine.id)
      return keys.includes(keyOf({ kind: "transition", region, state: to, index }));
    return rows.some(
      (row) =>
        row.machine_id === machine_id &&
        row.region === region &&
        row.from_state === from &&
        row.to_state === to,
    );
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
  const found = new Map<string, readonly Item[]>();
  for (const [{ trail }, items] of reached) found.set(trail, [...(found.get(trail) ?? []), ...items]);
  const inner = new Set<string>();
  for (const { from } of reached.keys()) {
    for (let node = from; node !== undefined; node = node.from) inner.add(node.trail);
  }
  const ends = new Map([...reached.keys()].map((node) => [node.trail, node]));
  const told = new Set<string>();
  return [...ends.values()]
    .filter(({ trail }) => !inner.has(trail))
    .map((end) => {
      const nodes = lineTo(end);
      const covers = nodes.flatMap(({ trail }) => (told.has(trail) ? [] : (found.get(trail) ?? [])));
      for (const { trail } of nodes) told.add(trail);
      const steps = nodes.flatMap(({ step }) => step ?? []);
      return { title: steps.map(titleOf).join(", ") || "start", context: end.context, steps, covers };
    });
}

function isIn({ snapshot: { current_state: state } }: Node, region: string, name: string): boolean {
  return (typeof state === "string" ? state : state[region]) === name;
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
