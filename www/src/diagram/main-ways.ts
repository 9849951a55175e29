// Of a machine with very many transitions, the layout engine is given those that make its shape: what first leads to each state, and
// what leads to its neighbours. The rest is drawn over the shape as plain curves. So the largest machines are laid out as fast as
// others, and what is drawn of them can be followed.

import type { EdgeNode, Graph, MachineNode, RegionNode, StateNode } from "./graph.ts";

/** As many edges, over all that is shown, are laid out with their texts. */
const ALL = 130;

/** The edges of a graph that are not laid out. */
export function asideOf(graph: Graph): ReadonlySet<EdgeNode> {
  const regions = [...regionsOf(graph.root)];
  const total = regions.reduce((sum, { edges }) => sum + edges.length, 0);
  const aside = new Set<EdgeNode>();
  if (total <= ALL) return aside;
  for (const region of regions) {
    const main = mainOf(region, Math.floor((ALL * region.edges.length) / total));
    for (const edge of region.edges) if (!main.has(edge)) aside.add(edge);
  }
  return aside;
}

function* regionsOf(machine: MachineNode): Iterable<RegionNode> {
  for (const region of machine.regions) {
    yield region;
    for (const { child } of region.states) if (child?.inside !== undefined) yield* regionsOf(child.inside);
  }
}

/** One way to each state, and short ways on besides, as far as they are allowed. */
function mainOf({ states, edges }: RegionNode, allowed: number): ReadonlySet<EdgeNode> {
  const leaving = new Map<StateNode, EdgeNode[]>();
  for (const edge of edges) {
    const of = leaving.get(edge.from) ?? [];
    leaving.set(edge.from, of);
    of.push(edge);
  }
  const main = new Set<EdgeNode>();
  const depths = new Map<StateNode, number>();
  const first = [...states].sort((one, other) => Number(other.initial) - Number(one.initial));
  for (const root of first) {
    if (depths.has(root)) continue;
    depths.set(root, 0);
    const path: { depth: number; rest: EdgeNode[] }[] = [{ depth: 0, rest: [...(leaving.get(root) ?? [])] }];
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      const edge = step.rest.shift();
      if (edge === undefined) path.pop();
      else if (!depths.has(edge.to)) {
        depths.set(edge.to, step.depth + 1);
        main.add(edge);
        path.push({ depth: step.depth + 1, rest: [...(leaving.get(edge.to) ?? [])] });
      }
    }
  }
  let room = Math.max(allowed - main.size, Math.floor(states.length / 8));
  for (const edge of edges) {
    if (edge.from === edge.to) {
      main.add(edge);
      continue;
    }
    const on = (depths.get(edge.to) ?? 0) - (depths.get(edge.from) ?? 0);
    if (on < 1 || on > 2 || room === 0 || main.has(edge)) continue;
    main.add(edge);
    room -= 1;
  }
  return main;
}
