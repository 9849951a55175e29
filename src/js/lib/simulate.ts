// Simulations: machines and entities on a virtual clock, with everything that happened.

import type { WasmSession } from "#simulation-bindings";
import { simulation } from "#simulation-wasm";

import type { Definition } from "./definition.ts";
import type { ErrorBody } from "./errors.ts";
import { freed } from "./freed.ts";
import { optionsOf, textOf, timeOf } from "./given.ts";
import { jsonText } from "./json.ts";
import { familyOf, machinesOf } from "./kin.ts";
import { called, errorOf } from "./refusal.ts";
import { eventBody } from "./event.ts";
import type * as typed from "./typed.ts";
import { kindOf, wrong } from "./wrong.ts";

/** What a simulation begins with. */
export interface SimulateOptions {
  /** What its clock reads, in milliseconds since the epoch; 0 if left out. */
  readonly now?: number;
  /** The tenant that views name; `default` if left out. */
  readonly tenant?: string;
  /**
   * Whether an event that a commit sends to another entity (a `transition` action) is applied right after the commit, as a service
   * does. Where it is false, such events wait for `deliver`.
   */
  readonly deliver?: boolean;
}

/** An entity as a service shows it: a snapshot with what only a service knows. */
export interface SimulatedEntity<
  T extends typed.MachineTypes = typed.MachineTypes,
> extends typed.Snapshot<T> {
  readonly tenant_id: string;
  readonly revision: number;
  readonly created_at: number;
  readonly instance?: typed.InstancePlace;
}

/** A row of an entity's history, with its number: higher in later commits. */
export interface SimulatedRow extends typed.HistoryRow {
  readonly id: number;
  readonly tenant_id: string;
  readonly revision: number;
}

/** A history row that an entity is taken in with, as a service or a simulation lists it. */
export interface AdoptedRow extends Omit<typed.HistoryRow, "actions_dispatched"> {
  readonly id: number;
  readonly actions_dispatched: readonly object[];
}

/** What an entity is taken in with, and when. */
export interface AdoptOptions extends When {
  /** The rows of all entities of its tree, in any order. Replays are found by them. */
  readonly history?: readonly AdoptedRow[];
}

/** What a commit called for. Only events to entities of the simulation are ever delivered; the rest stays `pending`. */
export interface SimulatedEffect {
  readonly id: number;
  readonly effect_id: string;
  readonly status: "pending" | "accepted" | "failed" | "dead";
  /** Whose history row calls for it. */
  readonly source: { readonly machine_id: string; readonly entity_id: string; readonly row: number };
  readonly effect: { readonly kind: typed.Effect["kind"]; readonly [detail: string]: unknown };
  readonly created_at: number;
  /** What came of an event that was accepted. */
  readonly outcome?: string;
  /** Why it is none. */
  readonly error?: string;
}

/** Something that was done, and can be undone. */
export interface SimulatedStep {
  readonly op: string;
  /** What the clock read. */
  readonly at: number;
  readonly args: { readonly [name: string]: unknown };
  readonly status: number;
}

/** What a step of a scenario expects: all that it names must be so. */
export interface Expected {
  /** The entity's state after the step; null where there is no entity. */
  readonly state?: unknown;
  readonly outcome?: "applied" | "duplicate" | "no_transition" | "refused" | "done";
  /** The code of the error with which it is refused. */
  readonly error?: string;
  readonly status?: number;
  /** Of the body, what must be there: objects match in part, arrays whole. */
  readonly body?: unknown;
}

/** A step of a scenario. */
export interface ScenarioStep {
  readonly op: string;
  /** What the clock reads, in milliseconds since the epoch; as before, if left out. */
  readonly at?: number;
  readonly args?: { readonly [name: string]: unknown };
  readonly expect?: Expected;
}

/** A simulation as JSON: played again by `import`, checked by `checkScenario` and by `npx statewright check`. */
export interface Scenario {
  readonly statewright: "scenario/1";
  readonly machines: readonly unknown[];
  readonly start?: number;
  readonly tenant?: string;
  readonly deliver?: boolean;
  readonly steps: readonly ScenarioStep[];
}

/** What came of a scenario. */
export interface Checked {
  readonly passed: boolean;
  /** How many steps were done. */
  readonly steps: number;
  /** The steps that were otherwise than they expect, counted from 0, each with what was otherwise. */
  readonly failures: readonly { readonly step: number; readonly problem: string }[];
}

