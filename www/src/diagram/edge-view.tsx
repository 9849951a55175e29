import type { JSX } from "preact";

import type { LineNode } from "./graph.ts";
import type { PlacedEdge } from "./layout.ts";
import { cut, hasIcon, LINE_HEIGHT, LINE_ICON, LINE_MARGIN, lineText, shownLines } from "./sizes.ts";
import { classes, Steady } from "./steady.ts";
import { curveOf, headOf, pathOf } from "./way.ts";

interface EdgeProps {
  readonly placed: PlacedEdge;
  readonly taken: boolean;
  readonly near: boolean;
  readonly lines: ReadonlySet<string>;
}

/** What leads from one state to another, with what is written at it. */
export class EdgeView extends Steady<EdgeProps> {
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
        <path class="diagram-way" d={aside ? curveOf(way) : pathOf(way)} pathLength={taken ? 1 : undefined} />
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

const CLOCK = "M6 0.5A5.5 5.5 0 1 1 6 11.5A5.5 5.5 0 1 1 6 0.5M6 3V6L8 7.5";
const CHECK = "M1.5 6.5L4.5 9.5L10.5 2.5";
const WAVES =
  "M2.5 2.2A5.4 5.4 0 0 0 2.5 9.8M9.5 2.2A5.4 5.4 0 0 1 9.5 9.8M4.4 4.1A2.7 2.7 0 0 0 4.4 7.9M7.6 4.1A2.7 2.7 0 0 1 7.6 7.9M6 6V6.1";
