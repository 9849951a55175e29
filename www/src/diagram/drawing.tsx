// The drawing: a layout with its marks, as SVG. Every shape is classed, and diagram.css says how it looks.

import { Component, type JSX } from "preact";

import type { JoinNode, LineNode, RegionNode, StateNode } from "./graph.ts";
import type { Layout, Placed, PlacedEdge, PlacedWire, Point } from "./layout.ts";
import type { Light, Marks } from "./marks.ts";
import {
  COMPOUND_HEAD,
  cut,
  hasIcon,
  LINE_HEIGHT,
  LINE_ICON,
  LINE_MARGIN,
  lineText,
  NAME_LENGTH,
  shownLines,
  STATE_HEIGHT,
} from "./sizes.ts";
import { curveOf, headOf, pathOf } from "./way.ts";

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

/** What can be done with a state. */
export interface StateActs {
  readonly choose: ((state: StateNode) => void) | undefined;
  readonly toggle: (state: StateNode) => void;
}

export interface ItemProps {
  readonly item: Item;
  readonly marks: Marks;
  readonly acts: StateActs;
  /** What is said of a state. */
  readonly say: (state: StateNode) => string;
  /** The state that Tab leads to. */
  readonly entry: string | undefined;
  /** The state that is pointed at or has the focus: what leads to and from it stands out. */
  readonly near: string | undefined;
}

/** One shape. */
export function ItemView({ item, marks, acts, say, entry, near }: ItemProps): JSX.Element {
  const { key } = item;
  switch (item.kind) {
    case "region":
      return <RegionView placed={item.placed} />;
    case "initial":
      return <InitialView depth={item.depth} dot={item.dot} way={item.way} />;
    case "state":
      return (
        <StateView
          placed={item.placed}
          light={marks.lights.get(key)}
          count={marks.counts.get(key)}
          ended={marks.ended.get(item.placed.of.child?.inside?.key ?? "")}
          label={say(item.placed.of)}
          acts={acts}
          entry={entry === key}
        />
      );
    case "edge": {
      const { from, to } = item.placed.of;
      const close = near !== undefined && (from.key === near || to.key === near);
      return (
        <EdgeView
          placed={item.placed}
          taken={marks.takenEdges.has(key)}
          near={close}
          lines={marks.takenLines}
        />
      );
    }
    case "wire":
      return <WireView placed={item.placed} taken={marks.takenJoins.has(item.placed.join.key)} />;
    case "join":
      return <JoinView placed={item.placed} taken={marks.takenJoins.has(key)} />;
  }
}

/** Drawn again only where what it is given changed. */
abstract class Steady<P extends object> extends Component<P> {
  override shouldComponentUpdate(next: P): boolean {
    const now: object = this.props;
    return Object.entries(next).some(([name, value]) => !Object.is(Reflect.get(now, name), value));
  }
}

function classes(...names: readonly (string | false | undefined)[]): string {
  return names.filter((name) => name !== false && name !== undefined).join(" ");
}

class RegionView extends Steady<{ placed: Placed<RegionNode> }> {
  override render({ placed: { of, rect, depth } }: { placed: Placed<RegionNode> }): JSX.Element {
    const { x, y, width, height } = rect;
    return (
      <g class={`diagram-region diagram-depth-${depth % 2}`} aria-hidden="true">
        <title>{of.description ?? of.id}</title>
        <rect class="diagram-region-box" x={x} y={y} width={width} height={height} rx={12} />
        <text class="diagram-heading" x={x + 16} y={y + 22}>
          {cut(of.id, NAME_LENGTH)}
        </text>
      </g>
    );
  }
}

interface InitialProps {
  readonly depth: number;
  readonly dot: Placed<StateNode> | undefined;
  readonly way: readonly Point[];
}

class InitialView extends Steady<InitialProps> {
  override render({ dot, way }: InitialProps): JSX.Element {
    return (
      <g class="diagram-edge" aria-hidden="true">
        {dot !== undefined && (
          <circle
            class="diagram-initial"
            cx={dot.rect.x + dot.rect.width / 2}
            cy={dot.rect.y + dot.rect.height / 2}
            r={6}
          />
        )}
        <path class="diagram-way" d={pathOf(way)} />
        <path class="diagram-head" d={headOf(way)} />
      </g>
    );
  }
}

interface StateProps {
  readonly placed: Placed<StateNode>;
  readonly light: Light | undefined;
  readonly count: number | undefined;
  readonly ended: string | undefined;
  readonly label: string;
  readonly acts: StateActs;
  /** Whether Tab leads here. */
  readonly entry: boolean;
}

