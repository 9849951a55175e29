// Entities that live in Wasm: an event crosses as a number.

import type { WasmInstance, WasmInstances, WasmMachine } from "#core-bindings";
import { core } from "#core-wasm";

import { freed } from "./freed.ts";
import { nowOf, textOf, timeOf } from "./given.ts";
import { jsonText } from "./json.ts";
import { called, refusal } from "./refusal.ts";
import type { Plan } from "./steps.ts";
import type * as typed from "./typed.ts";
import { kindOf, wrong } from "./wrong.ts";

/** What all instances of a machine share: their events' numbers, and the steps that were met. */
export class Instances {
  readonly #machine: () => WasmMachine;
  #shared: Shared | undefined;

  constructor(machine: () => WasmMachine) {
    this.#machine = machine;
  }

  /** A new entity that lives in Wasm. */
  create(id: string, options: { readonly context?: object; readonly now?: number } = {}): Instance {
    const [named, now] = [textOf(id, "id"), nowOf(options, ["now", "context"])];
    const context = jsonText(options.context ?? {}, "context");
    const shared = this.#share();
    return called(() => new Instance(shared, shared.wasm.create(named, context, now)));
  }

  /** An entity from where a snapshot left it. */
  restore(snapshot: object, options: typed.At = {}): Instance {
    const now = nowOf(options);
    const text = jsonText(snapshot, "snapshot");
    const shared = this.#share();
    return called(() => new Instance(shared, shared.wasm.restore(text, now)));
  }

  #share(): Shared {
    return (this.#shared ??= share(core().WasmInstances.of(this.#machine())));
  }
}

interface Shared {
  readonly wasm: WasmInstances;
  readonly plan: Plan;
  /** The numbers of events without params, by type. */
  readonly handles: ReadonlyMap<string, number>;
}

function share(wasm: WasmInstances): Shared {
  const plan = JSON.parse(wasm.plan()) as Plan;
  const types = plan.events.map(({ event_type }) => event_type);
  return { wasm, plan, handles: new Map(types.map((type) => [type, wasm.event(type, "{}")])) };
}

/** The codes of `WasmInstance.send`. */
const STAYED = 0;
const MOVED = 1;

/**
 * An entity that lives in Wasm, for loops in which JSON would cost most: simulations, games, replays. It has the rules of
 * `Machine.send`, and a clock of its own that moves only when `now` is set. What its steps call for (history rows, effects) is
 * told nowhere: where that matters, use `Machine.send`.
 *
 * Its memory is freed when it is collected; `free`, or `using`, does so at once.
 */
export class Instance implements typed.Instance<typed.MachineTypes> {
  readonly #shared: Shared;
  readonly #handles: ReadonlyMap<string, number>;
  #wasm: WasmInstance;

  /** Use `Machine.instance` or `Machine.restore`. */
  constructor(shared: unknown, wasm: unknown);
  constructor(shared: Shared, wasm: WasmInstance) {
    this.#shared = shared;
    this.#handles = shared.handles;
    this.#wasm = wasm;
  }

  /** Its state: a name, or an object of regions. */
  get state(): string | Record<string, string> {
    const { parallel, regions } = this.#shared.plan;
    const wasm = this.#wasm;
    const [first] = regions;
    if (!parallel && first !== undefined) return first.states[wasm.state(0)]?.name ?? "";
    const pairs = regions.map(
      ({ id, states }, region) => [id, states[wasm.state(region)]?.name ?? ""] as const,
    );
    return Object.fromEntries(pairs);
  }

  /** How many commits wrote it. */
  get version(): number {
    return this.#wasm.version();
  }

  /** What its clock says, in milliseconds since the epoch. */
  get now(): number {
    return this.#wasm.now();
  }

  /**
   * Moves its clock on. What is due by then fires, oldest first.
   *
   * @throws {StatewrightError} The clock stands later already, or too many timeouts are due: those that fired stand, and the same
   * again goes on.
   */
  set now(to: number) {
    this.#moved(this.#wasm.advance(timeOf(to, "now")));
  }

  /** When its earliest timer is due, in milliseconds since the epoch; nothing where none is armed. */
  get due(): number | undefined {
    return this.#wasm.due();
  }

  /**
   * Numbers an event, once, so that it can be sent often. The number is good for every instance of the machine, and kept as long as
   * any of them: an event whose params never come again is better sent by its type.
   */
  event(type: string, params?: object): typed.EventHandle {
    const named = textOf(type, "type");
    const text = params === undefined ? "{}" : jsonText(params, "params");
    return called(() => this.#shared.wasm.event(named, text));
  }

  /**
   * Sends an event, by its number or by its type. Says whether it moved the entity.
   *
   * @throws {StatewrightError} The event is refused, such as by `JOIN_CASCADE_LIMIT`; nothing has changed then.
   */
  send(event: number | string, params?: object): boolean {
    if (typeof event === "number") {
      if (event >>> 0 !== event || params !== undefined) throw misnumbered(event, params);
      return this.#moved(this.#wasm.send(event));
    }
    if (params === undefined) {
      const handle = this.#handles.get(event);
      if (handle !== undefined) return this.#moved(this.#wasm.send(handle));
    }
    const type = textOf(event, "event");
    const text = params === undefined ? "{}" : jsonText(params, "params");
    return this.#moved(called(() => this.#wasm.send_once(type, text)));
  }

  #moved(code: number): boolean {
    if (code === MOVED) return true;
    if (code === STAYED) return false;
    throw refusal(this.#wasm.problem());
  }

  /** The entity as plain JSON, from which `Machine.restore` and `Machine.send` go on. */
  snapshot(): typed.Snapshot {
    return JSON.parse(called(() => this.#wasm.snapshot())) as typed.Snapshot;
  }

  /** Frees its memory. Nothing can be done with it any more. */
  free(): void {
    if (this.#wasm === FREED) return;
    this.#wasm.free();
    this.#wasm = FREED;
  }

  [Symbol.dispose](): void {
    this.free();
  }
}

function misnumbered(event: number, params: object | undefined): Error {
  if (params === undefined) return wrong("event", `it is ${event}`, "a number that `event` gave");
  const expected = "none: the event of a number has those it was given";
  return wrong("params", `they are ${kindOf(params)}`, expected);
}

const FREED = freed<WasmInstance>("instance");
