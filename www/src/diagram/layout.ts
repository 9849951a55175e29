// From a graph to places: what the layout engine is asked, and what is made of its answer. Regions stand side by side over the bars
// of their joins; inside of each the states go from top to bottom.

import type { ElkExtendedEdge, ElkNode, ElkPoint, ElkPort } from "elkjs/lib/elk-api";

import type { EdgeNode, Graph, JoinNode, LineNode, MachineNode, RegionNode, StateNode } from "./graph.ts";

/** How wide texts are. */
export interface Measure {
  (text: string, font: Font): number;
}

/** What is written: names of states, what stands at edges, and headings of boxes. */
export type Font = "state" | "line" | "heading";

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
  readonly initialWays: readonly { readonly key: string; readonly depth: number; readonly way: readonly Point[] }[];
  readonly joins: readonly Placed<JoinNode>[];
  readonly edges: readonly PlacedEdge[];
  readonly wires: readonly PlacedWire[];
}

/** The most characters of a name that are drawn, and of a line at an edge. */
export const NAME_LENGTH = 40;
const LINE_LENGTH = 48;
/** The most lines at an edge; the rest is counted. */
const MOST_LINES = 6;

export const LINE_HEIGHT = 17;
export const STATE_HEIGHT = 38;
/** Of an open compound state: its name, and under it its child's machine. */
export const COMPOUND_HEAD = 54;
/** Of a region: its name. */
export const REGION_HEAD = 30;
const ICON = 16;
const BAR_HEIGHT = 6;

/** A text cut to a length, with an ellipsis where it is longer. */
export function cut(text: string, length: number): string {
  // Not one code unit too many of a pair.
  const characters = [...text.slice(0, (length + 1) * 2)];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

/** What is written of a transition. */
export function lineText({ kind, text, guard }: LineNode): string {
  const what = kind === "completion" ? `when ${text}` : text;
  return guard === undefined ? what : `${what} [${guard}]`;
}

/** The lines that are written at an edge, cut. */
export function shownLines({ lines }: EdgeNode): readonly { readonly line: LineNode | undefined; readonly text: string }[] {
  const shown = lines.length > MOST_LINES ? lines.slice(0, MOST_LINES - 1) : lines;
  const written: { line: LineNode | undefined; text: string }[] = shown.map((line) => ({ line, text: cut(lineText(line), LINE_LENGTH) }));
  if (shown.length < lines.length) written.push({ line: undefined, text: `and ${lines.length - shown.length} more` });
  return written;
}

/** Whether a line has an icon before its text. */
export function hasIcon(line: LineNode | undefined): boolean {
  return line !== undefined && (line.kind !== "event" || line.broadcast);
}

/** The room that a line's icon takes. */
export const LINE_ICON = 15;

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.spacing.nodeNode": "36",
  "elk.spacing.edgeNode": "18",
  "elk.spacing.edgeEdge": "12",
  "elk.spacing.edgeLabel": "4",
  "elk.spacing.nodeSelfLoop": "12",
  "elk.layered.spacing.nodeNodeBetweenLayers": "34",
  "elk.layered.spacing.edgeNodeBetweenLayers": "16",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "10",
  "elk.layered.considerModelOrder.strategy": "PREFER_EDGES",
  "elk.layered.cycleBreaking.strategy": "DEPTH_FIRST",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.feedbackEdges": "false",
  "elk.separateConnectedComponents": "true",
} as const;

/** Of what has regions: they keep their order, side by side, and the joins' bars stand below. */
const SIDE_BY_SIDE = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.spacing.nodeNode": "28",
  "elk.spacing.edgeEdge": "12",
  "elk.layered.spacing.nodeNodeBetweenLayers": "24",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "12",
  "elk.layered.spacing.edgeNodeBetweenLayers": "16",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.crossingMinimization.forceNodeModelOrder": "true",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.contentAlignment": "V_TOP",
  "elk.separateConnectedComponents": "false",
} as const;

/** What the layout engine is asked. */
export function questionOf(graph: Graph, measure: Measure): ElkNode {
  return { id: "root", ...machineContent(graph.root, measure, 0) };
}

function padding(top: number, rest: number): string {
  return `[top=${top},left=${rest},bottom=${rest},right=${rest}]`;
}

function machineContent(machine: MachineNode, measure: Measure, head: number): Omit<ElkNode, "id"> {
  const around = head > 0 ? 14 : 20;
  if (!machine.parallel) {
    const [region] = machine.regions;
    if (region === undefined) return { children: [] };
    return regionContent(region, [], measure, head > 0 ? head : around, around);
  }
  const regions = machine.regions.map((region): ElkNode => {
    const content = regionContent(region, machine.joins, measure, REGION_HEAD + 10, 16);
    const wide = measure(cut(region.id, NAME_LENGTH), "heading") + 32;
    const states = new Set(region.states);
    return {
      id: region.key,
      ...content,
      ports: machine.joins.flatMap((join) => joinPorts(join, states)),
      layoutOptions: {
        ...content.layoutOptions,
        "elk.portConstraints": "FIXED_SIDE",
        "elk.nodeSize.constraints": "MINIMUM_SIZE",
        "elk.nodeSize.minimum": `(${Math.ceil(wide)},60)`,
      },
    };
  });
  return {
    layoutOptions: { ...SIDE_BY_SIDE, "elk.padding": padding(head > 0 ? head : around, around) },
    children: [
      ...regions,
      ...machine.joins.map((join): ElkNode => ({ id: join.key, width: 36 + 16 * join.when.length, height: BAR_HEIGHT })),
    ],
    edges: machine.joins.flatMap((join): ElkExtendedEdge[] => [
      ...join.when.map((_, index) => ({ id: `${join.key}w${index}`, sources: [`${join.key}p${index}`], targets: [join.key] })),
      // Drawn the other way: so that the bar stands below all regions.
      { id: `${join.key}o`, sources: [`${join.key}q`], targets: [join.key] },
    ]),
  };
}

