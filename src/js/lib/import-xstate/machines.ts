// Makes the definitions: one of the root, and one of each state that has states of its own.

import type { Action, ActionDef, Definition, Guard, SubMachineDef, TransitionDef } from "../definition.ts";
import { below, isObject } from "../json-value.ts";
import { DEEPEST_CHILD, FLAT_REGION, TIMEOUT_EVENT } from "../reserved.ts";
import { both } from "./guards.ts";
import {
  type Import,
  type Move,
  type Rest,
  type Scope,
  ancestorIn,
  isBare,
  isTransient,
  mappedEntries,
  movesOf,
  nameOf,
  restsOf,
} from "./moves.ts";
import { type Candidate, type Node, isBelow, listOf, nameFault } from "./nodes.ts";
import { shown } from "./notes.ts";

/** How many combinations of final states a parallel child may end in. */
const MOST_RULES = 256;
const MOST_MILLIS = 2 ** 53;

/** What a machine's parent has to know of it. */
interface Built {
  readonly machineId: string;
  /** The ways in which it is done: the final state of each region. */
  readonly ends: readonly Readonly<Record<string, string>>[];
  readonly flat: boolean;
  /** States that were made to lead out of it, and where they lead. */
  readonly outs: ReadonlyMap<string, Node>;
}

/** What a scope comes to. */
interface BuiltScope {
  readonly scope: Scope;
  readonly region: string | undefined;
  readonly states: readonly string[];
  readonly initial: string;
  readonly transitions: readonly TransitionDef[];
  readonly children: Readonly<Record<string, SubMachineDef>>;
  readonly finals: readonly string[];
  readonly outs: ReadonlyMap<string, Node>;
}

/** Builds definitions; `machines` are those of children, in the order of their states. */
export class Machines {
  readonly machines: Definition[] = [];
  private readonly given: Import;
  private readonly rootId: string;

  constructor(given: Import, rootId: string) {
    this.given = given;
    this.rootId = rootId;
  }

  /** The definition of the config's root. */
  root(): Definition {
    const { root } = this.given.nodes;
    this.noteWhatHasNoPlace(root, "the machine as a whole");
    return this.build(root, undefined, 0).definition;
  }

  private build(
    owner: Node,
    above: Scope | undefined,
    depth: number,
  ): { definition: Definition; built: Built } {
    const machineId = [this.rootId, ...owner.keys].join(".");
    const alone =
      depth === 0 &&
      owner.kind !== "parallel" &&
      this.given.nodes.all.every(({ parent }) => parent === undefined || parent === owner);
    const containers =
      owner.kind === "parallel" ? owner.children.filter(({ kind }) => kind !== "history") : [owner];
    const scopes = containers.map((container): Scope => {
      const inner = container.kind === "compound" ? container.children : [container];
      return { container, owner, above, alone, states: inner.filter(({ kind }) => kind !== "history") };
    });
    const place = this.machines.length;
    const claimed = new Set<string>();
    const built = scopes.map((scope) => this.scope(scope, depth, claimed));
    const definition = this.definition(owner, machineId, built);
    if (depth > 0) this.machines.splice(place, 0, definition);
    const [only] = built;
    const flat = owner.kind !== "parallel";
    return {
      definition,
      built: { machineId, flat, ends: this.ends(owner, built), outs: flat && only ? only.outs : new Map() },
    };
  }

