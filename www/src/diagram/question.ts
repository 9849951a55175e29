// What the layout engine is asked: regions stand side by side over the bars of their joins; inside of each the states go from top to
// bottom, and the machines of children stand inside of their states.

import type { ElkExtendedEdge, ElkNode, ElkPort, LayoutOptions } from "elkjs/lib/elk-api";

import type { EdgeNode, Graph, JoinNode, MachineNode, RegionNode, StateNode } from "./graph.ts";
import { asideOf } from "./main-ways.ts";
import {
  COMPOUND_HEAD,
  cut,
  type Measure,
  NAME_LENGTH,
  REGION_HEAD,
  STATE_HEIGHT,
  textSize,
} from "./sizes.ts";

/** Of states in a region. */
const STATES: LayoutOptions = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.spacing.nodeNode": "36",
  "elk.spacing.edgeNode": "18",
  "elk.spacing.edgeEdge": "12",
  "elk.spacing.edgeLabel": "4",
  "elk.spacing.nodeSelfLoop": "14",
  "elk.spacing.labelLabel": "4",
  "elk.layered.spacing.nodeNodeBetweenLayers": "26",
  "elk.layered.spacing.edgeNodeBetweenLayers": "14",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "10",
  "elk.layered.considerModelOrder.strategy": "PREFER_EDGES",
  "elk.layered.cycleBreaking.strategy": "DEPTH_FIRST",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
};

/** Where there are too many transitions to lay out all of them: fast, and no tower but columns side by side. */
const LARGE: LayoutOptions = {
  "elk.layered.considerModelOrder.strategy": "NONE",
  "elk.layered.thoroughness": "2",
  "elk.layered.wrapping.strategy": "MULTI_EDGE",
  "elk.aspectRatio": "1.4",
};

/** Of regions, which keep their order, and the bars of joins. */
const SIDE_BY_SIDE: LayoutOptions = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.spacing.nodeNode": "24",
  "elk.spacing.edgeEdge": "12",
  "elk.layered.spacing.nodeNodeBetweenLayers": "24",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "12",
  "elk.layered.spacing.edgeNodeBetweenLayers": "16",
  "elk.layered.crossingMinimization.semiInteractive": "true",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.separateConnectedComponents": "false",
};

/** Of many regions that no join connects. */
const IN_ROWS: LayoutOptions = {
  "elk.algorithm": "rectpacking",
  "elk.aspectRatio": "1.6",
  "elk.spacing.nodeNode": "24",
};
const IN_A_ROW = 5;

const SOUTH = { width: 0, height: 0, layoutOptions: { "elk.port.side": "SOUTH" } };
const BAR_HEIGHT = 6;
const ICON = 16;

/** Where the states of the outermost machine go from its initial one. */
export type Flow = "DOWN" | "RIGHT";

/** What the layout engine is asked of a graph. */
export function questionOf(graph: Graph, measure: Measure, flow: Flow): ElkNode {
  const { layoutOptions, ...content } = new Asking(measure, asideOf(graph)).machine(graph.root);
  return { id: "root", ...content, layoutOptions: { ...layoutOptions, "elk.direction": flow } };
}

/** Whether a graph can go to the right as well: where there are regions, those do already. */
export function flowsFreely({ root, transitions }: Graph): boolean {
  return !root.parallel && transitions > 0 && transitions <= FREELY;
}

/** More take too long to be laid out twice. */
const FREELY = 60;

type Content = Omit<ElkNode, "id">;

/** An edge by itself, without a text. */
function line(id: string, from: string, to: string): ElkExtendedEdge {
  return { id, sources: [from], targets: [to] };
}

function padding(top: number, rest: number): string {
  return `[top=${top},left=${rest},bottom=${rest},right=${rest}]`;
}

/** A box that is as large as what is in it, and no smaller than this. */
function atLeast(width: number, height: number): LayoutOptions {
  return {
    "elk.nodeSize.constraints": "MINIMUM_SIZE",
    "elk.nodeSize.minimum": `(${Math.ceil(width)},${height})`,
  };
}

class Asking {
  readonly #measure: Measure;
  readonly #aside: ReadonlySet<EdgeNode>;

  constructor(measure: Measure, aside: ReadonlySet<EdgeNode>) {
    this.#measure = measure;
    this.#aside = aside;
  }

