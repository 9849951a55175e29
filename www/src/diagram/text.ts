// The diagram in words: what its drawing shows, for those who read or hear it.

import { counted } from "../parts/counted.ts";
import type { EdgeNode, Graph, JoinNode, LineNode, MachineNode, StateNode } from "./graph.ts";
import type { Marks } from "./marks.ts";
import { cut } from "./sizes.ts";

/** In words, a name may be longer than in the drawing. */
const WORDS = 120;

/** A name in words. */
export function nameText(name: string): string {
  return cut(name, WORDS);
}

/** What leads along a line: its event or delay, and its condition. */
export function lineWords({ kind, text, guard, broadcast }: LineNode): string {
  return `${whatWords(kind, nameText(text))}${guard === undefined ? "" : ` if ${nameText(guard)}`}${broadcast ? ", in all regions" : ""}`;
}

function whatWords(kind: LineNode["kind"], text: string): string {
  if (kind === "event") return `on ${text}`;
  if (kind === "timeout") return `after ${text}`;
  return `when the child ends ${text.includes(" = ") ? "with" : "in"} ${text}`;
}

/** What a state is besides its name. */
export function stateWords(state: StateNode, marks: Marks): readonly string[] {
  const words = placeWords(state, marks);
  const count = marks.counts.get(state.key);
  if (count !== undefined) words.push(counted(count, "entity", "entities"));
  if (state.child !== undefined) {
    words.push(`runs ${nameText(state.child.machine_id)}${state.child.managed ? "" : " (legacy)"}`);
  }
  return words;
}

function placeWords(state: StateNode, marks: Marks): string[] {
  const light = marks.lights.get(state.key);
  const words: string[] = [];
  if (light === "current") words.push("current");
  if (light === "ended") words.push("where it ended");
  if (state.initial) words.push("initial");
  if (state.final) words.push("final");
  return words;
}

/** What a join waits for, and what it does. */
export function joinWords({ when, target, level }: JoinNode): string {
  const states = when.map(({ region, name }) => `${nameText(region)} is ${nameText(name)}`);
  return `${level ? "While" : "When"} ${states.join(" and ")}: ${nameText(target.region)} to ${nameText(target.name)}`;
}

/** The whole in one or two sentences, and what is current and was just taken. */
export function summaryOf({ root, states, transitions, joins }: Graph, marks: Marks): string {
  const parts = [
    root.parallel ? counted(root.regions.length, "region", "regions") : "",
    counted(states.size, "state", "states"),
    counted(transitions, "transition", "transitions"),
    joins === 0 ? "" : counted(joins, "join", "joins"),
  ].filter((part) => part !== "");
  const current = [...states.values()].filter(({ key }) => marks.lights.get(key) === "current");
  const where = current.slice(0, 12).map(({ machine_id, region, name }) => {
    const place = [
      machine_id === root.machine_id ? "" : nameText(machine_id),
      region === "_" ? "" : nameText(region),
    ];
    return [...place.filter((part) => part !== ""), nameText(name)].join(" ");
  });
  return [
    `${nameText(root.machine_id)}: ${parts.join(", ")}.`,
    where.length === 0 ? "" : `Current: ${where.join("; ")}.`,
    ...marks.taken.slice(0, 6).map((taken) => `Taken: ${cut(taken, 2 * WORDS)}.`),
  ]
    .filter((part) => part !== "")
    .join(" ");
}

/** Past this, the summary does not list the transitions as well. */
const LISTED = 40;

/** The summary and, of a machine that is not large, all its transitions. */
export function descriptionOf(graph: Graph, marks: Marks): string {
  const summary = summaryOf(graph, marks);
  if (graph.transitions > LISTED) return `${summary} The text view lists all transitions.`;
  return [summary, ...sentences(graph.root)].join(" ");
}

function* sentences(machine: MachineNode): Iterable<string> {
  for (const region of machine.regions) {
    for (const { from, to, lines } of region.edges) {
      for (const line of lines) yield `${nameText(from.name)} ${lineWords(line)} to ${nameText(to.name)}.`;
    }
    for (const { child } of region.states) {
      if (child?.inside !== undefined) yield* sentences(child.inside);
    }
  }
  for (const join of machine.joins) yield `${joinWords(join)}.`;
}

/** What leads out of each state, by its key. */
export function edgesFrom({ root }: Graph): ReadonlyMap<string, readonly EdgeNode[]> {
  const leaving = new Map<string, EdgeNode[]>();
  const collect = (machine: MachineNode) => {
    for (const { edges, states } of machine.regions) {
      for (const edge of edges) {
        const of = leaving.get(edge.from.key) ?? [];
        leaving.set(edge.from.key, of);
        of.push(edge);
      }
      for (const { child } of states) if (child?.inside !== undefined) collect(child.inside);
    }
  };
  collect(root);
  return leaving;
}

/** How many transitions are said with a state. */
const SAID = 8;

/** A state as it is said when it has the focus: first, in their order, the words that are seen. */
export function stateSaid(state: StateNode, leaving: readonly EdgeNode[], marks: Marks): string {
  const { child } = state;
  const count = marks.counts.get(state.key);
  const ended = child?.inside === undefined ? undefined : marks.ended.get(child.inside.key);
  const words = [
    nameText(state.name),
    child === undefined ? undefined : nameText(child.machine_id),
    ended,
    count === undefined ? undefined : counted(count, "entity", "entities"),
    state.region === "_" ? undefined : `region ${nameText(state.region)}`,
    ...placeWords(state, marks),
  ];
  const ways = leaving.flatMap(({ to, lines }) =>
    lines.map((line) => `${lineWords(line)} to ${nameText(to.name)}`),
  );
  const more = ways.length > SAID ? [`and ${ways.length - SAID} more`] : [];
  const said = [words.filter((word) => word !== undefined).join(", ")];
  if (ways.length > 0) said.push([...ways.slice(0, SAID), ...more].join("; "));
  if (child?.known === true) {
    said.push(`Child ${child.inside === undefined ? "closed" : "open"}, Space changes that`);
  }
  return said.join(". ");
}