class StateView extends Steady<StateProps> {
  override render({ placed, light, count, ended, label, acts, entry }: StateProps): JSX.Element {
    const { of, rect, depth } = placed;
    const { x, y, width, height } = rect;
    const { child, final, actions, name } = of;
    const head = child === undefined ? STATE_HEIGHT : COMPOUND_HEAD;
    const middle = x + width / 2;
    const choose = acts.choose === undefined ? undefined : () => acts.choose?.(of);
    const icon = actions.length > 0;
    return (
      <>
        <g
          class={classes(
            "diagram-state",
            `diagram-depth-${depth % 2}`,
            light !== undefined && `diagram-${light}`,
            final && "diagram-final",
            child !== undefined && "diagram-compound",
            choose !== undefined && "diagram-acts",
          )}
          role={choose === undefined ? "img" : "button"}
          aria-label={label}
          aria-current={light === "current" ? "true" : undefined}
          tabindex={entry ? 0 : -1}
          data-key={of.key}
          onClick={choose}
        >
          <title>{[name, ...actions].join("\n")}</title>
          <rect class="diagram-ring" x={x - 4} y={y - 4} width={width + 8} height={height + 8} rx={13} />
          <rect class="diagram-body" x={x} y={y} width={width} height={height} rx={10} />
          {child !== undefined && (
            <path
              class="diagram-head-ground"
              d={topOf(x, y, width, Math.min(head, height), height <= head)}
            />
          )}
          {final && (
            <rect
              class="diagram-inner"
              x={x + 3.5}
              y={y + 3.5}
              width={width - 7}
              height={height - 7}
              rx={7}
            />
          )}
          {light !== undefined && (
            <circle
              class="diagram-dot"
              cx={child === undefined ? x + 13 : x + 15}
              cy={y + (child === undefined ? head / 2 : 19)}
              r={4}
            />
          )}
          <text
            class="diagram-name"
            x={
              child === undefined
                ? middle - (icon ? 8 : 0) + (light === undefined ? 0 : 6)
                : x + (light === undefined ? 14 : 25)
            }
            y={child === undefined ? y + head / 2 + 4.5 : y + 24}
            text-anchor={child === undefined ? "middle" : "start"}
          >
            {cut(name, NAME_LENGTH)}
          </text>
          {icon && (
            <path
              class="diagram-icon"
              d={BOLT}
              transform={`translate(${x + width - 21} ${y + (child === undefined ? head / 2 - 7 : 36)})`}
            />
          )}
          {child !== undefined && (
            <text class="diagram-heading" x={x + 14} y={y + 43}>
              {cut(child.machine_id, NAME_LENGTH)}
              {ended === undefined ? "" : ` · ${ended}`}
            </text>
          )}
          {count !== undefined && <CountView count={count} x={x + width} y={y} />}
        </g>
        {child?.known === true && (
          <g class="diagram-toggle" aria-hidden="true" onClick={() => acts.toggle(of)}>
            <title>
              {child.inside === undefined
                ? `Show ${cut(child.machine_id, NAME_LENGTH)}`
                : `Hide ${cut(child.machine_id, NAME_LENGTH)}`}
            </title>
            <rect class="diagram-toggle-box" x={x + width - 34} y={y + 4} width={30} height={30} rx={7} />
            <path
              class="diagram-toggle-sign"
              d={child.inside === undefined ? PLUS : MINUS}
              transform={`translate(${x + width - 19} ${y + 19})`}
            />
          </g>
        )}
      </>
    );
  }
}

/** The upper part of a box with round corners. */
function topOf(x: number, y: number, width: number, height: number, whole: boolean): string {
  const r = 10;
  const bottom = whole
    ? `V${y + height - r}Q${x + width} ${y + height} ${x + width - r} ${y + height}H${x + r}Q${x} ${y + height} ${x} ${y + height - r}`
    : `V${y + height}H${x}`;
  return `M${x} ${y + r}Q${x} ${y} ${x + r} ${y}H${x + width - r}Q${x + width} ${y} ${x + width} ${y + r}${bottom}Z`;
}

