import "./diagram.css";

import type { JsonDefinition } from "statewright";
import { FileText, ListTree, Maximize, ZoomIn, ZoomOut } from "lucide";
import type { JSX } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";

import { Button, IconButton } from "../parts/button.tsx";
import { Canvas, type CanvasHandle } from "./canvas.tsx";
import { ExportMenu } from "./export-menu.tsx";
import { type Graph, graphOf, type StateNode } from "./graph.ts";
import { marksOf } from "./marks.ts";
import { descriptionOf } from "./text.ts";
import { TextTwin } from "./text-twin.tsx";
import type { Count, Place, Taken, Tree } from "./tree.ts";
import { Tools } from "./tools.tsx";
import { useLayout } from "./use-layout.ts";

export type { Count, Place, Taken, Tree } from "./tree.ts";

export interface DiagramProps {
  readonly definition: JsonDefinition;
  /** Other machines, for the boxes of children. */
  readonly machines?: readonly JsonDefinition[] | undefined;
  /** The entity whose states are lit. */
  readonly tree?: Tree | undefined;
  /** What was taken last. */
  readonly taken?: readonly Taken[] | undefined;
  /** Counts by state, of the definition's own machine. */
  readonly counts?: readonly Count[] | undefined;
  /** A state was chosen. */
  readonly onState?: ((place: Place) => void) | undefined;
  /** The machine as Mermaid's text, for the export. */
  readonly mermaid?: (() => string | Promise<string>) | undefined;
  /** What the diagram is called for those who cannot see it. */
  readonly label: string;
  /** The name of exported files, without an ending. */
  readonly name: string;
}

/** More are not drawn: nobody could follow it. */
const MOST_STATES = 1000;

/** A machine as a drawing that can be walked through, and as text. */
export function Diagram(props: DiagramProps): JSX.Element {
  const { definition, machines, tree, taken, counts, onState, mermaid, label, name } = props;
  const [opened, setOpened] = useOpened(definition.machine_id);
  const [asText, setAsText] = useState(false);
  const canvas = useRef<CanvasHandle>(null);
  const graph = useGraph(definition, machines ?? [], opened);
  const large = graph.states.size > MOST_STATES;
  const { layout, failed, again } = useLayout(
    large ? undefined : graph,
    () => canvas.current?.box() ?? { width: 0, height: 0 },
  );
  const seen = layout?.graph ?? graph;
  // What is said is of the newest, and what is drawn of what is there to be marked.
  const marks = useMemo(() => marksOf(seen, { tree, taken, counts }), [seen, tree, taken, counts]);
  const newest = useMemo(
    () => (seen === graph ? marks : marksOf(graph, { tree, taken, counts })),
    [graph, marks, tree, taken, counts],
  );
  const described = useId();
  const anyOpen = [...seen.states.values()].some(({ child }) => child?.inside !== undefined);

  const toggle = ({ key, child }: StateNode) =>
    setOpened(new Map(opened).set(key, child?.inside === undefined));
  const toggleAll = () => {
    const next = new Map<string, boolean>();
    for (const [key, { child }] of seen.states) if (child?.known === true) next.set(key, !anyOpen);
    setOpened(next);
  };
  const choose =
    onState === undefined
      ? undefined
      : ({ machine_id, region, name: state }: StateNode) => onState({ machine_id, region, state });
  const text = asText || large || (failed !== undefined && layout === undefined);

  return (
    <section class="diagram" aria-label={label}>
      <Tools>
        <IconButton
          icon={Maximize}
          label="Show all of it"
          disabled={text}
          onClick={() => canvas.current?.fit()}
        />
        <IconButton
          icon={ZoomIn}
          label="Zoom in"
          disabled={text}
          onClick={() => canvas.current?.zoom(1.25)}
        />
        <IconButton
          icon={ZoomOut}
          label="Zoom out"
          disabled={text}
          onClick={() => canvas.current?.zoom(0.8)}
        />
        {seen.children > 0 && (
          <IconButton icon={ListTree} label="Show children" pressed={anyOpen} onClick={toggleAll} />
        )}
        <IconButton
          icon={FileText}
          label="Show as text"
          pressed={text}
          disabled={large}
          onClick={() => setAsText(!asText)}
        />
        <ExportMenu
          drawing={text ? undefined : () => canvas.current?.drawing() ?? undefined}
          mermaid={mermaid}
          name={name}
        />
      </Tools>
      {large && (
        <p class="diagram-note" role="note">
          {graph.states.size} states are too many to draw. This is all of it as text.
        </p>
      )}
      {failed !== undefined && (
        <div class="diagram-note" role="alert">
          <p>The diagram could not be drawn: {failed}.</p>
          <Button onClick={again}>Try again</Button>
        </div>
      )}
      <p id={described} hidden>
        {descriptionOf(graph, newest)}
      </p>
      <p class="only-read" role="status">
        {newest.taken.slice(0, 6).join(". ")}
      </p>
      {text ? (
        <TextTwin graph={graph} marks={newest} label={label} onState={choose} />
      ) : (
        <Canvas
          handle={canvas}
          layout={layout}
          busy={failed === undefined && layout?.graph !== graph}
          marks={marks}
          label={label}
          described={described}
          choose={choose}
          toggle={toggle}
        />
      )}
    </section>
  );
}

/** What was opened and closed by hand, of one machine: another one begins anew. */
function useOpened(
  machine: string,
): [opened: ReadonlyMap<string, boolean>, set: (opened: ReadonlyMap<string, boolean>) => void] {
  const [{ of, opened }, set] = useState<{ of: string; opened: ReadonlyMap<string, boolean> }>({
    of: machine,
    opened: NOTHING,
  });
  return [of === machine ? opened : NOTHING, (next) => set({ of: machine, opened: next })];
}

const NOTHING: ReadonlyMap<string, boolean> = new Map();

/** The graph, made anew only where a definition or what is open changed. */
function useGraph(
  definition: JsonDefinition,
  machines: readonly JsonDefinition[],
  opened: ReadonlyMap<string, boolean>,
): Graph {
  const known = useRef(machines);
  if (
    known.current.length !== machines.length ||
    known.current.some((machine, index) => machine !== machines[index])
  ) {
    known.current = machines;
  }
  return useMemo(
    () => graphOf({ definition, machines: known.current, opened }),
    [definition, known.current, opened],
  );
}