/** When something is done: the clock is turned on to that time first, and fires nothing by itself. */
export interface When {
  readonly at?: number;
}

/** A timeout that fired. */
export interface FiredTimeout {
  readonly machine_id: string;
  readonly entity_id: string;
  readonly region: string;
  readonly from_state: string;
  readonly to_state: string;
  /** When it was due. */
  readonly timestamp: number;
}

function atOf(when: When): number | undefined {
  return optionsOf(when, ["at"]).at;
}

type Some = readonly typed.AnyMachine[];
type TypesById<Machines extends Some, Id> = typed.TypesOf<typed.MachineById<Machines, Id>>;

/**
 * Starts a simulation of machines, and of those that they were given for their children.
 *
 * @throws {StatewrightError} The machines do not fit each other.
 */
export function simulate<const Machines extends Some>(
  machines: Machines,
  options: SimulateOptions = {},
): Simulation<Machines> {
  return new Simulation(machines, options);
}

/**
 * Plays a scenario, and compares what its steps expect with what comes. A step that expects nothing must not be refused.
 *
 * @throws {StatewrightError} It is no scenario, or a machine of it has faults.
 */
export function checkScenario(scenario: Scenario): Checked {
  const text = jsonText(scenario, "scenario");
  return JSON.parse(called(() => simulation().checkScenario(text))) as Checked;
}

/**
 * Machines and entities on a virtual clock. What it answers is what a service answers to the same request; what a service would
 * refuse is thrown as a `StatewrightError`. Nothing leaves it: webhooks are listed, and never sent.
 *
 * Its memory is freed when it is collected; `free`, or `using`, does so at once.
 */
export class Simulation<Machines extends Some = Some> {
  #session: WasmSession;

