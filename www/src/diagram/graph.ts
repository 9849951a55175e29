// What a diagram shows, before it has places: machines with their regions, states, transitions and joins, and the machines of
// children inside of the states that run them. Names are hostile: they are values of maps and texts, never keys of objects; what
// is drawn has made-up keys.

import type { JsonDefinition } from "statewright";

import {
  actionsOf,
  actionText,
  type Declared,
  leavingOf,
  placeKey,
  type Region,
  regionName,
  regionsOf,
} from "./definition-parts.ts";
import { delayOf, durationText, guardText } from "./guard.ts";

/** A machine as it is drawn: the diagram's own, or a child's inside of a state. */
export interface MachineNode {
  readonly key: string;
  readonly machine_id: string;
  readonly depth: number;
  readonly parallel: boolean;
  readonly regions: readonly RegionNode[];
  readonly joins: readonly JoinNode[];
}

/** A region; of a flat machine the only one, `_`. */
export interface RegionNode {
  readonly key: string;
  readonly id: string;
  readonly description: string | undefined;
  readonly states: readonly StateNode[];
  readonly edges: readonly EdgeNode[];
}

/** A state. */
export interface StateNode {
  readonly key: string;
  readonly name: string;
  readonly region: string;
  readonly machine_id: string;
  readonly initial: boolean;
  /** Whether nothing leads out of it. */
  readonly final: boolean;
  /** What entering it calls for, one text an action. */
  readonly actions: readonly string[];
  readonly child: ChildNode | undefined;
}

/** What runs inside of a compound state. */
export interface ChildNode {
  readonly machine_id: string;
  readonly managed: boolean;
  readonly reentry: string | undefined;
  /** The child's machine, where it is known and shown open. */
  readonly inside: MachineNode | undefined;
  /** Whether its machine is known, so that it can be opened. */
  readonly known: boolean;
}

/** All that leads from one state to another (or back to itself). */
export interface EdgeNode {
  readonly key: string;
  readonly from: StateNode;
  readonly to: StateNode;
  readonly lines: readonly LineNode[];
}

/** One transition of an edge, or one end of a child. */
export interface LineNode {
  readonly key: string;
  readonly kind: "event" | "timeout" | "completion";
  /** The event's type; `$timeout`, or `$sub_complete`. */
  readonly event: string;
  /** The event, the delay, or how the child ends. */
  readonly text: string;
  readonly guard: string | undefined;
  readonly broadcast: boolean;
  readonly description: string | undefined;
}

/** A join: when all its states are current, its target is entered. */
export interface JoinNode {
  readonly key: string;
  readonly when: readonly StateNode[];
  readonly target: StateNode;
  readonly level: boolean;
  readonly actions: readonly string[];
  readonly description: string | undefined;
}

/** What a diagram shows. */
export interface Graph {
  readonly root: MachineNode;
  /** Every state that is shown, by its key, in reading order. */
  readonly states: ReadonlyMap<string, StateNode>;
  readonly transitions: number;
  readonly joins: number;
  /** How many states have children that can be opened or closed. */
  readonly children: number;
}

/** What is needed to make one. */
export interface Shown {
  readonly definition: JsonDefinition;
  readonly machines: readonly JsonDefinition[];
  /** States whose children were opened or closed by hand, by their keys. */
  readonly opened: ReadonlyMap<string, boolean>;
}

/** Deeper, or with more states, a child is closed until it is opened. */
const OPEN_DEPTH = 3;
const OPEN_STATES = 24;
const OPEN_TOTAL = 120;

/** Where the engine's own refusal of deeper trees stands; a legacy child could name its own parent's machine without end. */
const MOST_DEEP = 12;

/** The graph of a definition. */
export function graphOf(shown: Shown): Graph {
  return new Reading(shown).graph();
}

class Reading {
  readonly #shown: Shown;
  readonly #machines: Map<string, JsonDefinition>;
  #states = 0;
  #transitions = 0;
  #joins = 0;
  #children = 0;

  constructor(shown: Shown) {
    this.#shown = shown;
    this.#machines = new Map(shown.machines.map((machine) => [machine.machine_id, machine]));
    this.#machines.set(shown.definition.machine_id, shown.definition);
  }

  graph(): Graph {
    const root = this.#machine(this.#shown.definition, "m", 0, []);
    return {
      root,
      states: new Map([...statesOf(root)].map((state) => [state.key, state])),
      transitions: this.#transitions,
      joins: this.#joins,
      children: this.#children,
    };
  }