  private definition(owner: Node, machineId: string, built: readonly BuiltScope[]): Definition {
    const { nodes, notes } = this.given;
    const { config } = owner;
    const parallel = owner.kind === "parallel";
    const handled = new Map<string, number>();
    for (const { transitions } of built) {
      for (const event of new Set(transitions.map(({ on }) => on))) {
        if (event !== TIMEOUT_EVENT) handled.set(event, (handled.get(event) ?? 0) + 1);
      }
    }
    const broadcast = [...handled].flatMap(([event, regions]) => (regions > 1 ? [event] : []));
    const actions = built.flatMap(({ scope, region, states }) =>
      scope.states
        .filter(({ key }) => states.includes(key))
        .flatMap((state) => this.entries(state).map((action) => entered(state.key, region, action))),
    );
    const meta = this.meta(owner, built);
    const isRoot = owner === nodes.root;
    const label = isRoot && typeof config["version"] === "string" ? config["version"] : undefined;
    const [only] = built;
    if (parallel) this.noteOverlaps(owner);
    else if (only !== undefined && only.states.length === 0) {
      notes.add(owner.path, "a machine without states", "a definition has at least one");
    }
    return {
      machine_id: machineId,
      ...(label === undefined ? {} : { label }),
      ...(typeof config["description"] === "string" ? { description: config["description"] } : {}),
      ...(parallel || only === undefined
        ? {
            regions: built.map(({ region, states, initial, children }) => ({
              id: region ?? "",
              states,
              initial_state: initial,
              ...(isEmpty(children) ? {} : { sub_machines: children }),
            })),
          }
        : { states: only.states, initial_state: only.initial }),
      transitions: built.flatMap(({ transitions }) => transitions),
      ...(broadcast.length === 0 ? {} : { broadcast }),
      ...(actions.length === 0 ? {} : { actions }),
      ...(parallel || only === undefined || isEmpty(only.children) ? {} : { sub_machines: only.children }),
      ...(meta === undefined ? {} : { meta }),
    };
  }

  /** What XState keeps with states for people and tools: it has no meaning here either, so it goes into `meta`. */
  private meta(owner: Node, built: readonly BuiltScope[]): unknown {
    const of = (node: Node): Record<string, unknown> => {
      const kept: Record<string, unknown> = {};
      for (const key of ["description", "tags", "meta"]) {
        const value = node.config[key];
        if (value === undefined || (key === "description" && node === owner)) continue;
        if (isJson(value)) kept[key] = value;
        else this.given.notes.add(below(node.path, key), `\`${key}\``, "it is no JSON");
      }
      return kept;
    };
    const kept: Record<string, unknown> = owner === this.given.nodes.root ? of(owner) : {};
    const states: Record<string, unknown> = {};
    for (const { scope, region } of built) {
      for (const node of new Set([...(region === undefined ? [] : [scope.container]), ...scope.states])) {
        const told = of(node);
        if (!isEmpty(told)) states[node.keys.slice(owner.keys.length).join(".")] = told;
      }
    }
    if (!isEmpty(states)) kept["states"] = states;
    return isEmpty(kept) ? undefined : { xstate: kept };
  }

  private entries(state: Node): readonly Action[] {
    for (const entry of listOf(state.config["entry"])) {
      const name = nameOf(entry);
      const known = name !== undefined && Object.hasOwn(this.given.actions, name);
      if (known && this.given.actions[name] !== "merge") continue;
      const why = known
        ? "only an event merges its params, not the entry of a state"
        : "code is not part of a definition; give it a name, and the table of actions what it becomes";
      this.given.notes.add(below(state.path, "entry"), `action ${shown(entry)} on entry`, why);
    }
    return mappedEntries(state, this.given);
  }

