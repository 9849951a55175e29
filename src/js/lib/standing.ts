// How an entity stands, read from a snapshot by hand: whatever is out of the ordinary is left to the core.

import { count } from "./plain.ts";
import type { Plan, RegionPlan } from "./steps.ts";
import type * as typed from "./typed.ts";

/** An entry as snapshots show it. */
export interface Entry {
  readonly state: string;
  readonly seq: number;
  readonly entered_at: number;
  readonly basis: "exact";
  readonly row: number | null;
  readonly key: string | null;
  readonly due_at?: number;
}

/** An entry that was found to be one, as it was given. */
export interface GivenEntry {
  readonly state: string;
  readonly seq: number;
  readonly entered_at: number;
  readonly row?: number | null;
  readonly key?: string | null;
  readonly due_at?: number;
}

/** An entity without children, none of whose timers is due or parked. */
export interface Standing {
  readonly tenantId: string | undefined;
  readonly entityId: string;
  readonly version: number;
  readonly revision: number | undefined;
  readonly createdAt: number | undefined;
  readonly updatedAt: number;
  /** As it was given. */
  readonly context: object;
  /** The number of its states together. */
  readonly configuration: number;
  /** As they were given, by the number of the region; `shown` makes entries of them. */
  readonly entries: readonly GivenEntry[];
  /** The number that its next entry takes. */
  readonly next: number;
  /** When the event comes. */
  readonly now: number;
}

interface Region {
  readonly id: string;
  readonly weight: number;
  /** The number of each state. */
  readonly states: ReadonlyMap<string, number>;
}

/** Counters stay far from where numbers are no longer exact. */
const MOST = 2 ** 52;
const ID = /^[\x21-\x7e]{1,256}$/;

/** Reads the snapshots of a machine without children. */
export class Reader {
  readonly #machineId: string;
  readonly #parallel: boolean;
  readonly #exactTimers: boolean;
  readonly #regions: readonly Region[];
  /** The last id that was found to be one. */
  #id = "";

  constructor(plan: Plan) {
    this.#machineId = plan.machine_id;
    this.#parallel = plan.parallel;
    this.#exactTimers = plan.exact_timers;
    this.#regions = plan.regions.map(regionOf);
  }