function CountView({ count, x, y }: { count: number; x: number; y: number }): JSX.Element {
  const text = count < 10_000 ? String(count) : COMPACT.format(count);
  const width = 14 + text.length * 7.5;
  // Outward, so that it hides neither the name nor what leads here.
  const left = x - 18;
  return (
    <g class="diagram-count">
      <title>{`${count} ${count === 1 ? "entity" : "entities"}`}</title>
      <rect x={left} y={y - 10} width={width} height={20} rx={10} />
      <text x={left + width / 2} y={y + 4.5} text-anchor="middle">
        {text}
      </text>
    </g>
  );
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

interface EdgeProps {
  readonly placed: PlacedEdge;
  readonly taken: boolean;
  readonly near: boolean;
  readonly lines: ReadonlySet<string>;
}

class EdgeView extends Steady<EdgeProps> {
  override shouldComponentUpdate(next: EdgeProps): boolean {
    const { placed, taken, near, lines } = this.props;
    return (
      next.placed !== placed ||
      next.taken !== taken ||
      next.near !== near ||
      (next.taken && next.lines !== lines)
    );
  }

  override render({ placed: { of, way, text, depth, aside }, taken, near, lines }: EdgeProps): JSX.Element {
    return (
      <g
        class={classes(
          "diagram-edge",
          `diagram-depth-${depth % 2}`,
          aside && "diagram-aside",
          taken && "diagram-taken",
          near && "diagram-near",
        )}
        aria-hidden="true"
      >
        <path class="diagram-way" d={aside ? curveOf(way) : pathOf(way)} />
        <path class="diagram-head" d={headOf(way)} />
        {text !== undefined && (!aside || taken || near) && (
          <>
            <rect
              class="diagram-text-ground"
              x={text.x}
              y={text.y}
              width={text.width}
              height={text.height}
              rx={4}
            />
            {shownLines(of).map(({ line, text: written }, index) => (
              <LineView
                key={index}
                line={line}
                text={written}
                taken={line !== undefined && lines.has(line.key)}
                x={text.x + LINE_MARGIN}
                y={text.y + 1 + index * LINE_HEIGHT}
                rest={line === undefined ? of.lines : undefined}
              />
            ))}
          </>
        )}
      </g>
    );
  }
}

interface LineProps {
  readonly line: LineNode | undefined;
  readonly text: string;
  readonly taken: boolean;
  readonly x: number;
  readonly y: number;
  /** All lines, where this one counts those that are not written. */
  readonly rest: readonly LineNode[] | undefined;
}

function LineView({ line, text, taken, x, y, rest }: LineProps): JSX.Element {
  const icon = hasIcon(line);
  const title =
    line === undefined
      ? (rest ?? []).map(lineText).join("\n")
      : [lineText(line), line.description ?? ""].join("\n");
  return (
    <g class={classes("diagram-line", taken && "diagram-line-taken")}>
      <title>{cut(title.trim(), 2000)}</title>
      {icon && (
        <path
          class="diagram-icon"
          d={line?.kind === "timeout" ? CLOCK : line?.kind === "completion" ? CHECK : WAVES}
          transform={`translate(${x} ${y + 3})`}
        />
      )}
      <text x={x + (icon ? LINE_ICON : 0)} y={y + 13}>
        {text}
      </text>
    </g>
  );
}

class WireView extends Steady<{ placed: PlacedWire; taken: boolean }> {
  override render({ placed: { way, out }, taken }: { placed: PlacedWire; taken: boolean }): JSX.Element {
    return (
      <g class={classes("diagram-wire", taken && "diagram-taken")} aria-hidden="true">
        <path class="diagram-way" d={pathOf(way)} />
        {out && <path class="diagram-head" d={headOf(way)} />}
      </g>
    );
  }
}

class JoinView extends Steady<{ placed: Placed<JoinNode>; taken: boolean }> {
  override render({
    placed: { of, rect },
    taken,
  }: {
    placed: Placed<JoinNode>;
    taken: boolean;
  }): JSX.Element {
    const { x, y, width, height } = rect;
    return (
      <g class={classes("diagram-join", taken && "diagram-taken")} aria-hidden="true">
        <title>{[joinTitle(of), ...of.actions].join("\n")}</title>
        <rect class="diagram-bar" x={x} y={y} width={width} height={height} rx={3} />
      </g>
    );
  }
}

function joinTitle({ when, target, level, description }: JoinNode): string {
  const states = when.map(({ region, name }) => `${region} = ${name}`).join(" and ");
  return `${description ?? ""}\n${level ? "While" : "When"} ${states}: ${target.region} to ${target.name}`.trim();
}

const BOLT = "M8 0.5L1.5 8.5H6.5L5.5 13.5L12.5 5.5H7.5Z";
const CLOCK = "M6 0.5A5.5 5.5 0 1 1 6 11.5A5.5 5.5 0 1 1 6 0.5M6 3V6L8 7.5";
const CHECK = "M1.5 6.5L4.5 9.5L10.5 2.5";
const WAVES =
  "M2.5 2.2A5.4 5.4 0 0 0 2.5 9.8M9.5 2.2A5.4 5.4 0 0 1 9.5 9.8M4.4 4.1A2.7 2.7 0 0 0 4.4 7.9M7.6 4.1A2.7 2.7 0 0 1 7.6 7.9M6 6V6.1";
const PLUS = "M-5 0H5M0 -5V5";
const MINUS = "M-5 0H5";