  /** Use `simulate`. */
  constructor(machines: Machines, options: SimulateOptions) {
    const family = familyOf(machinesOf(machines)).reverse();
    const { now, tenant, deliver } = optionsOf(options, ["now", "tenant", "deliver"]);
    const start = timeOf(now ?? 0, "now");
    const named = tenant === undefined ? undefined : textOf(tenant, "tenant");
    if (deliver !== undefined && typeof deliver !== "boolean") {
      throw wrong("deliver", `it is ${kindOf(deliver)}`, "true or false");
    }
    this.#session = new (simulation().WasmSession)(start, named, deliver);
    // Children first, so that what names them is checked against them.
    for (const { definition } of family) {
      const text = jsonText(definition, "machines");
      called(() => this.#session.give(text));
    }
  }

  /** What its clock reads, in milliseconds since the epoch. */
  get now(): number {
    return this.#session.now();
  }

  /** Does any operation, as the core's `simulation` tells them: the status and the body of a service's answer. */
  perform(op: string, args: object = {}): { readonly status: number; readonly body: unknown } {
    const [named, text] = [textOf(op, "op"), jsonText(args, "args")];
    return JSON.parse(called(() => this.#session.perform(named, text))) as { status: number; body: unknown };
  }

  /** The body of what an operation answers. */
  #done<Body>(op: string, args: object = {}): Body {
    const { status, body } = this.perform(op, args);
    if (status >= 300) throw errorOf((body as { readonly error: ErrorBody }).error);
    return body as Body;
  }

  /** Registers another machine. */
  register(definition: Definition): void {
    this.#done("register", { body: definition });
  }

  /** A new entity in its initial state. */
  create<Id extends typed.IdOf<Machines[number]>>(
    machine: Id,
    entity: string,
    context?: TypesById<Machines, Id>["context"],
    options: When = {},
  ): SimulatedEntity<TypesById<Machines, Id>> {
    const body = { entity_id: entity, context };
    return this.#done("create", { machine_id: machine, body, at: atOf(options) });
  }

  /**
   * Takes in an entity of a service, with the tree that `?tree=true` shows of it: it goes on here as it would there. The clock
   * is turned on to when the tree was last written, where it is behind that.
   */
  adopt(tree: typed.Snapshot, options: AdoptOptions = {}): SimulatedEntity {
    const { history, at } = optionsOf(options, ["history", "at"]);
    return this.#done("adopt", { body: { tree, history }, at });
  }

  /** Sends an event to an entity. Replays are found in its history. */
  send<Id extends typed.IdOf<Machines[number]>>(
    machine: Id,
    entity: string,
    event: typed.EventInput<TypesById<Machines, Id>>,
    options: When = {},
  ): typed.Answer<TypesById<Machines, Id>> {
    return this.#done(
      "transition",
      this.#about(machine, entity, eventBody(event as typed.EventInput), options),
    );
  }

  /** Why an event would, or would not, move an entity. */
  why<Id extends typed.IdOf<Machines[number]>>(
    machine: Id,
    entity: string,
    event: typed.EventInput<TypesById<Machines, Id>>,
  ): typed.Explanation<TypesById<Machines, Id>> {
    return this.#done("explain", this.#about(machine, entity, eventBody(event as typed.EventInput)));
  }

  /** The events that an entity, and what lives below it, can take where they are. */
  events<Id extends typed.IdOf<Machines[number]>>(
    machine: Id,
    entity: string,
  ): readonly typed.PossibleEvent<TypesById<Machines, Id>>[] {
    return this.#done("events", this.#about(machine, entity));
  }

  /** An entity. */
  entity<Id extends typed.IdOf<Machines[number]>>(
    machine: Id,
    entity: string,
  ): SimulatedEntity<TypesById<Machines, Id>> {
    return this.#done("entity", this.#about(machine, entity));
  }

  /** An entity with all that lives or lived below it. */
  tree<Id extends typed.IdOf<Machines[number]>>(
    machine: Id,
    entity: string,
  ): SimulatedEntity<TypesById<Machines, Id>> {
    return this.#done("tree", this.#about(machine, entity));
  }

  /** The entities of a machine, or all of them, by their ids. */
  entities(machine?: typed.IdOf<Machines[number]>): readonly SimulatedEntity[] {
    return this.#done("entities", { machine_id: machine });
  }

  /** The history of an entity; with `after`, the rows that have a higher `id`. */
  history(
    machine: typed.IdOf<Machines[number]>,
    entity: string,
    options: { readonly after?: number } = {},
  ): readonly SimulatedRow[] {
    const { after } = optionsOf(options, ["after"]);
    return this.#done("history", { ...this.#about(machine, entity), after });
  }

  /** Deletes an entity with all that hangs below it. */
  delete(machine: typed.IdOf<Machines[number]>, entity: string): void {
    this.#done("delete", this.#about(machine, entity));
  }

  /** A machine as a picture, with the states of an entity marked where one is named. */
  diagram(machine: typed.IdOf<Machines[number]>, format: typed.DiagramFormat, entity?: string): string {
    return this.#done("diagram", { machine_id: machine, format, entity_id: entity });
  }

  /** The timer that is due first, if one is armed. */
  due(): typed.Timer | undefined {
    return this.#done<typed.Timer | null>("due") ?? undefined;
  }

  /** Turns the clock on to a time: what is due by then fires in order, each when it is due. Gives what fired, of many the first. */
  advance(to: number): readonly FiredTimeout[] {
    const fired: FiredTimeout[] = [];
    for (;;) {
      const { timeouts, more } = this.#done<{ timeouts: FiredTimeout[]; more: boolean }>("advance", { to });
      fired.push(...timeouts);
      if (!more) return fired;
    }
  }

  /** What commits called for, in their order. */
  effects(): readonly SimulatedEffect[] {
    return this.#done("effects");
  }

  /** Delivers events to other entities that still wait, and those that these lead to. Gives how many. */
  deliver(): number {
    return this.#done<{ done: number }>("deliver").done;
  }

  /** Everything that was done, and how much of it is not undone. */
  steps(): { readonly done: number; readonly steps: readonly SimulatedStep[] } {
    return this.#done("steps");
  }

  /** Undoes the last step, or all but so many. The clock goes back with them; the machines that it began with stay. */
  undo(to?: number): void {
    this.#done("undo", { to });
  }

  /** Redoes the next step that was undone, or so many. */
  redo(to?: number): void {
    this.#done("redo", { to });
  }

  /** What was done as a scenario, which is plain JSON. */
  export(): Scenario {
    return this.#done("export");
  }

  /** Becomes what a scenario tells. */
  import(scenario: Scenario): void {
    this.#done("import", { body: scenario });
  }

  #about(machine: string, entity: string, body?: object, when: When = {}): object {
    return { machine_id: machine, entity_id: entity, body, at: atOf(when) };
  }

  /** Frees its memory. Nothing can be done with it any more. */
  free(): void {
    if (this.#session === FREED) return;
    this.#session.free();
    this.#session = FREED;
  }

  [Symbol.dispose](): void {
    this.free();
  }
}

const FREED = freed<WasmSession>("simulation");