  private scope(scope: Scope, depth: number, claimed: Set<string>): BuiltScope {
    const { notes } = this.given;
    const { container, owner } = scope;
    const region = owner.kind === "parallel" ? container.key : undefined;
    if (region !== undefined && container.children.length > 0) this.noteWhatHasNoPlace(container, "a region");
    const outs = new Map<string, Node>();
    const name = (place: Rest["place"]): string =>
      "to" in place ? place.to.key : this.out(scope, place.out, outs);
    const transitions: TransitionDef[] = [];
    const children: Record<string, SubMachineDef> = {};
    const resting = scope.states.filter(
      (state) => state.kind === "final" || !isTransient(state, scope, this.given),
    );
    for (const state of scope.states) {
      if (!resting.includes(state)) {
        if (mappedEntries(state, this.given).length > 0) {
          const why = "the state is left at once by `always`, so that nothing ever enters it here";
          notes.add(below(state.path, "entry"), "actions on entry", why);
        }
        continue;
      }
      this.noteStateParts(state);
      const at = { ...(region === undefined ? {} : { region }), from: state.key };
      for (const move of this.eventMoves(state, scope)) {
        const { description } = move.candidate;
        transitions.push({
          ...at,
          to: name(move.place),
          on: move.event,
          ...(move.guard === undefined ? {} : { guard: move.guard }),
          ...(description === undefined ? {} : { description }),
        });
      }
      for (const { after, guard, place, candidate } of this.timerMoves(state, scope)) {
        const { description } = candidate;
        transitions.push({
          ...at,
          to: name(place),
          on: TIMEOUT_EVENT,
          guard: { after_ms: after, ...guard },
          ...(description === undefined ? {} : { description }),
        });
      }
      const isAlone = state === container;
      if (state.kind !== "parallel" && (state.kind !== "compound" || isAlone)) continue;
      if (claimed.has(state.key)) {
        const why = `two regions have a state \`${state.key}\` with nested states, and their children would have one id; rename one`;
        notes.add(below(state.path, "states"), "nested states", why);
        continue;
      }
      if (depth >= DEEPEST_CHILD) {
        notes.add(
          below(state.path, "states"),
          "nested states",
          `children lie at most ${DEEPEST_CHILD} levels deep`,
        );
        continue;
      }
      claimed.add(state.key);
      const { built } = this.build(state, scope, depth + 1);
      children[state.key] = this.child(state, scope, built, name);
    }
    const initial = this.start(scope);
    return {
      scope,
      region,
      states: [...resting.map(({ key }) => key), ...outs.keys()],
      initial: initial === undefined ? "" : name(initial),
      transitions,
      children,
      finals: resting.filter(({ kind }) => kind === "final").map(({ key }) => key),
      outs,
    };
  }

  /** The name of the state that was made to lead out of a machine into a state of one above. */
  private out(scope: Scope, target: Node, outs: Map<string, Node>): string {
    let name = `#${target.id}`;
    while (scope.states.some(({ key }) => key === name)) name = `#${name}`;
    outs.set(name, target);
    return name;
  }

  /** Where a scope starts. */
  private start(scope: Scope): Rest["place"] | undefined {
    const { container, states } = scope;
    const { nodes, notes } = this.given;
    if (states.length === 1 && states[0] === container) return { to: container };
    const initial = nodes.initial(container);
    const path = below(container.path, "initial");
    if (initial === undefined || !states.includes(initial)) {
      notes.add(path, "`initial`", "it names no state of this level");
      return states[0] === undefined ? undefined : { to: states[0] };
    }
    if (isObject(container.config["initial"])) {
      for (const action of listOf(container.config["initial"]["actions"])) {
        notes.add(path, `action ${shown(action)} at the start`, "starting calls for no actions");
      }
    }
    const [first, ...others] = restsOf({ to: initial }, scope, this.given);
    if (others.length > 0) {
      const why =
        "the state that a machine starts in is one, whatever the context; it starts there and waits for an event";
      notes.add(below(initial.path, "always"), "`always` with a guard, at the start", why);
      return { to: initial };
    }
    const place = first?.place ?? { to: initial };
    if ("to" in place && mappedEntries(place.to, this.given).length > 0) {
      const why = "starting calls for no actions; entering the state later does";
      notes.add(below(place.to.path, "entry"), "actions on entry, at the start", why);
    }
    return place;
  }

  /** The nodes whose transitions a state takes in its own machine, itself first. */
  private chain(state: Node, scope: Scope): Node[] {
    const chain = [state];
    const { container, owner, above } = scope;
    if (container !== state && (container !== owner || above === undefined)) chain.push(container);
    if (owner !== container && above === undefined) chain.push(owner);
    return chain;
  }

