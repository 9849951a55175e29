// Where the transitions of a state lead: targets resolved, eventless transitions followed to where they come to rest.

import type { Action, Guard } from "../definition.ts";
import { type GuardTable, both, carryGuard } from "./guards.ts";
import { type Candidate, type Node, type Nodes, isBelow, listOf } from "./nodes.ts";
import { type Notes, shown } from "./notes.ts";

/** What an action of a config becomes: an action of the definition, or nothing more than the merge of params. */
export type ActionTable = Readonly<Record<string, Action | "merge">>;

/** What an import is done with. */
export interface Import {
  readonly nodes: Nodes;
  readonly notes: Notes;
  readonly guards: GuardTable;
  readonly actions: ActionTable;
  readonly delays: Readonly<Record<string, unknown>>;
  /** Where entering a state comes to rest, of those that were followed. */
  readonly rests: WeakMap<Scope, Map<Node, readonly Rest[]>>;
}

/** The states of one region of a machine; of a flat machine, its only one. */
export interface Scope {
  /** The node whose states they are. Of a region that has none, the node itself is the only state. */
  readonly container: Node;
  readonly states: readonly Node[];
  /** The node whose machine this is: the container, or its parallel parent. */
  readonly owner: Node;
  /** The scope that has the owner as a state; none where the owner is the config's root. */
  readonly above: Scope | undefined;
  /** Whether nothing else writes the context: the machine is flat, and neither is nor has a child. */
  readonly alone: boolean;
}

/** Where a transition leads. */
export type Place =
  /** Into a state of the scope, which is entered anew where it is the one that is left. */
  | { readonly to: Node }
  /** Nowhere: the event is taken, and nothing is left or entered. */
  | "stays"
  /** Out of the machine, into a state of a machine above. */
  | { readonly out: Node };

/** A transition of a state that could be carried over. */
export interface Move {
  readonly candidate: Candidate;
  readonly guard: Guard | undefined;
  readonly place: Place;
  /** Whether the event's params are merged into the context. */
  readonly merges: boolean;
}

/** Whether a state is more than a name: a child machine, timers, or actions on entry. */
export function isBare(node: Node, state: Import): boolean {
  return node.children.length === 0 && node.after.size === 0 && mappedEntries(node, state).length === 0;
}

/** The actions on entry that the table maps to one of the definition's. */
export function mappedEntries(node: Node, { actions }: Import): Action[] {
  return listOf(node.config["entry"]).flatMap((entry) => {
    const name = nameOf(entry);
    const mapped = name !== undefined && Object.hasOwn(actions, name) ? actions[name] : undefined;
    return mapped === undefined || mapped === "merge" ? [] : [mapped];
  });
}

/** An action's name, where it has one. */
export function nameOf(action: unknown): string | undefined {
  if (typeof action === "string") return action;
  if (typeof action === "object" && action !== null && "type" in action) {
    return typeof action.type === "string" ? action.type : undefined;
  }
  return undefined;
}

/** Notes the actions of a transition that cannot be carried over. True where one merges the params. */
function actionsOf(candidate: Candidate, { actions, notes }: Import): boolean {
  let merges = false;
  for (const action of candidate.actions) {
    const name = nameOf(action);
    const mapped = name !== undefined && Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (mapped === "merge") merges = true;
    else {
      const why =
        mapped === undefined
          ? 'a transition does nothing but merge the event\'s params into the context; if that is what this does, map it to "merge"'
          : "an action belongs to a state that is entered, not to a transition";
      notes.add(candidate.path, `action ${shown(action)}`, why);
    }
  }
  return merges;
}

/** The state of the scope that a node is, or is below of. */
export function ancestorIn(scope: Scope, node: Node): Node | undefined {
  return scope.states.find((state) => state === node || isBelow(node, state));
}

/** Whether entering `state` ends up in `node`, and in nothing else of its own choosing. */
function startsAt(state: Node, node: Node, nodes: Nodes): boolean {
  for (let at: Node | undefined = state; at !== undefined;) {
    if (at === node) return true;
    at = at.kind === "compound" ? nodes.initial(at) : undefined;
  }
  return false;
}

/**
 * Whether a node can be entered from a machine below by ending that machine, and those between: each of them has to be
 * flat, since a parallel one ends by the states of all its regions.
 */
function leadsOut(scope: Scope, node: Node, nodes: Nodes): boolean {
  if (scope.above === undefined || scope.container !== scope.owner) return false;
  const entered = ancestorIn(scope.above, node);
  return entered === undefined ? leadsOut(scope.above, node, nodes) : startsAt(entered, node, nodes);
}

