// What the core answered, as a template for the same step of another entity or another time.

import type { Members } from "./plain.ts";
import { type Entry, type GivenEntry, shown, type Standing } from "./standing.ts";
import type { Plan, Told } from "./steps.ts";
import type * as typed from "./typed.ts";

/** From what the rest of an answer is made, when it is read. */
export interface Answering {
  readonly template: Template;
  readonly entityId: string;
  /** After the event. */
  readonly version: number;
  /** The number of the first entry that it starts. */
  readonly first: number;
  readonly now: number;
  /** The timestamp that the event was given, if any. */
  readonly stamp: number | undefined;
  readonly params: Members;
  /** The entity before, where effects are rendered from it. */
  readonly before: object | undefined;
}

/** Renders the effects of a step of an entity as it was before. */
export type Rendering = (
  before: object,
  params: Members,
  now: number,
  stamp: number | undefined,
) => readonly typed.Effect[];

/** An entry that the step starts. */
interface Start {
  readonly region: number;
  readonly regionText: string;
  readonly state: string;
  readonly delay: number | null;
  /** Which join of the step it is, from 0; none for a transition. */
  readonly join: number | undefined;
}

/** A step as it was answered once, of an event type from certain states into certain others. */
export class Template {
  readonly outcome: "applied" | "no_transition";
  readonly #machineId: string;
  readonly #parallel: boolean;
  /** The ids of regions by their numbers, and the numbers in the order of snapshots. */
  readonly #regions: readonly string[];
  readonly #order: readonly number[];
  readonly #state: unknown;
  readonly #starts: readonly Start[];
  /** By region: the last start of its; -1 where it has none. */
  readonly #last: readonly number[];
  /** What the keys of its rows begin with. */
  readonly #key: string;
  readonly #answer: typed.Answer;
  readonly #commit: typed.Commit | null;
  readonly #effects: Rendering;
  /** Whether effects are to be rendered from the entity: some are more than events. */
  readonly #rendered: boolean;

  /** Nothing where no template gives such an answer. */
  static of(plan: Plan, type: string, told: Told, effects: Rendering): Template | undefined {
    const { outcome, answer, commit, timeouts } = told;
    if (answer === null || timeouts.length > 0 || told.before !== undefined) return undefined;
    if (outcome === "no_transition" && commit === null)
      return new Template(plan, type, outcome, told, answer, effects);
    if (outcome !== "applied" || commit === null || commit.lives.length > 0) return undefined;
    if (commit.rows.length > MOST_ROWS) return undefined;
    return new Template(plan, type, outcome, told, answer, effects);
  }