function joinPorts(join: JoinNode, states: ReadonlySet<StateNode>): readonly ElkPort[] {
  const south = { width: 0, height: 0, layoutOptions: { "elk.port.side": "SOUTH" } };
  const ports = join.when.flatMap((state, index): ElkPort[] => (states.has(state) ? [{ id: `${join.key}p${index}`, ...south }] : []));
  return states.has(join.target) ? [...ports, { id: `${join.key}q`, ...south }] : ports;
}

function regionContent(
  region: RegionNode,
  joins: readonly JoinNode[],
  measure: Measure,
  top: number,
  rest: number,
): Omit<ElkNode, "id"> {
  const states = new Set(region.states);
  const edges = region.edges.map((edge) => edgeQuestion(edge, measure));
  for (const join of joins) {
    for (const [index, state] of join.when.entries()) {
      if (states.has(state)) edges.push({ id: `${join.key}i${index}`, sources: [state.key], targets: [`${join.key}p${index}`] });
    }
    if (states.has(join.target)) edges.push({ id: `${join.key}t`, sources: [join.target.key], targets: [`${join.key}q`] });
  }
  const initial = region.states.find((state) => state.initial);
  const children = region.states.map((state) => stateQuestion(state, measure));
  if (initial !== undefined) {
    children.unshift({ id: `${initial.key}i`, width: 12, height: 12 });
    edges.unshift({ id: `${initial.key}ie`, sources: [`${initial.key}i`], targets: [initial.key] });
  }
  return { layoutOptions: { ...OPTIONS, "elk.padding": padding(top, rest) }, children, edges };
}

function stateQuestion(state: StateNode, measure: Measure): ElkNode {
  const { key, name, child, actions } = state;
  const wide = Math.max(72, measure(cut(name, NAME_LENGTH), "state") + 28 + (actions.length > 0 ? ICON : 0));
  if (child === undefined) return { id: key, width: Math.ceil(wide), height: STATE_HEIGHT };
  const machine = measure(cut(child.machine_id, NAME_LENGTH), "heading") + 28 + ICON;
  const width = Math.ceil(Math.max(wide + 28, machine));
  if (child.inside === undefined) return { id: key, width, height: COMPOUND_HEAD };
  const content = machineContent(child.inside, measure, COMPOUND_HEAD + 10);
  return {
    id: key,
    ...content,
    layoutOptions: {
      ...content.layoutOptions,
      "elk.nodeSize.constraints": "MINIMUM_SIZE",
      "elk.nodeSize.minimum": `(${width},${COMPOUND_HEAD})`,
    },
  };
}

function edgeQuestion(edge: EdgeNode, measure: Measure): ElkExtendedEdge {
  const lines = shownLines(edge);
  const width = Math.max(...lines.map(({ line, text }) => measure(text, "line") + (hasIcon(line) ? LINE_ICON : 0))) + 10;
  const label = { text: "", width: Math.ceil(width), height: lines.length * LINE_HEIGHT + 2 };
  return {
    id: edge.key,
    sources: [edge.from.key],
    targets: [edge.to.key],
    labels: [{ ...label, layoutOptions: { "elk.edgeLabels.inline": edge.from === edge.to ? "false" : "true" } }],
  };
}

/** The places that the layout engine found. */
export function layoutOf(graph: Graph, answer: ElkNode): Layout {
  return new Placing(graph, answer).layout();
}

class Placing {
  readonly #graph: Graph;
  readonly #answer: ElkNode;
  readonly #rects = new Map<string, Rect>();
  readonly #ways = new Map<string, readonly Point[]>();
  readonly #texts = new Map<string, Rect>();

  constructor(graph: Graph, answer: ElkNode) {
    this.#graph = graph;
    this.#answer = answer;
    this.#collect(answer, 0, 0);
  }

  #collect(node: ElkNode, left: number, top: number): void {
    for (const { id, sections, labels } of node.edges ?? []) {
      const points = (sections ?? []).flatMap(({ startPoint, bendPoints, endPoint }) => [startPoint, ...(bendPoints ?? []), endPoint]);
      this.#ways.set(id, points.map(({ x, y }: ElkPoint) => ({ x: x + left, y: y + top })));
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
          const way = this.#ways.get(edge.key);
          if (way !== undefined) edges.push({ of: edge, depth, way, text: this.#texts.get(edge.key) });
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

  #wires(join: JoinNode, depth: number): readonly PlacedWire[] {
    const joined = (first: string, second: string) => [...(this.#ways.get(first) ?? []), ...(this.#ways.get(second) ?? [])];
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
