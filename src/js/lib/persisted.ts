// Load, act, save once: a program's decisions on an entity, made in this process by the pure core, and written in one piece.

import { StatewrightError } from "./errors.ts";
import { eventBody, type Given } from "./event.ts";
import type { Operations } from "./operations.ts";
import { canonical } from "./same.ts";
import type {
  Advanced,
  AnyMachine,
  ChildSnapshot,
  EventInput,
  Explanation,
  HistoryRow,
  Machine,
  MachineTypes,
  PossibleEvent,
  Sent,
  Snapshot,
} from "./typed.ts";
import { wrong } from "./wrong.ts";

/** How an act is persisted. */
export interface PersistedOptions<T extends MachineTypes = MachineTypes> {
  /**
   * Makes the entity where it is missing: with this context, or with none where it is `true`. When left out, a missing entity is
   * refused with `NOT_FOUND` before the act begins.
   */
  readonly create?: boolean | T["context"] | undefined;
  /** How often the act is done anew after a conflict: 5 times when left out. */
  readonly retries?: number | undefined;
}

/** An entity while a program acts on it. Nothing of what happens to it is written before the act is over. */
export interface Acting<T extends MachineTypes = MachineTypes> {
  readonly id: string;
  /** The entity as it is by now, with the events that it was sent, and the timeouts that were due. */
  readonly snapshot: Snapshot<T>;
  readonly state: T["state"];
  readonly context: T["context"];
  readonly version: number;

  /**
   * Sends an event. One that moves nothing is told by its outcome.
   *
   * @throws StatewrightError where the event is refused: what was sent before stands all the same, unless the act throws it on.
   */
  send(event: EventInput<T>): Sent<T>;
  /** Why an event would, or would not, move the entity. */
  why(event: EventInput<T>): Explanation<T>;
  /** The events that it can take where it is. */
  events(): readonly PossibleEvent<T>[];
  /** Calls back once what was decided is written, in the order in which the callbacks were given. An act that is redone gives them anew. */
  afterCommit(callback: () => unknown): void;
}

/** What an act does with the entity. It may be called several times: what it does beside belongs into `afterCommit`. */
export type Act<T extends MachineTypes, Result> = (entity: Acting<T>) => Result | PromiseLike<Result>;

/** What the engine lends. */
export interface Keeper {
  readonly operations: Operations;
  /** The time in milliseconds since the epoch. */
  now(): number;
  /** Writes the events of an act, all or nothing. */
  write(machine: string, id: string, body: object): Promise<unknown>;
}

const RETRIES = 5;
/** The longest of the first waits between two tries, in milliseconds; it doubles from try to try. */
const FIRST_WAIT = 10;
const LONGEST_WAIT = 1_000;

/** Whether an entity is not any more what was decided on: deciding anew may help. */
const CONFLICTS: ReadonlySet<string> = new Set([
  "VERSION_CONFLICT",
  "CONFLICT",
  "NOT_FOUND",
  "INSTANCE_NOT_ACTIVE",
  "TIMEOUTS_PENDING",
  "EVENT_IDENTITY_CONFLICT",
]);
/** An event of the act was applied before it. */
const REPLAYED = "EVENT_IDENTITY_CONFLICT";

/** Acts on the entities of one tenant. */
export class Acts {
  readonly #keeper: Keeper;
  readonly #nested = new Nested();
  /** Which revisions of which machines are what the program has of them. */
  readonly #same = new WeakMap<object, Set<number>>();

  constructor(keeper: Keeper) {
    this.#keeper = keeper;
  }

  /** Loads an entity, acts on it, and saves it once. */
  async persisted<T extends MachineTypes, Result>(
    machine: Machine<T>,
    id: string,
    act: Act<T, Result>,
    options: PersistedOptions<T> = {},
  ): Promise<Result> {
    const { retries = RETRIES } = options;
    if (!Number.isInteger(retries) || retries < 0) {
      throw wrong("retries", `it is ${String(retries)}`, "a whole number from 0");
    }
    const outer = this.#nested.find(machine.id, id);
    // It is one act with the one around it.
    if (outer !== undefined) return act(outer as unknown as Draft<T>);
    // Which events were applied before is read where one of them turns out to be: seldom.
    let replays = false;
    for (let attempts = 1; ; attempts += 1) {
      const draft = await this.#load(machine, id, options.create ?? false, replays);
      const result = await this.#nested.within(draft as unknown as Draft, async () => act(draft));
      const body = draft.end();
      try {
        if (body !== undefined) await this.#keeper.write(machine.id, id, body);
      } catch (error) {
        if (!(error instanceof StatewrightError)) throw error;
        if (error.code === REPLAYED && !replays) {
          replays = true;
          attempts -= 1;
          continue;
        }
        if (!CONFLICTS.has(error.code)) throw error;
        if (attempts > retries) throw exhausted(machine.id, id, attempts, error);
        await pause(attempts);
        continue;
      }
      await draft.committed();
      return result;
    }
  }