  private constructor(
    plan: Plan,
    type: string,
    outcome: "applied" | "no_transition",
    told: Told,
    answer: typed.Answer,
    effects: Rendering,
  ) {
    this.outcome = outcome;
    this.#machineId = plan.machine_id;
    this.#parallel = plan.parallel;
    this.#regions = plan.regions.map(({ id }) => id);
    this.#order = plan.regions.map((_, number) => number).sort((a, b) => compare(plan, a, b));
    this.#state = told.snapshot.current_state;
    let joins = 0;
    this.#starts = (told.commit?.rows ?? []).map((row) => {
      const region = this.#regions.indexOf(row.region);
      const states = plan.regions[region]?.states ?? [];
      const delay = states.find(({ name }) => name === row.to_state)?.delay ?? null;
      const join = row.cause["via"] === "join" ? joins : undefined;
      if (join !== undefined) joins += 1;
      return { region, regionText: JSON.stringify(row.region), state: row.to_state, delay, join };
    });
    this.#last = this.#regions.map((_, region) =>
      this.#starts.findLastIndex((start) => start.region === region),
    );
    this.#key = `["evt",${JSON.stringify(type)},`;
    this.#answer = answer;
    this.#commit = told.commit;
    this.#effects = effects;
    this.#rendered = (told.commit?.effects ?? []).some(({ kind }) => kind !== "event");
  }

  /** The entity after the event. */
  snapshot(standing: Standing, context: Members, stamp: number | undefined): typed.Snapshot {
    const { entries, next, now } = standing;
    const version = this.#version(standing);
    const starts = this.#starts;
    const current: Entry[] = [];
    for (let region = 0; region < entries.length; region += 1) {
      const place = this.#last[region] as number;
      const start = starts[place];
      const entry =
        start === undefined
          ? shown(entries[region] as GivenEntry)
          : entered(start, next + place, now, this.#keyOf(place, version, next, now, stamp));
      current.push(entry);
    }
    const updatedAt = starts.length > 0 ? now : standing.updatedAt;
    return this.#shown(standing, context, current, version, updatedAt);
  }

  /** What the rest of the answer is made from. */
  answering(
    standing: Standing,
    params: Members,
    before: object | undefined,
    stamp: number | undefined,
  ): Answering {
    return {
      template: this,
      entityId: standing.entityId,
      version: this.#version(standing),
      first: standing.next,
      now: standing.now,
      stamp,
      params,
      before,
    };
  }

  /** The entity before the event, where effects will be rendered from it. */
  before(standing: Standing, context: Members, nested: boolean): object | undefined {
    if (!this.#rendered) return undefined;
    const kept = nested ? copied(context) : { ...context };
    const entries = standing.entries.map(shown);
    const before = this.#shown(standing, kept, entries, standing.version, standing.updatedAt);
    return { ...before, current_state: copied(this.#answer.previous_state) };
  }

  /** The answer. */
  answer({ entityId, now, stamp = now, version }: Answering): typed.Answer {
    const answer = copied(this.#answer);
    return { ...answer, entity_id: entityId, timestamp: stamp, state_version: version };
  }

  /** The commit; null where nothing moved. */
  commit(answering: Answering): typed.Commit | null {
    if (this.#commit === null) return null;
    const { entityId, now, stamp, version, first, params, before } = answering;
    const commit = this.#commit;
    const by = this.#keyOf(0, version, first, now, stamp);
    const rows = commit.rows.map((row, place) => {
      const join = this.#starts[place]?.join !== undefined;
      return {
        ...row,
        entity_id: entityId,
        event_params: join ? {} : copied(params),
        actions_dispatched: copied(row.actions_dispatched),
        timestamp: stamp ?? now,
        created_at: now,
        identity_key: this.#keyOf(place, version, first, now, stamp),
        cause: join ? { ...row.cause, by } : { ...row.cause },
      };
    });
    return {
      ...commit,
      entity_id: entityId,
      rows,
      effects:
        before === undefined
          ? commit.effects.map((effect, nth) => this.#event(effect, nth, rows, entityId, version))
          : this.#effects(before, params, now, stamp),
      lives: [],
      versions: commit.versions.map((written) => ({
        ...written,
        entity_id: entityId,
        state_version: version,
      })),
    };
  }

  /** An effect that tells an event, which says no more than which entity moved and how. */
  #event(
    effect: typed.Effect,
    nth: number,
    rows: readonly typed.HistoryRow[],
    entityId: string,
    version: number,
  ): typed.Effect {
    const told = copied(effect) as typed.Effect & { readonly params: object; readonly row: number };
    return {
      ...told,
      params: { ...told.params, entity_id: entityId },
      effect_id: `${this.#machineId}/${entityId}@${version}.${nth}`,
      row_key: rows[told.row]?.identity_key ?? "",
    } as typed.Effect;
  }

  #version({ version }: Standing): number {
    return this.#starts.length > 0 ? version + 1 : version;
  }

  /** The identity of a row: an event's timestamp is its own, or now and the version that it makes. */
  #keyOf(place: number, version: number, first: number, now: number, stamp: number | undefined): string {
    const start = this.#starts[place];
    if (start?.join !== undefined) return `["join",${start.regionText},${first},${start.join}]`;
    const event = stamp === undefined ? `${this.#key}${now},${version}` : `${this.#key}${stamp}`;
    return start === undefined || place === 0 ? `${event}]` : `${event},${start.regionText}]`;
  }

  #shown(
    standing: Standing,
    context: Members,
    entries: readonly Entry[],
    version: number,
    updatedAt: number,
  ): typed.Snapshot {
    const { tenantId, entityId, revision, createdAt } = standing;
    const state = this.#parallel ? { ...(this.#state as object) } : this.#state;
    const regions = this.#parallel ? this.#named(entries) : { _: entries[0] };
    if (tenantId === undefined && revision === undefined && createdAt !== undefined) {
      return {
        machine_id: this.#machineId,
        entity_id: entityId,
        current_state: state,
        context,
        state_version: version,
        created_at: createdAt,
        updated_at: updatedAt,
        region_entries: regions,
        children: [],
      } as unknown as typed.Snapshot;
    }
    return {
      machine_id: this.#machineId,
      ...(tenantId === undefined ? undefined : { tenant_id: tenantId }),
      entity_id: entityId,
      current_state: state,
      context,
      state_version: version,
      ...(revision === undefined ? undefined : { revision }),
      ...(createdAt === undefined ? undefined : { created_at: createdAt }),
      updated_at: updatedAt,
      region_entries: regions,
      children: [],
    } as unknown as typed.Snapshot;
  }

  #named(entries: readonly Entry[]): { [region: string]: Entry } {
    const named: { [region: string]: Entry } = {};
    for (const number of this.#order) named[this.#regions[number] as string] = entries[number] as Entry;
    return named;
  }
}

/** A commit of more rows is left to the core, which bounds what it writes. */
const MOST_ROWS = 64;

function entered({ state, delay }: Start, seq: number, now: number, key: string): Entry {
  if (delay === null) return { state, seq, entered_at: now, basis: "exact", row: null, key };
  return { state, seq, entered_at: now, basis: "exact", row: null, key, due_at: now + delay };
}

function compare({ regions }: Plan, a: number, b: number): number {
  const [first, second] = [regions[a]?.id ?? "", regions[b]?.id ?? ""];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** A copy of JSON data, all the way down. */
function copied<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copied) as T;
  const copy = { ...value } as Members;
  for (const name of Object.keys(copy)) {
    const member = copy[name];
    if (typeof member === "object" && member !== null) copy[name] = copied(member);
  }
  return copy as T;
}
