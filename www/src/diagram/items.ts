// What is drawn of a layout, in the order in which it is drawn.

import type { JoinNode, RegionNode, StateNode } from "./graph.ts";
import type { Layout, Placed, PlacedEdge, PlacedWire, Point } from "./layout.ts";

/** A shape of the drawing, in the order in which they are drawn. */
export type Item =
  | { readonly kind: "region"; readonly key: string; readonly placed: Placed<RegionNode> }
  | {
      readonly kind: "initial";
      readonly key: string;
      readonly depth: number;
      readonly dot: Placed<StateNode> | undefined;
      readonly way: readonly Point[];
    }
  | { readonly kind: "state"; readonly key: string; readonly placed: Placed<StateNode> }
  | { readonly kind: "edge"; readonly key: string; readonly placed: PlacedEdge }
  | { readonly kind: "wire"; readonly key: string; readonly placed: PlacedWire }
  | { readonly kind: "join"; readonly key: string; readonly placed: Placed<JoinNode> };

/** What is drawn of a layout: what is inside of a state after that state. */
export function itemsOf(layout: Layout): readonly Item[] {
  const dots = new Map(layout.initials.map((dot) => [dot.of.key, dot]));
  const items: { depth: number; item: Item }[] = [
    // Behind all else: they cross what they must.
    ...layout.edges.filter(({ aside }) => aside).map(edgeItem),
    ...layout.regions.map((placed) => ({
      depth: placed.depth,
      item: { kind: "region" as const, key: placed.of.key, placed },
    })),
    ...layout.initialWays.map(({ key, depth, way }) => ({
      depth,
      item: { kind: "initial" as const, key: `${key}i`, depth, dot: dots.get(key), way },
    })),
    ...[...layout.states.values()].map((placed) => ({
      depth: placed.depth,
      item: { kind: "state" as const, key: placed.of.key, placed },
    })),
    ...layout.edges.filter(({ aside }) => !aside).map(edgeItem),
    ...layout.wires.map((placed) => ({
      depth: placed.depth,
      item: { kind: "wire" as const, key: placed.key, placed },
    })),
    ...layout.joins.map((placed) => ({
      depth: placed.depth,
      item: { kind: "join" as const, key: placed.of.key, placed },
    })),
  ];
  return items.sort((one, other) => one.depth - other.depth).map(({ item }) => item);
}

function edgeItem(placed: PlacedEdge): { depth: number; item: Item } {
  return { depth: placed.depth, item: { kind: "edge", key: placed.of.key, placed } };
}
