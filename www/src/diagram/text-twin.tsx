// The diagram's text twin: the same, as lists.

import "./text-twin.css";

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../parts/button.tsx";
import type { EdgeNode, Graph, MachineNode, RegionNode, StateNode } from "./graph.ts";
import type { Marks } from "./marks.ts";
import { joinWords, lineWords, nameText, stateWords, summaryOf } from "./text.ts";

export interface TextTwinProps {
  readonly graph: Graph;
  readonly marks: Marks;
  readonly label: string;
  readonly onState: ((state: StateNode) => void) | undefined;
}

/** All that the drawing shows, in words. */
export function TextTwin({ graph, marks, label, onState }: TextTwinProps): JSX.Element {
  return (
    <div class="diagram-text" role="region" aria-label={`${label}, text`} tabIndex={0}>
      <p>{summaryOf(graph, marks)}</p>
      <MachineText machine={graph.root} marks={marks} onState={onState} />
    </div>
  );
}

interface Inside {
  readonly marks: Marks;
  readonly onState: ((state: StateNode) => void) | undefined;
}

function MachineText({ machine, ...inside }: Inside & { machine: MachineNode }): JSX.Element {
  const { regions, joins, parallel } = machine;
  const [only] = regions;
  return (
    <>
      {!parallel && only !== undefined ? (
        <RegionText region={only} {...inside} />
      ) : (
        <ul class="diagram-text-regions" role="list">
          {regions.map((region) => (
            <li key={region.key}>
              <span class="diagram-text-heading">Region {nameText(region.id)}</span>
              <RegionText region={region} {...inside} />
            </li>
          ))}
        </ul>
      )}
      {joins.length > 0 && (
        <>
          <p class="diagram-text-heading">Joins</p>
          <ul>
            {joins.map((join) => (
              <li key={join.key}>
                {joinWords(join)}
                {inside.marks.takenJoins.has(join.key) && <Just />}
                {join.actions.length > 0 && (
                  <span class="muted"> ({join.actions.map(nameText).join("; ")})</span>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** More of a region are listed when asked for: so the page goes on answering. */
const AT_ONCE = 300;

function RegionText({ region, ...inside }: Inside & { region: RegionNode }): JSX.Element {
  const [all, setAll] = useState(false);
  const states = all ? region.states : region.states.slice(0, AT_ONCE);
  const leaving = new Map<StateNode, EdgeNode[]>();
  for (const edge of region.edges) {
    const edges = leaving.get(edge.from) ?? [];
    leaving.set(edge.from, edges);
    edges.push(edge);
  }
  return (
    <>
      <ul class="diagram-text-states" role="list">
        {states.map((state) => (
          <StateText key={state.key} state={state} edges={leaving.get(state) ?? []} {...inside} />
        ))}
      </ul>
      {states.length < region.states.length && (
        <Button onClick={() => setAll(true)}>Show all {region.states.length} states</Button>
      )}
    </>
  );
}

function StateText({
  state,
  edges,
  marks,
  onState,
}: Inside & { state: StateNode; edges: readonly EdgeNode[] }): JSX.Element {
  const words = stateWords(state, marks);
  const current = marks.lights.get(state.key) === "current";
  const inside = state.child?.inside;
  const ended = inside === undefined ? undefined : marks.ended.get(inside.key);
  return (
    <li aria-current={current ? "true" : undefined} class={current ? "diagram-text-current" : undefined}>
      {onState === undefined ? (
        <span class="diagram-text-name">{nameText(state.name)}</span>
      ) : (
        <button type="button" class="diagram-text-name" onClick={() => onState(state)}>
          {nameText(state.name)}
        </button>
      )}
      {words.length > 0 && <span class="muted"> ({words.join(", ")})</span>}
      {state.actions.length > 0 && <p class="muted">On entry: {state.actions.map(nameText).join("; ")}</p>}
      {edges.length > 0 && (
        <ul>
          {edges.flatMap(({ to, lines }) =>
            lines.map((line) => (
              <li key={line.key}>
                {lineWords(line)} to <strong>{nameText(to.name)}</strong>
                {marks.takenLines.has(line.key) && <Just />}
                {line.description !== undefined && <span class="muted"> ({nameText(line.description)})</span>}
              </li>
            )),
          )}
        </ul>
      )}
      {inside !== undefined && (
        <div class="diagram-text-child">
          <p class="diagram-text-heading">
            Child {nameText(inside.machine_id)}
            {ended !== undefined && `, ${ended}`}
          </p>
          <MachineText machine={inside} marks={marks} onState={onState} />
        </div>
      )}
    </li>
  );
}

function Just(): JSX.Element {
  return <span class="diagram-text-taken"> just taken</span>;
}
