// What is marked in a drawing: current states, also of children; the path just taken; and counts. None of it moves anything.

import type { EdgeNode, Graph, JoinNode, MachineNode, StateNode } from "./graph.ts";
import type { Count, Taken, Tree } from "./tree.ts";

/** How a state is lit. */
export type Light = "current" | "ended";

/** Marks by the keys of what is drawn. */
export interface Marks {
  readonly lights: ReadonlyMap<string, Light>;
  readonly counts: ReadonlyMap<string, number>;
  readonly takenEdges: ReadonlySet<string>;
  readonly takenLines: ReadonlySet<string>;
  readonly takenJoins: ReadonlySet<string>;
  /** How an ended child ended, by the key of its machine. */
  readonly ended: ReadonlyMap<string, string>;
  /** What was taken, a sentence each. */
  readonly taken: readonly string[];
}

/** The marks of a graph. */
export function marksOf(
  graph: Graph,
  {
    tree,
    taken = [],
    counts = [],
  }: { tree: Tree | undefined; taken: readonly Taken[] | undefined; counts: readonly Count[] | undefined },
): Marks {
  const marking = new Marking();
  if (tree?.machine_id === graph.root.machine_id) marking.light(graph.root, tree, undefined);
  else marking.entities.set(entityKey(graph.root.machine_id, undefined), graph.root);
  marking.count(graph.root, counts);
  for (const row of taken) {
    marking.taken.push(takenText(row, graph.root.machine_id));
    marking.take(row);
  }
  return marking;
}

/** What a move was, in a sentence; of another machine than the diagram's own, with its name. */
function takenText(row: Taken, own: string): string {
  const { machine_id: machine, region, from_state: from, to_state: to, event_type: type } = row;
  const place = [machine === own ? "" : machine, region === "_" ? "" : region].filter((part) => part !== "");
  const where = place.length === 0 ? "" : ` in ${place.join(" ")}`;
  if (type === "$sub_cancel") return `The child was cancelled${where}`;
  if (type === "$sub_resume") return `Resumed${where}: ${to}`;
  const what =
    type === "$join"
      ? "A join"
      : type === "$timeout"
        ? "A timeout"
        : type === "$sub_complete"
          ? "The child's end"
          : type;
  return from === to ? `${what}${where}: ${to} again` : `${what}${where}: ${from} to ${to}`;
}

/** The states of an entity, region by region. */
function* currentOf({ current_state: current }: Tree): Iterable<readonly [string, string]> {
  if (typeof current === "string") yield ["_", current];
  else yield* Object.entries(current);
}

/** Of a tree of no entity, the machine alone. */
function entityKey(machine: string, entity: string | undefined): string {
  return JSON.stringify([machine, entity]);
}

class Marking implements Marks {
  readonly lights = new Map<string, Light>();
  readonly counts = new Map<string, number>();
  readonly takenEdges = new Set<string>();
  readonly takenLines = new Set<string>();
  readonly takenJoins = new Set<string>();
  readonly ended = new Map<string, string>();
  readonly taken: string[] = [];
  readonly entities = new Map<string, MachineNode>();

  light(machine: MachineNode, entity: Tree, ended: string | undefined): void {
    this.entities.set(entityKey(machine.machine_id, entity.entity_id), machine);
    if (ended !== undefined) this.ended.set(machine.key, ended);
    const current = new Map(currentOf(entity));
    const entries = new Map(Object.entries(entity.region_entries));
    for (const region of machine.regions) {
      const here = current.get(region.id);
      for (const state of region.states) {
        if (state.name === here) this.lights.set(state.key, ended === undefined ? "current" : "ended");
        const inside = state.child?.inside;
        if (inside === undefined) continue;
        const entered = state.name === here ? entries.get(region.id)?.seq : undefined;
        const child = childOf(entity, state, entered);
        if (child !== undefined && child.machine_id === inside.machine_id) {
          this.light(inside, child, ended ?? endOf(child));
        }
      }
    }
  }

  count(machine: MachineNode, counts: readonly Count[]): void {
    for (const { region, state, entities } of counts) {
      const found = stateOf(machine, region, state);
      if (found !== undefined) this.counts.set(found.key, (this.counts.get(found.key) ?? 0) + entities);
    }
  }

  take(row: Taken): void {
    const machine =
      this.entities.get(entityKey(row.machine_id, row.entity_id)) ??
      this.entities.get(entityKey(row.machine_id, undefined));
    const region = machine?.regions.find(({ id }) => id === row.region);
    if (machine === undefined || region === undefined) return;
    if (row.event_type === "$join") {
      for (const join of machine.joins) {
        if (firedBy(join, row)) this.takenJoins.add(join.key);
      }
      return;
    }
    const edge = region.edges.find(
      ({ from, to }) => from.name === row.from_state && to.name === row.to_state,
    );
    if (edge !== undefined) this.#takeEdge(edge, row.event_type);
  }

  #takeEdge(edge: EdgeNode, event: string): void {
    const lines = edge.lines.filter((line) => line.event === event);
    if (lines.length === 0) return;
    this.takenEdges.add(edge.key);
    // Of several with the same event, history does not say which one it was.
    const [only, other] = lines;
    if (only !== undefined && other === undefined) this.takenLines.add(only.key);
  }
}

function stateOf(machine: MachineNode, region: string, name: string): StateNode | undefined {
  return machine.regions.find(({ id }) => id === region)?.states.find((state) => state.name === name);
}

function firedBy({ target, when }: JoinNode, row: Taken): boolean {
  if (target.region !== row.region || target.name !== row.to_state) return false;
  const from = when.find((state) => state.region === row.region);
  return from === undefined || from.name === row.from_state;
}

/** The child of this visit; or of the last one, where the entity is elsewhere. */
function childOf(entity: Tree, state: StateNode, entered: number | undefined): Tree | undefined {
  let last: Tree | undefined;
  for (const child of entity.children ?? []) {
    const { parent } = child;
    if (parent === undefined || parent.region !== state.region || parent.state !== state.name) continue;
    if (parent.seq === entered) return child;
    if (last?.parent === undefined || parent.seq >= last.parent.seq) last = child;
  }
  // A managed child of an earlier visit is none of this one.
  return entered === undefined || last?.instance === undefined ? last : undefined;
}

function endOf({ instance, legacy }: Tree): string | undefined {
  const place = instance ?? legacy;
  return place === undefined || place.ended === undefined ? undefined : place.status;
}