  /** How an entity stands; nothing where its snapshot is for the core to judge. */
  read(given: object, now: number): Standing | undefined {
    if (typeof given !== "object" || given === null || !isMembers(given)) return undefined;
    const snapshot = given as { readonly [Key in keyof typed.Snapshot]?: unknown } & {
      readonly children?: unknown;
    };
    const { machine_id, entity_id, state_version, updated_at, context, region_entries } = snapshot;
    const { children, tenant_id, revision, created_at } = snapshot;
    if (machine_id !== this.#machineId || typeof entity_id !== "string") return undefined;
    if (entity_id !== this.#id && !this.#isId(entity_id)) return undefined;
    if (!isCount(state_version) || !isTime(updated_at)) return undefined;
    if (typeof context !== "object" || context === null) return undefined;
    if (typeof region_entries !== "object" || region_entries === null || !isMembers(region_entries)) {
      return undefined;
    }
    let members = 7;
    if (children !== undefined) {
      if (!Array.isArray(children) || children.length > 0) return undefined;
      members += 1;
    }
    if (tenant_id !== undefined) {
      if (typeof tenant_id !== "string" || !tenant_id.isWellFormed()) return undefined;
      members += 1;
    }
    if (revision !== undefined) {
      if (!isCount(revision)) return undefined;
      members += 1;
    }
    if (created_at !== undefined) {
      if (!isTime(created_at)) return undefined;
      members += 1;
    }
    // Nothing else is in it: not even what the core would pass over, for it must be plain data too.
    if (count(snapshot) !== members) return undefined;

    const entries: GivenEntry[] = [];
    let configuration = 0;
    let last = 0;
    const regions = this.#regions;
    const of = region_entries as { readonly [region: string]: unknown };
    for (let place = 0; place < regions.length; place += 1) {
      const region = regions[place] as Region;
      const entry = this.#entry(of[region.id], now);
      if (entry === undefined) return undefined;
      const number = region.states.get(entry.state);
      if (number === undefined) return undefined;
      configuration += number * region.weight;
      if (entry.seq > last) last = entry.seq;
      entries.push(entry);
    }
    if (count(region_entries) !== regions.length) return undefined;
    if (!this.#shows(snapshot.current_state, entries)) return undefined;
    return {
      tenantId: tenant_id,
      entityId: entity_id,
      version: state_version,
      revision,
      createdAt: created_at === undefined ? undefined : created_at + 0,
      updatedAt: updated_at + 0,
      context,
      configuration,
      entries,
      next: last + 1,
      now,
    };
  }

  #entry(given: unknown, now: number): GivenEntry | undefined {
    if (typeof given !== "object" || given === null || !isMembers(given)) return undefined;
    const { state, seq, entered_at, basis, row, key, due_at } = given as { readonly [name: string]: unknown };
    if (typeof state !== "string" || !isCount(seq) || !isTime(entered_at)) return undefined;
    let members = 3;
    if (basis !== undefined) {
      if (basis !== "exact") return undefined;
      members += 1;
    }
    if (key !== undefined) {
      if (key !== null && (typeof key !== "string" || !key.isWellFormed())) return undefined;
      members += 1;
    }
    if (row !== undefined) {
      if (row !== null && (typeof key !== "string" || !isCount(row))) return undefined;
      members += 1;
    }
    if (due_at !== undefined) {
      if (!isTime(due_at) || (this.#exactTimers && due_at <= now)) return undefined;
      members += 1;
    }
    return count(given) === members ? (given as GivenEntry) : undefined;
  }

  #shows(state: unknown, entries: readonly GivenEntry[]): boolean {
    if (!this.#parallel) return state === entries[0]?.state;
    if (typeof state !== "object" || state === null || !isMembers(state)) return false;
    const told = state as { readonly [region: string]: unknown };
    const regions = this.#regions;
    for (let place = 0; place < regions.length; place += 1) {
      if (told[(regions[place] as Region).id] !== entries[place]?.state) return false;
    }
    return count(told) === regions.length;
  }

  #isId(text: string): boolean {
    if (!ID.test(text) || text === "." || text === "..") return false;
    this.#id = text;
    return true;
  }
}

/** An entry as snapshots show it. */
export function shown({ state, seq, entered_at, row = null, key = null, due_at }: GivenEntry): Entry {
  // A negative zero is none in JSON.
  const entry = { state, seq, entered_at: entered_at + 0, basis: "exact", row, key } as const;
  return due_at === undefined ? entry : { ...entry, due_at: due_at + 0 };
}

/** The snapshot of an entity that stands so. */
export function shownAs(plan: Plan, standing: Standing, context: object): object {
  const named = (of: (entry: GivenEntry) => unknown) =>
    Object.fromEntries(standing.entries.map((entry, place) => [plan.regions[place]?.id ?? "", of(entry)]));
  return {
    machine_id: plan.machine_id,
    tenant_id: standing.tenantId,
    entity_id: standing.entityId,
    current_state: plan.parallel ? named(({ state }) => state) : standing.entries[0]?.state,
    context,
    state_version: standing.version,
    revision: standing.revision,
    created_at: standing.createdAt,
    updated_at: standing.updatedAt,
    region_entries: named(shown),
    children: [],
  };
}

function regionOf({ id, weight, states }: RegionPlan): Region {
  return { id, weight: weight ?? 0, states: new Map(states.map(({ name }, number) => [name, number])) };
}

/** Whether an object has members of its own alone. */
function isMembers(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !("toJSON" in value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && value >= 1 && value < MOST && Number.isInteger(value);
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
