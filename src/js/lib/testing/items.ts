// What of a definition can be visited: its states, transitions, timeouts and joins.

import { FLAT_REGION, TIMEOUT_EVENT } from "../reserved.ts";
import type { AnyMachine, Commit, HistoryRow, Snapshot } from "../typed.ts";
import { delayOf } from "./params.ts";

/** A part of a definition that a test visits or misses. */
export interface Item {
  readonly kind: "state" | "transition" | "timeout" | "join";
  readonly machine_id: string;
  /** Its place in the definition's `transitions` or `joins`. */
  readonly index?: number;
  /** Its region; `_` of a flat machine. */
  readonly region: string;
  /** The state itself, or the one that is entered. */
  readonly state: string;
  /** In words, such as `transition 2: placed → paid on pay`. */
  readonly label: string;
}

/** All items of a machine, those of one kind together, in the order of the definition. */
export function itemsOf(machine: AnyMachine): readonly Item[] {
  const { definition, id } = machine;
  const place = (region: string, state: string) => (region === FLAT_REGION ? state : `${region}/${state}`);
  const states = Object.entries(statesOf(machine)).flatMap(([region, names]) =>
    names.map((state): Item => {
      const label = `state ${place(region, state)}`;
      return { kind: "state", machine_id: id, region, state, label };
    }),
  );
  const transitions = definition.transitions.map(({ region: named, from, to, on }, index): Item => {
    const region = named ?? FLAT_REGION;
    const kind = on === TIMEOUT_EVENT ? "timeout" : "transition";
    const label = `${kind} ${index}: ${place(region, from)} → ${to}${kind === "timeout" ? "" : ` on ${on}`}`;
    return { kind, machine_id: id, index, region, state: to, label };
  });
  const joins = (definition.joins ?? []).map(
    ({ when, target_region: region, target_state: state }, index): Item => {
      const waits = Object.entries(when).map(([waited, name]) => place(waited, name));
      const label = `join ${index}: ${waits.join(" and ")} → ${place(region, state)}`;
      return { kind: "join", machine_id: id, index, region, state, label };
    },
  );
  const ofKind = (kind: Item["kind"]) => transitions.filter((item) => item.kind === kind);
  return [...states, ...ofKind("transition"), ...ofKind("timeout"), ...joins];
}

/** The states of each region. */
export function statesOf({ definition }: AnyMachine): Readonly<Record<string, readonly string[]>> {
  if (!definition.regions) return { [FLAT_REGION]: definition.states ?? [] };
  return Object.fromEntries(definition.regions.map(({ id, states }) => [id, states]));
}

/** The state that each region starts in. */
function initialOf({ definition }: AnyMachine): readonly (readonly [region: string, state: string])[] {
  if (!definition.regions) return [[FLAT_REGION, definition.initial_state ?? ""]];
  return definition.regions.map(({ id, initial_state }) => [id, initial_state]);
}

/** How an item is told from others of its machine. */
export function keyOf(item: Pick<Item, "kind" | "region" | "state" | "index">): string {
  const { kind, region, state, index } = item;
  return kind === "state" ? JSON.stringify([kind, region, state]) : JSON.stringify([kind, index]);
}

/** The keys of the states that every entity is in at first. */
export function keysOfStart(machine: AnyMachine): readonly string[] {
  return initialOf(machine).map(([region, state]) => keyOf({ kind: "state", region, state }));
}

/** What an entity was before a row, where that is known: then the row's transition is known, too, and not guessed. */
export interface Known {
  readonly before: Snapshot;
  readonly now: number;
}

/** The keys of what a row visits. */
export function keysOfRow(machine: AnyMachine, row: HistoryRow, known?: Known): readonly string[] {
  const { region, from_state, to_state } = row;
  const states = [from_state, to_state].map((state) => keyOf({ kind: "state", region, state }));
  if (row.event_type === "$join") {
    const index = row.cause["join"];
    return typeof index === "number"
      ? [...states, keyOf({ kind: "join", region, state: to_state, index })]
      : states;
  }
  // A child's start and end move no transition.
  if (row.event_type.startsWith("$sub_")) return states;
  const index = transitionOf(machine, row, known);
  const kind = row.event_type === TIMEOUT_EVENT ? "timeout" : "transition";
  return index === undefined ? states : [...states, keyOf({ kind, region, state: to_state, index })];
}

/** The keys of what a commit visits in entities of one machine. */
export function keysOfCommit(machine: AnyMachine, commit: Commit, known?: Known): readonly string[] {
  return commit.rows
    .filter(({ machine_id }) => machine_id === machine.id)
    .flatMap((row) => keysOfRow(machine, row, known));
}

/** The place of the transition that made a row. Where several could have, the core is asked, or the first is taken. */
function transitionOf(machine: AnyMachine, row: HistoryRow, known: Known | undefined): number | undefined {
  const fits = machine.definition.transitions.flatMap(({ region, from, to, on }, index) =>
    (region ?? FLAT_REGION) === row.region &&
    from === row.from_state &&
    to === row.to_state &&
    on === row.event_type
      ? [index]
      : [],
  );
  if (fits.length < 2) return fits[0];
  if (row.event_type === TIMEOUT_EVENT)
    return fits.find((index) => isDelayOf(machine, index, row, known)) ?? fits[0];
  const { before, now } = known ?? madeUp(machine, row);
  const { candidates } = machine.why(before, { type: row.event_type, params: row.event_params }, { now });
  return candidates.find(({ index, taken }) => taken && fits.includes(index))?.index ?? fits[0];
}

/** Whether a timeout's row came that long after the entry of its state. */
function isDelayOf(machine: AnyMachine, index: number, row: HistoryRow, known: Known | undefined): boolean {
  const delay = delayOf(machine.definition.transitions[index]?.guard);
  const entered = known?.before.region_entries[row.region]?.entered_at;
  const due = row.cause["due_at"];
  return delay !== undefined && entered !== undefined && typeof due === "number" && due - entered === delay;
}

/** An entity in the state that a row left, with nothing else: guards that look at its context may be guessed wrong. */
function madeUp(machine: AnyMachine, row: HistoryRow): Known {
  const made = machine.create(row.entity_id, {}, { now: row.timestamp });
  const entry = made.region_entries[row.region];
  const state =
    typeof made.current_state === "string"
      ? row.from_state
      : { ...made.current_state, [row.region]: row.from_state };
  const entries = entry
    ? { ...made.region_entries, [row.region]: { ...entry, state: row.from_state } }
    : made.region_entries;
  return { before: { ...made, current_state: state, region_entries: entries }, now: row.timestamp };
}