  /** The transitions of a state by events, in the order in which they are tried. */
  private eventMoves(
    state: Node,
    scope: Scope,
  ): { event: string; guard: Guard | undefined; place: Rest["place"]; candidate: Candidate }[] {
    const { notes } = this.given;
    let chain = this.chain(state, scope);
    if (state.kind === "final") {
      for (const part of ["on", "after", "always"]) {
        if (state.config[part] === undefined) continue;
        notes.add(below(state.path, part), `\`${part}\` of a final state`, "nothing leads out of an end");
      }
      // A flat machine has ended; of a parallel one, the other regions may go on.
      chain = scope.container === scope.owner ? [] : chain.slice(1);
    }
    const found: { event: string; guard: Guard | undefined; place: Rest["place"]; candidate: Candidate }[] =
      [];
    for (const event of new Set(chain.flatMap(({ on }) => [...on.keys()]))) {
      if (!this.isPlain(event, chain)) continue;
      const candidates = chain.flatMap(({ on }) => on.get(event) ?? []);
      const moves = this.withoutIdle(movesOf(candidates, state, scope, this.given), event, scope);
      if (state.kind === "final" && scope.above === undefined && moves.length > 0) {
        const why = "XState's actor stops once all regions are final; here the region can still be left then";
        notes.add(state.path, "the end of the whole machine", why);
      }
      moves.forEach((move, index) => {
        const isLast = index === moves.length - 1;
        for (const rest of this.restsOfMove(move, event, isLast, state, scope)) {
          found.push({
            event,
            guard: both(move.guard, rest.guard),
            place: rest.place,
            candidate: move.candidate,
          });
        }
      });
    }
    return found;
  }

  private isPlain(event: string, chain: readonly Node[]): boolean {
    const why =
      event === "" || event === "*" || event.endsWith(".*")
        ? "an event is taken by its own name only; name the events"
        : event.startsWith("$")
          ? "names that begin with `$` are the engine's own"
          : event.startsWith("xstate.")
            ? "it is an event of XState's own"
            : nameFault(event);
    if (why === undefined) return true;
    for (const node of chain) {
      if (node.on.has(event))
        this.given.notes.add(below(below(node.path, "on"), event), `event \`${event}\``, why);
    }
    return false;
  }

  /** Without the last moves that do nothing, where nobody else would take their event. */
  private withoutIdle(moves: readonly Move[], event: string, scope: Scope): readonly Move[] {
    if (this.isTakenAbove(event, scope)) return moves;
    const last = moves.findLastIndex(({ place, merges }) => place !== "stays" || merges);
    return moves.slice(0, last + 1);
  }

  /** Where a move comes to rest. One that stays is a transition only where it does something. */
  private restsOfMove(
    move: Move,
    event: string,
    isLast: boolean,
    state: Node,
    scope: Scope,
  ): readonly Rest[] {
    if (!move.merges) this.noteMerge();
    if (move.place !== "stays") return restsOf(move.place, scope, this.given);
    const { notes } = this.given;
    const again: Rest = { guard: undefined, place: { to: state } };
    const hides = this.isTakenAbove(event, scope);
    const bare = isBare(state, this.given);
    // What is merged may let an eventless transition pass.
    if (move.merges && bare) return restsOf(again.place, scope, this.given);
    if (bare) return [again];
    const lost = [
      ...(move.merges ? ["its params are not merged"] : []),
      ...(hides ? ["the states above may take it instead"] : []),
      ...(move.guard !== undefined && !isLast ? ["the transitions after it may take it instead"] : []),
    ].join("; ");
    const why =
      "a transition enters its state anew, with its timers, actions and nested states; so this one is left out: " +
      lost;
    notes.add(move.candidate.path, `\`${event}\` without leaving the state`, why);
    return move.merges && !hides ? restsOf(again.place, scope, this.given).slice(0, -1) : [];
  }

  private noteMerge(): void {
    const why = "an event that is taken merges all of its params into the context, whatever the transition";
    this.given.notes.add("$.context", "events that do not change the context", why);
  }

  /** Whether a machine above, or what stands above a region, takes an event of that name. */
  private isTakenAbove(event: string, scope: Scope): boolean {
    if (scope.above === undefined) return false;
    for (let node: Node | undefined = scope.owner; node !== undefined; node = node.parent) {
      if (node.on.has(event)) return true;
    }
    return false;
  }