  /** A machine's content; `head` is the room above it, where it stands in a state. */
  machine({ parallel, regions, joins }: MachineNode, head?: number): Content {
    const rest = head === undefined ? 20 : 14;
    const [only] = regions;
    if (only === undefined) return {};
    if (!parallel) return this.#states(only, [], head ?? rest, rest);
    const options = joins.length === 0 && regions.length > IN_A_ROW ? IN_ROWS : SIDE_BY_SIDE;
    return {
      layoutOptions: { ...options, "elk.padding": padding(head ?? rest, rest) },
      children: [...regions.map((region, index) => this.#region(region, joins, index)), ...joins.map(barOf)],
      edges: joins.flatMap(wiresOf),
    };
  }

  #region(region: RegionNode, joins: readonly JoinNode[], index: number): ElkNode {
    const content = this.#states(region, joins, REGION_HEAD + 10, 16);
    const width = this.#measure(cut(region.id, NAME_LENGTH), "heading") + 32;
    const states = new Set(region.states);
    return {
      id: region.key,
      ...content,
      ports: joins.flatMap((join) => portsOf(join, states)),
      layoutOptions: {
        ...content.layoutOptions,
        ...atLeast(width, 60),
        "elk.portConstraints": "FIXED_SIDE",
        "elk.alignment": "TOP",
        "elk.position": `(${index * 1000},0)`,
      },
    };
  }

  #states(region: RegionNode, joins: readonly JoinNode[], top: number, rest: number): Content {
    const states = new Set(region.states);
    const shown = region.edges.filter((edge) => !this.#aside.has(edge));
    const children = region.states.map((state) => this.#state(state));
    const edges = [
      ...shown.map((edge) => this.#edge(edge)),
      ...joins.flatMap((join) => wiresInside(join, region, states)),
    ];
    const initial = region.states.find((state) => state.initial);
    if (initial !== undefined) {
      children.unshift({ id: `${initial.key}i`, width: 12, height: 12 });
      edges.unshift(line(`${initial.key}ie`, `${initial.key}i`, initial.key));
    }
    const options = shown.length < region.edges.length ? { ...STATES, ...LARGE } : STATES;
    return { layoutOptions: { ...options, "elk.padding": padding(top, rest) }, children, edges };
  }

  #state({ key, name, child, actions }: StateNode): ElkNode {
    const icon = actions.length > 0 ? ICON : 0;
    const wide = Math.max(72, this.#measure(cut(name, NAME_LENGTH), "state") + 36 + icon);
    if (child === undefined) return { id: key, width: Math.ceil(wide), height: STATE_HEIGHT };
    // Beside the machine: how it ended.
    const machine = `${cut(child.machine_id, NAME_LENGTH)}${child.managed ? " (cancelled)" : ""}`;
    const heading = this.#measure(machine, "heading") + 28 + icon;
    // Beside the name: what opens and closes it.
    const width = Math.max(wide + 28, heading);
    if (child.inside === undefined) return { id: key, width: Math.ceil(width), height: COMPOUND_HEAD };
    const content = this.machine(child.inside, COMPOUND_HEAD + 12);
    return {
      id: key,
      ...content,
      layoutOptions: { ...content.layoutOptions, ...atLeast(width, COMPOUND_HEAD) },
    };
  }

  #edge(edge: EdgeNode): ElkExtendedEdge {
    const inline = edge.from === edge.to ? "false" : "true";
    // The engine passes labels without a text over.
    const label = {
      text: "text",
      ...textSize(edge, this.#measure),
      layoutOptions: { "elk.edgeLabels.inline": inline },
    };
    return { ...line(edge.key, edge.from.key, edge.to.key), labels: [label] };
  }
}

function barOf({ key, when }: JoinNode): ElkNode {
  return { id: key, width: 36 + 16 * when.length, height: BAR_HEIGHT };
}

/** The ways between the regions and a bar. The one out of it is asked the other way round: so the bar stands below all regions. */
function wiresOf({ key, when }: JoinNode): readonly ElkExtendedEdge[] {
  return [
    ...when.map((_, index) => line(`${key}w${index}`, `${key}p${index}`, key)),
    line(`${key}o`, `${key}q`, key),
  ];
}

/** Where those ways leave and enter a region. */
function portsOf({ key, when, target }: JoinNode, states: ReadonlySet<StateNode>): readonly ElkPort[] {
  const ports = when.map((state, index) => ({ state, port: { id: `${key}p${index}`, ...SOUTH } }));
  ports.push({ state: target, port: { id: `${key}q`, ...SOUTH } });
  return ports.filter(({ state }) => states.has(state)).map(({ port }) => port);
}

/** Those ways inside of a region. */
function wiresInside(
  { key, when, target }: JoinNode,
  region: RegionNode,
  states: ReadonlySet<StateNode>,
): readonly ElkExtendedEdge[] {
  const here = when.map((state, index) => ({ state, index })).filter(({ state }) => states.has(state));
  const wires = here.map(({ state, index }) => line(`${key}i${index}`, state.key, `${key}p${index}`));
  if (!states.has(target)) return wires;
  wires.push(line(`${key}t`, target.key, `${key}q`));
  // Not drawn: it keeps what a join leads to below what it leads from, or else below what nothing else leads out of.
  const entered = region.edges.some(({ from, to }) => to === target && from !== target);
  const above = here[0]?.state ?? (entered ? undefined : lastOf(region, target));
  if (above !== undefined && above !== target) wires.push(line(`${key}h`, above.key, target.key));
  return wires;
}

function lastOf({ states, edges }: RegionNode, but: StateNode): StateNode | undefined {
  const left = new Set(edges.filter(({ from, to }) => from !== to).map(({ from }) => from));
  return states.find((state) => state !== but && !left.has(state));
}