  async #load<T extends MachineTypes>(
    machine: Machine<T>,
    id: string,
    create: boolean | T["context"],
    replays: boolean,
  ): Promise<Draft<T>> {
    const now = this.#keeper.now();
    const { entities } = this.#keeper.operations;
    let stored: Snapshot<T>;
    try {
      stored = (await entities.get(machine.id, id, { tree: true })) as unknown as Snapshot<T>;
    } catch (error) {
      const isMissing = error instanceof StatewrightError && error.code === "NOT_FOUND";
      if (!isMissing || create === false) throw error;
      await this.#checkFamily(machine as unknown as AnyMachine, []);
      const context = create === true ? {} : create;
      return new Draft(machine, make(machine, id, context, now), this.#keeper, { create: context }, []);
    }
    const tree = [...treeOf(stored as unknown as ChildSnapshot)];
    await this.#checkFamily(machine as unknown as AnyMachine, tree);
    const history: HistoryRow[] = [];
    for (const one of replays ? tree : []) {
      for await (const row of entities.history(one.machine_id, one.entity_id)) {
        history.push(row as unknown as HistoryRow);
      }
    }
    const { snapshot }: Advanced<T> = machine.advance(stored, now);
    return new Draft(machine, snapshot, this.#keeper, { versions: versions(snapshot) }, history);
  }

  /** Refuses machines that are not those that the entity and its children run by, and those that come to be will. */
  async #checkFamily(machine: AnyMachine, tree: readonly ChildSnapshot[]): Promise<void> {
    for (const one of family(machine)) {
      const living = tree.filter(({ machine_id }) => machine_id === one.id);
      const revisions: (number | undefined)[] = living.map(({ revision }) => revision);
      if (one !== machine || tree.length === 0) revisions.push(undefined);
      for (const revision of new Set(revisions)) await this.#check(one, revision);
    }
  }

  /** Refuses a machine that is not the one that the entity runs by: the program would decide otherwise than the engine. */
  async #check(machine: Known, revision: number | undefined): Promise<void> {
    let same = this.#same.get(machine);
    if (same === undefined) this.#same.set(machine, (same = new Set()));
    if (revision !== undefined && same.has(revision)) return;
    const wanted = canonical(machine.definition);
    for await (const one of this.#keeper.operations.machines.revisions(machine.id)) {
      const isIt = revision === undefined ? one.head : one.revision === revision;
      if (!isIt) continue;
      if (canonical(one.definition) !== wanted) {
        const message = `machine \`${machine.id}\` was defined otherwise at revision ${one.revision}, by which the entity runs; register this definition, or act with that one`;
        throw new StatewrightError(
          { code: "MACHINE_DRIFT", message, retry: false, revision: one.revision },
          409,
        );
      }
      same.add(one.revision);
      return;
    }
    const message = `there is no machine \`${machine.id}\`; register it first`;
    throw new StatewrightError({ code: "NOT_FOUND", message, retry: false }, 404);
  }
}

/** What of a machine says which one it is. */
interface Known {
  readonly id: string;
  readonly definition: object;
}

/** How an entity is made whose context is known to be of its machine. */
function make<T extends MachineTypes>(
  machine: Machine<T>,
  id: string,
  context: T["context"],
  now: number,
): Snapshot<T> {
  const { create } = machine as unknown as {
    create: (this: unknown, id: string, context: T["context"], at: { now: number }) => Snapshot<T>;
  };
  return create.call(machine, id, context, { now });
}

/** A machine, and all that its children can be made of. */
function family(machine: AnyMachine, found: Set<AnyMachine> = new Set()): Set<AnyMachine> {
  if (!found.has(machine)) {
    found.add(machine);
    for (const one of machine.machines) family(one, found);
  }
  return found;
}

/** An entity and everything that is known below it. */
function* treeOf(snapshot: ChildSnapshot): Generator<ChildSnapshot> {
  yield snapshot;
  for (const child of snapshot.children ?? []) yield* treeOf(child);
}

/** Machine, id and version of an entity and all that lives below it: what `Engine::act` holds the write to. */
function versions(snapshot: Snapshot<never> | Snapshot | ChildSnapshot): [string, string, number][] {
  const found: [string, string, number][] = [];
  const visit = (one: ChildSnapshot): void => {
    const status = (one.instance ?? one.legacy)?.status ?? "active";
    if (status !== "active") return;
    found.push([one.machine_id, one.entity_id, one.state_version]);
    one.children?.forEach(visit);
  };
  visit(snapshot as ChildSnapshot);
  return found;
}

