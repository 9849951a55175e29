import type { JSX } from "preact";

import type { StateNode } from "./graph.ts";
import type { Placed } from "./layout.ts";
import type { Light } from "./marks.ts";
import { COMPOUND_HEAD, cut, NAME_LENGTH, STATE_HEIGHT } from "./sizes.ts";
import { classes, Steady } from "./steady.ts";

/** What can be done with a state. */
export interface StateActs {
  readonly choose: ((state: StateNode) => void) | undefined;
  readonly toggle: (state: StateNode) => void;
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

/** A state: its box, its name, and what is marked in it. */
export class StateView extends Steady<StateProps> {
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
        </g>
        {child !== undefined && (
          <text class="diagram-heading diagram-of" x={x + 14} y={y + 43} aria-hidden="true">
            {cut(child.machine_id, NAME_LENGTH)}
            {ended === undefined ? "" : ` (${ended})`}
          </text>
        )}
        {count !== undefined && <CountView count={count} x={x + width} y={y} />}
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
    <g class="diagram-count" aria-hidden="true">
      <title>{`${count} ${count === 1 ? "entity" : "entities"}`}</title>
      <rect x={left} y={y - 10} width={width} height={20} rx={10} />
      <text x={left + width / 2} y={y + 4.5} text-anchor="middle">
        {text}
      </text>
    </g>
  );
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

const BOLT = "M8 0.5L1.5 8.5H6.5L5.5 13.5L12.5 5.5H7.5Z";
const PLUS = "M-5 0H5M0 -5V5";
const MINUS = "M-5 0H5";
