// From the layout engine's answer to places.

import type { ElkNode, ElkPoint } from "elkjs/lib/elk-api";

import type { EdgeNode, Graph, JoinNode, MachineNode, RegionNode, StateNode } from "./graph.ts";
import { type Measure, textSize } from "./sizes.ts";
import { curveBetween } from "./way.ts";

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Something with a place. `depth` says over what it is drawn. */
export interface Placed<T> {
  readonly of: T;
  readonly depth: number;
  readonly rect: Rect;
}

/** An edge with its way and the place of its text. */
export interface PlacedEdge {
  readonly of: EdgeNode;
  readonly depth: number;
  readonly way: readonly Point[];
  readonly text: Rect | undefined;
  /** A plain curve beside what is laid out, whose text shows where it matters: start, control point and end. */
  readonly aside: boolean;
}

/** One of the ways into a join's bar, or the one out of it. */
export interface PlacedWire {
  readonly key: string;
  readonly join: JoinNode;
  readonly depth: number;
  readonly way: readonly Point[];
  readonly out: boolean;
}

/** Where everything is. */
export interface Layout {
  readonly graph: Graph;
  readonly width: number;
  readonly height: number;
  readonly regions: readonly Placed<RegionNode>[];
  readonly states: ReadonlyMap<string, Placed<StateNode>>;
  readonly initials: readonly Placed<StateNode>[];
  readonly initialWays: readonly {
    readonly key: string;
    readonly depth: number;
    readonly way: readonly Point[];
  }[];
  readonly joins: readonly Placed<JoinNode>[];
  readonly edges: readonly PlacedEdge[];
  readonly wires: readonly PlacedWire[];
}

/** The places that the layout engine found. */
export function layoutOf(graph: Graph, answer: ElkNode, measure: Measure): Layout {
  return new Placing(graph, answer, measure).layout();
}

class Placing {
  readonly #graph: Graph;
  readonly #answer: ElkNode;
  readonly #measure: Measure;
  readonly #whole: Rect;
  readonly #rects = new Map<string, Rect>();
  readonly #ways = new Map<string, readonly Point[]>();
  readonly #texts = new Map<string, Rect>();

  constructor(graph: Graph, answer: ElkNode, measure: Measure) {
    this.#graph = graph;
    this.#answer = answer;
    this.#measure = measure;
    this.#whole = { x: 0, y: 0, width: answer.width ?? 0, height: answer.height ?? 0 };
    this.#collect(answer, 0, 0);
  }

  #collect(node: ElkNode, left: number, top: number): void {
    for (const { id, sections, labels } of node.edges ?? []) {
      const points = (sections ?? []).flatMap(({ startPoint, bendPoints, endPoint }) => [
        startPoint,
        ...(bendPoints ?? []),
        endPoint,
      ]);
      this.#ways.set(
        id,
        points.map(({ x, y }: ElkPoint) => ({ x: x + left, y: y + top })),
      );
      const [label] = labels ?? [];
      if (label !== undefined) {
        const { x = 0, y = 0, width = 0, height = 0 } = label;
        this.#texts.set(id, { x: x + left, y: y + top, width, height });
      }
    }
    for (const child of node.children ?? []) {
      const { id, x = 0, y = 0, width = 0, height = 0 } = child;
      this.#rects.set(id, { x: x + left, y: y + top, width, height });
      this.#collect(child, left + x, top + y);
    }
  }

  layout(): Layout {
    const regions: Placed<RegionNode>[] = [];
    const states = new Map<string, Placed<StateNode>>();
    const initials: Placed<StateNode>[] = [];
    const initialWays: { key: string; depth: number; way: readonly Point[] }[] = [];
    const joins: Placed<JoinNode>[] = [];
    const edges: PlacedEdge[] = [];
    const wires: PlacedWire[] = [];
    const machine = ({ depth, parallel, regions: inside, joins: bars }: MachineNode) => {
      for (const region of inside) {
        const rect = this.#rects.get(region.key);
        if (parallel && rect !== undefined) regions.push({ of: region, depth, rect });
        for (const state of region.states) {
          this.#place(states, state.key, state, depth);
          const dot = this.#rects.get(`${state.key}i`);
          if (dot !== undefined) initials.push({ of: state, depth, rect: dot });
          const way = this.#ways.get(`${state.key}ie`);
          if (way !== undefined) initialWays.push({ key: state.key, depth, way });
          if (state.child?.inside !== undefined) machine(state.child.inside);
        }
        for (const edge of region.edges) {
          const placed = this.#edge(edge, depth);
          if (placed !== undefined) edges.push(placed);
        }
      }
      for (const join of bars) {
        const rect = this.#rects.get(join.key);
        if (rect !== undefined) joins.push({ of: join, depth, rect });
        wires.push(...this.#wires(join, depth));
      }
    };
    machine(this.#graph.root);
    const { width = 0, height = 0 } = this.#answer;
    return { graph: this.#graph, width, height, regions, states, initials, initialWays, joins, edges, wires };
  }

  #place(into: Map<string, Placed<StateNode>>, key: string, of: StateNode, depth: number): void {
    const rect = this.#rects.get(key);
    if (rect !== undefined) into.set(key, { of, depth, rect });
  }

  #edge(edge: EdgeNode, depth: number): PlacedEdge | undefined {
    const laid = this.#ways.get(edge.key);
    const [from, to] = [this.#rects.get(edge.from.key), this.#rects.get(edge.to.key)];
    if (from === undefined || to === undefined) return undefined;
    if (laid !== undefined && this.#leads(laid, from, to)) {
      return { of: edge, depth, way: laid, text: this.#texts.get(edge.key), aside: false };
    }
    const way = curveBetween(from, to);
    const [start, bend, end] = way;
    const { width, height } = textSize(edge, this.#measure);
    const x = (start.x + 2 * bend.x + end.x) / 4 - width / 2;
    const y = (start.y + 2 * bend.y + end.y) / 4 - height / 2;
    return { of: edge, depth, way, text: { x, y, width, height }, aside: true };
  }

  /** Whether a way leads from box to box: where it wraps a large machine, the engine loses some. */
  #leads(way: readonly Point[], from: Rect, to: Rect): boolean {
    const [first, last] = [way[0], way.at(-1)];
    if (first === undefined || last === undefined) return false;
    return touches(from, first) && touches(to, last) && way.every((point) => touches(this.#whole, point));
  }

  #wires(join: JoinNode, depth: number): readonly PlacedWire[] {
    const joined = (first: string, second: string) => [
      ...(this.#ways.get(first) ?? []),
      ...(this.#ways.get(second) ?? []),
    ];
    return [
      ...join.when.map((_, index) => ({
        key: `${join.key}w${index}`,
        join,
        depth,
        way: joined(`${join.key}i${index}`, `${join.key}w${index}`),
        out: false,
      })),
      { key: `${join.key}o`, join, depth, way: joined(`${join.key}t`, `${join.key}o`).reverse(), out: true },
    ];
  }
}

function touches({ x, y, width, height }: Rect, point: Point): boolean {
  const near = 3;
  return (
    point.x >= x - near && point.x <= x + width + near && point.y >= y - near && point.y <= y + height + near
  );
}