  #machine(definition: JsonDefinition, key: string, depth: number, above: readonly string[]): MachineNode {
    const { machine_id } = definition;
    const parallel = Array.isArray(definition.regions);
    const broadcast = new Set(definition.broadcast ?? []);
    const raw = regionsOf(definition);
    const leaving = leavingOf(definition, raw);
    const named = new Map<string, ReadonlyMap<string, StateNode>>();
    const regions = raw.map((region, index): RegionNode => {
      const inside = [...above, machine_id];
      const states = new Map<string, StateNode>();
      for (const [at, name] of region.states.entries()) {
        if (states.has(name)) continue;
        const stateKey = `${key}.${index}.${at}`;
        const state: StateNode = {
          key: stateKey,
          name,
          region: region.id,
          machine_id,
          initial: name === region.initial,
          final: !leaving.has(placeKey(region.id, name)),
          actions: actionsOf(definition, region.id, name),
          child: this.#child(region.children.get(name), stateKey, depth, inside),
        };
        states.set(name, state);
        this.#states += 1;
      }
      named.set(region.id, states);
      const edges = this.#edges(definition, region, states, `${key}.${index}`, broadcast);
      return {
        key: `${key}.${index}`,
        id: region.id,
        description: region.description,
        states: [...states.values()],
        edges,
      };
    });
    const joins = parallel ? joinsOf(definition, named, key) : [];
    this.#joins += joins.length;
    return { key, machine_id, depth, parallel, regions, joins };
  }

  #child(
    declared: Declared | undefined,
    key: string,
    depth: number,
    above: readonly string[],
  ): ChildNode | undefined {
    if (declared === undefined) return undefined;
    const definition = this.#machines.get(declared.machine_id);
    const { machine_id, managed, reentry } = declared;
    const known = definition !== undefined && depth < MOST_DEEP;
    if (!known) return { machine_id, managed, reentry, known: false, inside: undefined };
    this.#children += 1;
    const wanted = this.#shown.opened.get(key);
    const states = regionsOf(definition).reduce((sum, region) => sum + region.states.length, 0);
    const small = states <= OPEN_STATES && this.#states + states <= OPEN_TOTAL;
    const open = wanted ?? (depth < OPEN_DEPTH && small && !above.includes(machine_id));
    const inside = open ? this.#machine(definition, `${key}m`, depth + 1, above) : undefined;
    return { machine_id, managed, reentry, known: true, inside };
  }

  #edges(
    definition: JsonDefinition,
    region: Region,
    states: ReadonlyMap<string, StateNode>,
    key: string,
    broadcast: ReadonlySet<string>,
  ): readonly EdgeNode[] {
    const edges = new Map<string, { from: StateNode; to: StateNode; lines: LineNode[] }>();
    const add = (from: string, to: string, line: Omit<LineNode, "key">) => {
      const [source, target] = [states.get(from), states.get(to)];
      if (source === undefined || target === undefined) return;
      const pair = `${source.key}>${target.key}`;
      const edge = edges.get(pair) ?? { from: source, to: target, lines: [] };
      edges.set(pair, edge);
      edge.lines.push({ key: `${pair}#${edge.lines.length}`, ...line });
      this.#transitions += 1;
    };
    for (const transition of definition.transitions ?? []) {
      if (regionName(transition.region) !== region.id) continue;
      const delay = transition.on === "$timeout" ? (delayOf(transition.guard) ?? 0) : undefined;
      add(transition.from, transition.to, {
        kind: delay === undefined ? "event" : "timeout",
        event: transition.on,
        text: delay === undefined ? transition.on : durationText(delay),
        guard: guardText(transition.guard),
        broadcast: broadcast.has(transition.on),
        description: transition.description ?? undefined,
      });
    }
    for (const [state, { ends }] of region.children) {
      for (const { text, to } of ends) {
        add(state, to, {
          kind: "completion",
          event: "$sub_complete",
          text,
          guard: undefined,
          broadcast: false,
          description: undefined,
        });
      }
    }
    return [...edges.entries()].map(([pair, edge]) => ({ key: `${key}:${pair}`, ...edge }));
  }
}

/** The states of a machine, each before those inside of it. */
function* statesOf(machine: MachineNode): Iterable<StateNode> {
  for (const region of machine.regions) {
    for (const state of region.states) {
      yield state;
      if (state.child?.inside !== undefined) yield* statesOf(state.child.inside);
    }
  }
}

function joinsOf(
  definition: JsonDefinition,
  named: ReadonlyMap<string, ReadonlyMap<string, StateNode>>,
  key: string,
): readonly JoinNode[] {
  const joins: JoinNode[] = [];
  for (const [index, join] of (definition.joins ?? []).entries()) {
    const target = named.get(join.target_region)?.get(join.target_state);
    const when = Object.entries(join.when).flatMap(([region, state]: [string, unknown]) => {
      const found = typeof state === "string" ? named.get(region)?.get(state) : undefined;
      return found === undefined ? [] : [found];
    });
    if (target === undefined || when.length === 0) continue;
    joins.push({
      key: `${key}j${index}`,
      when,
      target,
      level: join.trigger === "level",
      actions: (join.actions ?? []).map((action) => actionText("action" in action ? action.action : action)),
      description: join.description ?? undefined,
    });
  }
  return joins;
}