  private timerMoves(
    state: Node,
    scope: Scope,
  ): { after: number; guard: Guard | undefined; place: Rest["place"]; candidate: Candidate }[] {
    if (state.kind === "final") return [];
    const { notes } = this.given;
    const found: { after: number; guard: Guard | undefined; place: Rest["place"]; candidate: Candidate }[] =
      [];
    for (const [key, candidates] of state.after) {
      const path = below(below(state.path, "after"), key);
      const given = Number.isNaN(Number(key)) ? this.given.delays[key] : Number(key);
      if (typeof given !== "number" || !Number.isInteger(given) || given < 1 || given > MOST_MILLIS) {
        const why =
          given === undefined
            ? "the table of delays does not say how long it is"
            : typeof given === "number"
              ? "a delay is a whole number of milliseconds, at least 1"
              : "a delay is a number; it cannot be computed";
        notes.add(path, `delay \`${key}\``, why);
        continue;
      }
      const moves = movesOf(candidates, state, scope, this.given);
      moves.forEach((move, index) => {
        if (move.place === "stays") {
          if (move.guard !== undefined && index < moves.length - 1) {
            const why = "a timeout always moves; the transitions after it may fire where its guard passes";
            notes.add(move.candidate.path, "a timeout that stays", why);
          }
          return;
        }
        for (const rest of restsOf(move.place, scope, this.given)) {
          found.push({
            after: given,
            guard: both(move.guard, rest.guard),
            place: rest.place,
            candidate: move.candidate,
          });
        }
      });
    }
    const longest = Math.max(...found.map(({ after }) => after));
    for (const { after, guard, candidate } of found) {
      if (guard === undefined || after === longest || scope.container === scope.owner) continue;
      const why =
        "where its guard does not pass in time it is tried again with the longer delay, and may pass then by what " +
        "another region did to the context; XState tries it once";
      notes.add(candidate.path, `a guard after ${after} ms, beside a longer delay`, why);
    }
    return found;
  }

  private child(
    state: Node,
    scope: Scope,
    built: Built,
    name: (place: Rest["place"]) => string,
  ): SubMachineDef {
    const done = this.completion(state, scope);
    const target = done === undefined ? undefined : name(done);
    const onFinal: Record<string, string> = {};
    for (const [out, node] of built.outs) {
      const entered = ancestorIn(scope, node);
      const place = entered === undefined ? { out: node } : this.only({ to: entered }, scope, state.path);
      onFinal[out] = name(place);
    }
    if (target !== undefined && built.flat) {
      for (const end of built.ends) for (const final of Object.values(end)) onFinal[final] = target;
    }
    const rules = target === undefined || built.flat ? [] : built.ends.map((when) => ({ when, target }));
    return {
      machine_id: built.machineId,
      lifecycle: "managed",
      ...(isEmpty(onFinal) ? {} : { on_final: onFinal }),
      ...(rules.length === 0 ? {} : { complete_when: rules }),
      reentry: "fresh",
    };
  }

  /** Where a state goes once its nested states are done. */
  private completion(state: Node, scope: Scope): Rest["place"] | undefined {
    const moves = movesOf(state.onDone, state, scope, this.given);
    for (const { guard, place, candidate } of moves) {
      if (guard !== undefined) {
        const why =
          "what a child's end leads to does not depend on a guard; give each end its own final state";
        this.given.notes.add(candidate.path, "`onDone` with a guard", why);
        continue;
      }
      return place === "stays" ? undefined : this.only(place, scope, candidate.path);
    }
    return undefined;
  }

  /** The one place where a completion comes to rest. */
  private only(place: Rest["place"], scope: Scope, path: string): Rest["place"] {
    const [first, ...others] = restsOf(place, scope, this.given);
    if (others.length === 0) return first?.place ?? place;
    const why = "what a child's end leads to does not depend on a guard; it waits there for an event";
    this.given.notes.add(path, "`always` with a guard, after the end of a child", why);
    return place;
  }