function exhausted(machine: string, id: string, attempts: number, cause: StatewrightError): StatewrightError {
  const message = `entity \`${id}\` of machine \`${machine}\` was changed by others at each of ${attempts} attempts: ${cause.message}`;
  const error = { ...cause.details, code: "CONFLICT", message, retry: true, attempts };
  return new StatewrightError(error, 409, { cause });
}

function pause(attempts: number): Promise<void> {
  const longest = Math.min(FIRST_WAIT * 2 ** (attempts - 1), LONGEST_WAIT);
  return new Promise((over) => setTimeout(over, Math.random() * longest));
}

class Draft<T extends MachineTypes = MachineTypes> implements Acting<T> {
  readonly #machine: Machine<T>;
  readonly #keeper: Keeper;
  /** What the write begins with: the versions that were decided on, or the context of what is made. */
  readonly #basis: object;
  readonly #events: object[] = [];
  /** What was decided of each event. */
  readonly #becomes: object[] = [];
  /** Rows in which replays are looked for. */
  readonly #history: HistoryRow[];
  readonly #callbacks: (() => unknown)[] = [];
  #snapshot: Snapshot<T>;
  #isOver = false;

  constructor(
    machine: Machine<T>,
    snapshot: Snapshot<T>,
    keeper: Keeper,
    basis: object,
    history: HistoryRow[],
  ) {
    this.#machine = machine;
    this.#snapshot = snapshot;
    this.#keeper = keeper;
    this.#basis = basis;
    this.#history = history;
  }

  get machine(): string {
    return this.#machine.id;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get id(): string {
    return this.#snapshot.entity_id;
  }

  get snapshot(): Snapshot<T> {
    return this.#snapshot;
  }

  get state(): T["state"] {
    return this.#snapshot.current_state;
  }

  get context(): T["context"] {
    return this.#snapshot.context;
  }

  get version(): number {
    return this.#snapshot.state_version;
  }

  send(event: EventInput<T>): Sent<T> {
    this.#open("send");
    // An event without a timestamp is no replay of any (R14).
    const isDated = typeof event === "object" && event.timestamp !== undefined;
    const history = isDated ? { history: this.#history } : {};
    const sent = this.#machine.send(this.#snapshot, event, { now: this.#keeper.now(), ...history });
    this.#snapshot = sent.snapshot;
    if (sent.error !== undefined) throw sent.error;
    if (sent.outcome === "applied") {
      this.#events.push(eventBody(event as string | Given));
      const { state_version, current_state } = sent.answer;
      this.#becomes.push({ state_version, current_state });
      if (isDated) this.#history.push(...sent.commit.rows);
    }
    return sent;
  }

  why(event: EventInput<T>): Explanation<T> {
    return this.#machine.why(this.#snapshot, event, { now: this.#keeper.now() });
  }

  events(): readonly PossibleEvent<T>[] {
    return this.#machine.events(this.#snapshot, { now: this.#keeper.now() });
  }

  afterCommit(callback: () => unknown): void {
    this.#open("afterCommit");
    this.#callbacks.push(callback);
  }

  #open(what: string): void {
    if (!this.#isOver) return;
    const message = `${what}: the act on entity \`${this.id}\` is over`;
    throw new StatewrightError({ code: "ACT_OVER", message, retry: false }, 409);
  }

  /** Ends the act. Gives what is to be written, if anything. */
  end(): object | undefined {
    this.#isOver = true;
    const isMade = "create" in this.#basis;
    const body = { ...this.#basis, events: this.#events, becomes: this.#becomes };
    return isMade || this.#events.length > 0 ? body : undefined;
  }

  /** Calls back, whatever the others throw; the first error is thrown on. */
  async committed(): Promise<void> {
    const errors: unknown[] = [];
    for (const callback of this.#callbacks) {
      try {
        await callback();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}

/** The part of AsyncLocalStorage that is used. */
interface Scope<Value> {
  getStore(): Value | undefined;
  run<Result>(value: Value, run: () => Result): Result;
}

/** The acts that an act stands in, where the runtime can tell. */
class Nested {
  readonly #scope: Scope<readonly Draft[]> | undefined = scope();

  /** The act around this one that is on the same entity. */
  find(machine: string, id: string): Draft | undefined {
    return this.#scope
      ?.getStore()
      ?.find((draft) => draft.machine === machine && draft.id === id && !draft.isOver);
  }

  within<Result>(draft: Draft, run: () => Result): Result {
    if (this.#scope === undefined) return run();
    return this.#scope.run([draft, ...(this.#scope.getStore() ?? [])], run);
  }
}

function scope<Value>(): Scope<Value> | undefined {
  const hooks = globalThis.process?.getBuiltinModule?.("node:async_hooks");
  return hooks === undefined ? undefined : new hooks.AsyncLocalStorage<Value>();
}
