// The drawing: a layout with its marks, as SVG. Every shape is classed, and diagram.css says how it looks.

import type { JSX } from "preact";

import { EdgeView } from "./edge-view.tsx";
import type { JoinNode, RegionNode, StateNode } from "./graph.ts";
import type { Item } from "./items.ts";
import type { Placed, PlacedWire, Point } from "./layout.ts";
import type { Marks } from "./marks.ts";
import { cut, NAME_LENGTH } from "./sizes.ts";
import { type StateActs, StateView } from "./state-view.tsx";
import { classes, Steady } from "./steady.ts";
import { headOf, pathOf } from "./way.ts";

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
