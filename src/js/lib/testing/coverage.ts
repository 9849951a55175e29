// What of a definition histories visited, and what not.

import { machineOf } from "../kin.ts";
import { kindOf, wrong } from "../wrong.ts";
import type { AnyMachine, Commit, HistoryRow } from "../typed.ts";
import { itemsOf, keyOf, keysOfRow, keysOfStart, type Item } from "./items.ts";

/** How much of one kind was visited. */
export interface Tally {
  readonly total: number;
  readonly visited: number;
  readonly missed: readonly Item[];
}

/** What of a machine was visited. */
export class Coverage {
  readonly machine_id: string;
  readonly states: Tally;
  readonly transitions: Tally;
  readonly timeouts: Tally;
  readonly joins: Tally;

  constructor(machine: AnyMachine, visited: ReadonlySet<string>) {
    const items = itemsOf(machine);
    const tally = (kind: Item["kind"]): Tally => {
      const all = items.filter((item) => item.kind === kind);
      const missed = all.filter((item) => !visited.has(keyOf(item)));
      return { total: all.length, visited: all.length - missed.length, missed };
    };
    this.machine_id = machine.id;
    this.states = tally("state");
    this.transitions = tally("transition");
    this.timeouts = tally("timeout");
    this.joins = tally("join");
  }

  /** Everything that was not visited. */
  get missed(): readonly Item[] {
    return [this.states, this.transitions, this.timeouts, this.joins].flatMap(({ missed }) => missed);
  }

  /** Whether nothing is left. */
  get complete(): boolean {
    return this.missed.length === 0;
  }

  /** A report to read: a line for the numbers, and one for each thing that was missed. */
  toString(): string {
    const numbers = Object.entries({
      states: this.states,
      transitions: this.transitions,
      timeouts: this.timeouts,
      joins: this.joins,
    }).flatMap(([name, { total, visited }]) => (total > 0 ? [`${name} ${visited}/${total}`] : []));
    const missed = this.missed.map(({ label }) => `  missed ${label}`);
    return [`${this.machine_id}: ${numbers.join(", ")}`, ...missed].join("\n");
  }
}

/** Rows of history, alone, by entity, or in the commits that wrote them. */
export type Histories = Iterable<HistoryRow | Commit | Iterable<HistoryRow | Commit>>;

/**
 * What of a machine these histories visited: of entities of the machine alone, so that the rows of a whole test run can be
 * given. The states in which an entity starts count as visited.
 *
 * Where two transitions lead from one state to another on the same event, the core is asked which one the row's params
 * take, with an empty context.
 */
export function coverage(machine: AnyMachine, histories: Histories): Coverage {
  const visited = new Set(keysOfStart(machineOf(machine)));
  for (const row of rowsOf(histories)) {
    if (row.machine_id !== machine.id) continue;
    for (const key of keysOfRow(machine, row)) visited.add(key);
  }
  return new Coverage(machine, visited);
}

function* rowsOf(histories: Histories, path = "histories"): Generator<HistoryRow, void, undefined> {
  if (typeof histories !== "object" || histories === null || !(Symbol.iterator in histories)) {
    throw wrong(path, `it is ${kindOf(histories)}`, "rows, commits, or lists of them");
  }
  let place = 0;
  for (const entry of histories) {
    const at = `${path}[${place}]`;
    place += 1;
    if (typeof entry !== "object" || entry === null || Symbol.iterator in entry) yield* rowsOf(entry, at);
    else if ("rows" in entry) yield* rowsOf(entry.rows, `${at}.rows`);
    else yield rowOf(entry, at);
  }
}

/** Refuses what is no row. */
function rowOf(row: HistoryRow, path: string): HistoryRow {
  for (const name of ["machine_id", "region", "from_state", "to_state", "event_type"] as const) {
    if (typeof row[name] !== "string") throw wrong(`${path}.${name}`, `it is ${kindOf(row[name])}`, "a text");
  }
  return row;
}