  /** The combinations of final states in which a machine is done. */
  private ends(owner: Node, built: readonly BuiltScope[]): Record<string, string>[] {
    let ends: Record<string, string>[] = [{}];
    for (const { region, finals } of built) {
      ends = ends.flatMap((end) => finals.map((final) => ({ ...end, [region ?? FLAT_REGION]: final })));
      if (ends.length > MOST_RULES) {
        const why = `they can end in more than ${MOST_RULES} combinations of final states`;
        this.given.notes.add(owner.path, "the end of the nested states", why);
        return [];
      }
    }
    for (const { scope } of built) {
      if (scope.container.kind === "parallel" && owner.onDone.length > 0) {
        const why = "a region whose states are parallel themselves has no final state of its own";
        this.given.notes.add(scope.container.path, "the end of nested regions", why);
      }
    }
    return ends;
  }

  /** What a state can say and a definition cannot. */
  private noteStateParts(state: Node): void {
    const { notes } = this.given;
    for (const child of state.children) {
      if (child.kind === "history")
        notes.add(child.path, "history state", "a child starts anew; see `reentry`");
    }
    for (const action of listOf(state.config["exit"])) {
      const why = "an action belongs to a state that is entered, not to one that is left";
      notes.add(below(state.path, "exit"), `action ${shown(action)} on exit`, why);
    }
    this.noteInvoke(state);
    if (state.config["output"] !== undefined) {
      const why = "a child hands nothing on to its parent but that it ended, and in which state";
      notes.add(below(state.path, "output"), "`output`", why);
    }
    if (state.kind === "final" && state.children.length > 0) {
      notes.add(below(state.path, "states"), "nested states of a final state", "an end has none");
    }
  }

  private noteInvoke(node: Node): void {
    const invoked = listOf(node.config["invoke"]);
    invoked.forEach((invoke, index) => {
      const path = below(node.path, "invoke");
      const source = isObject(invoke) ? invoke["src"] : invoke;
      const why =
        "nothing runs inside a state; have an action call what does the work on entry, and let it send its result as an event";
      const at = Array.isArray(node.config["invoke"]) ? below(path, index) : path;
      this.given.notes.add(at, `actor ${shown(source)} and its transitions`, why);
    });
  }

  /** Notes what the root and regions can say in XState, and only states can here. */
  private noteWhatHasNoPlace(node: Node, what: string): void {
    const { notes } = this.given;
    for (const part of ["after", "always", "entry", "exit", "onDone", "output"]) {
      if (node.config[part] === undefined) continue;
      notes.add(
        below(node.path, part),
        `\`${part}\` of ${what}`,
        "only states have it; give it to each of them",
      );
    }
    this.noteInvoke(node);
    for (const child of node.children) {
      if (child.kind === "history")
        notes.add(child.path, "history state", "a child starts anew; see `reentry`");
    }
  }

  /** Notes events that one region's nested states take and another region takes as well. */
  private noteOverlaps(owner: Node): void {
    const { nodes, notes } = this.given;
    const regions = owner.children.map((region) => {
      const within = nodes.all.filter((node) => node === region || isBelow(node, region));
      const nested = within.filter((node) => node !== region && node.parent !== region);
      return {
        region,
        all: new Set(within.flatMap(({ on }) => [...on.keys()])),
        nested: new Set(nested.flatMap(({ on }) => [...on.keys()])),
      };
    });
    for (const { region, nested } of regions) {
      for (const event of nested) {
        if (!regions.some((other) => other.region !== region && other.all.has(event))) continue;
        const why =
          "XState moves a nested state and another region by one event; here they are two machines: send it to each";
        notes.add(region.path, `event \`${event}\`, which nested states take and another region`, why);
      }
    }
  }
}

function entered(state: string, region: string | undefined, action: Action): ActionDef {
  return { on_enter: state, ...(region === undefined ? {} : { region }), action };
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

function isJson(value: unknown, depth = 0): boolean {
  if (value === null || ["string", "boolean"].includes(typeof value)) return true;
  if (typeof value === "number") return Number.isFinite(value);
  // What holds itself ends here as well.
  if (typeof value !== "object" || depth > 100) return false;
  return Object.values(value).every((part) => isJson(part, depth + 1));
}