/** Where a candidate leads that is taken in `state`. Undefined, and a note, where that cannot be said. */
function placeOf(
  candidate: Candidate,
  state: Node,
  scope: Scope,
  { nodes, notes }: Import,
): Place | undefined {
  const { source, targets, path, reenter } = candidate;
  const refuse = (why: string): undefined => {
    notes.add(path, `transition to ${targets.map((target) => `\`${target}\``).join(", ")}`, why);
    return undefined;
  };
  const [target, ...others] = targets;
  if (target === undefined) return "stays";
  if (others.length > 0) return refuse("a transition has one target");
  const node = nodes.target(source, target);
  if (node === undefined) return refuse("there is no such state");
  if (node.kind === "history") {
    return refuse('there are no history states; `"reentry": "resume"` has a child go on where it was');
  }
  const isOfRegion = scope.container !== scope.owner && state !== scope.container;
  if (
    (source === scope.owner && scope.container !== scope.owner) ||
    (reenter && isOfRegion && source === scope.container)
  ) {
    return refuse("it would enter all regions of the parallel state anew; a transition moves one region");
  }
  const entered = ancestorIn(scope, node);
  if (entered === undefined) {
    return leadsOut(scope, node, nodes)
      ? { out: node }
      : refuse("a transition moves one region, and cannot enter a state within another or leave the machine");
  }
  if (!startsAt(entered, node, nodes)) {
    return refuse("a child machine starts in its initial state; another one cannot be entered from outside");
  }
  if (entered !== state || source !== state || reenter) return { to: entered };
  // What stays within the state that declares it leaves its timers running and calls for no actions.
  if (node === state && state.children.length === 0) return "stays";
  if (state.after.size === 0 && listOf(state.config["entry"]).length === 0) return { to: entered };
  return refuse(
    "it starts the nested states anew and not the state itself, whose timers run on; a transition enters its state anew",
  );
}

/** What a list of candidates becomes in a state, up to the first that always takes the event. */
export function movesOf(candidates: readonly Candidate[], state: Node, scope: Scope, given: Import): Move[] {
  const moves: Move[] = [];
  for (const candidate of candidates) {
    const merges = actionsOf(candidate, given);
    const guard = carryGuard(candidate.guard, given.guards, candidate.path, given.notes);
    const place = placeOf(candidate, state, scope, given);
    if (guard === undefined || place === undefined) continue;
    moves.push({ candidate, guard: guard.guard, place, merges });
    if (guard.guard === undefined) break;
  }
  return moves;
}

/** How many ways on from a state are followed. */
const MOST_RESTS = 256;

/** A way on from a state: by which guard, and where it comes to rest. */
export interface Rest {
  readonly guard: Guard | undefined;
  readonly place: Exclude<Place, "stays">;
}

/**
 * Where entering a state comes to rest: by each of its eventless transitions, and theirs in turn, and last in the state
 * itself, unless one of them always takes it on. XState judges all of them by the event that led there and by the
 * context with its params, which is what a guard of the first transition sees.
 */
export function restsOf(place: Rest["place"], scope: Scope, given: Import): readonly Rest[] {
  if ("out" in place) return [{ guard: undefined, place }];
  const known = given.rests.get(scope) ?? new Map<Node, readonly Rest[]>();
  given.rests.set(scope, known);
  const before = known.get(place.to);
  if (before !== undefined) return before;
  // Until it is known: so it is found by what leads back to it.
  known.set(place.to, []);
  const rests = followed(place.to, scope, given);
  known.set(place.to, rests);
  return rests;
}

function followed(state: Node, scope: Scope, given: Import): readonly Rest[] {
  const place = { to: state };
  const rests: Rest[] = [];
  for (const move of movesOf(state.always, state, scope, given)) {
    const { path } = move.candidate;
    if (move.guard !== undefined && !scope.alone) {
      const why =
        "its guard may begin to pass by what another region or a child does, which has nothing look at it here; " +
        "make it a join, or an event of its own";
      given.notes.add(path, "`always` with a guard", why);
      continue;
    }
    if (move.place === "stays") {
      if (move.candidate.targets.length > 0 || move.candidate.actions.length === 0) {
        given.notes.add(path, "`always`", "it leads nowhere");
      }
      continue;
    }
    const further = restsOf(move.place, scope, given);
    if (further.length === 0) given.notes.add(path, "`always`", "it leads back to itself for ever");
    for (const rest of further) rests.push({ guard: both(move.guard, rest.guard), place: rest.place });
    if (rests.length > MOST_RESTS) {
      given.notes.add(path, "`always`", `it leads on in more than ${MOST_RESTS} ways`);
      return [{ guard: undefined, place }];
    }
    if (move.guard === undefined && further.length > 0) return rests;
  }
  return [...rests, { guard: undefined, place }];
}

/** Whether a state is left as soon as it is entered, whatever the event. */
export function isTransient(state: Node, scope: Scope, given: Import): boolean {
  return !restsOf({ to: state }, scope, given).some(({ place }) => "to" in place && place.to === state);
}
