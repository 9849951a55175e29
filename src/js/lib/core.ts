/**
 * The pure core: machines, and what events and time do to their entities, which are plain JSON. Nothing here reads a clock that
 * was not asked for, keeps anything, or touches a network or a file. docs/npm.md.
 */

import type { WasmMachine } from "#core-bindings";
import { core } from "#core-wasm";

import type { DefineMachine, DefineOptions } from "./checked.ts";
import type { Definition, JsonDefinition } from "./definition.ts";
import { nowOf, optionsOf, textOf, timeOf } from "./given.ts";
import { type Instance, Instances } from "./instance.ts";
import { jsonText } from "./json.ts";
import { checkSame, familyOf, machinesOf } from "./kin.ts";
import { called } from "./refusal.ts";
import { Steps } from "./steps.ts";
import { eventText } from "./event.ts";
import type * as typed from "./typed.ts";

export type * from "./checked.ts";
export type * from "./definition.ts";
export { type ErrorBody, type ErrorCode, StatewrightError } from "./errors.ts";
export {
  type AdoptedRow,
  type AdoptOptions,
  checkScenario,
  type Checked,
  type Expected,
  type Scenario,
  type ScenarioStep,
  simulate,
  type SimulateOptions,
  type SimulatedEffect,
  type SimulatedEntity,
  type SimulatedRow,
  type SimulatedStep,
  Simulation,
} from "./simulate.ts";
export type * from "./typed.ts";

/** What a validation found. */
export interface Validation {
  readonly valid: boolean;
  /** Every fault: where it is, what is wrong, and what would be right. */
  readonly faults: readonly { readonly path: string; readonly problem: string; readonly expected: string }[];
  readonly warnings: readonly typed.DefinitionWarning[];
}

/** Looks at a definition without compiling it: what it says of other machines is left aside. */
export function validate(definition: unknown): Validation {
  return JSON.parse(called(() => core().validate(jsonText(definition, "definition")))) as Validation;
}

/** How `defineMachine` works: see `DefineMachine`. */
export const defineMachine: DefineMachine = ((
  definition: JsonDefinition,
  options: DefineOptions = {},
): typed.AnyMachine =>
  new Compiled(
    definition as Definition,
    machinesOf(optionsOf(options, ["machines", "types"]).machines ?? []),
  )) as DefineMachine;

/** A compiled machine. */
class Compiled implements typed.AnyMachine {
  readonly id: string;
  readonly definition: Definition;
  readonly machines: readonly typed.AnyMachine[];
  readonly warnings: readonly typed.DefinitionWarning[];
  readonly #wasm: WasmMachine;
  readonly #steps: Steps;
  readonly #instances: Instances;

  constructor(definition: Definition, machines: readonly typed.AnyMachine[]) {
    const text = jsonText(definition, "definition");
    // A copy: what becomes of the caller's own does not matter to the machine.
    this.definition = frozen(JSON.parse(text) as Definition);
    this.id = (this.definition as Definition | null)?.machine_id ?? "";
    const others = familyOf(machines).filter((machine) => {
      if (machine.id !== this.id) return true;
      checkSame(this.definition, machine.definition);
      return false;
    });
    const definitions = [text, ...others.map(({ definition: other }) => JSON.stringify(other))];
    this.#wasm = called(() => core().WasmMachine.compile(`[${definitions.join(",")}]`));
    this.machines = machines;
    this.warnings = JSON.parse(this.#wasm.warnings()) as typed.DefinitionWarning[];
    const wasm = () => this.#wasm;
    this.#steps = new Steps(wasm);
    this.#instances = new Instances(wasm);
  }

  start(id: string, context?: object, options: typed.At = {}): typed.Started {
    const [named, now] = [textOf(id, "id"), nowOf(options)];
    const members = jsonText(context ?? {}, "context");
    return JSON.parse(called(() => this.#wasm.create(named, members, now))) as typed.Started;
  }

  create(id: string, context?: object, options: typed.At = {}): typed.Snapshot {
    return this.start(id, context, options).snapshot;
  }

  send(snapshot: typed.Snapshot, event: typed.EventInput, options: typed.SendOptions = {}): typed.Sent {
    return this.#steps.send(snapshot, event, options) as typed.Sent;
  }

  why(snapshot: typed.Snapshot, event: typed.EventInput, options: typed.At = {}): typed.Explanation {
    const entity = jsonText(snapshot, "snapshot");
    const text = eventText(event);
    return JSON.parse(called(() => this.#wasm.why(entity, text, nowOf(options)))) as typed.Explanation;
  }

  events(snapshot: typed.Snapshot, options: typed.At = {}): readonly typed.PossibleEvent[] {
    const entity = jsonText(snapshot, "snapshot");
    const text = called(() => this.#wasm.events(entity, nowOf(options)));
    return JSON.parse(text) as typed.PossibleEvent[];
  }

  due(snapshot: typed.Snapshot): typed.Timer | undefined {
    const text = called(() => this.#wasm.due(jsonText(snapshot, "snapshot")));
    return text === undefined ? undefined : (JSON.parse(text) as typed.Timer);
  }

  advance(snapshot: typed.Snapshot, now: number): typed.Advanced {
    const text = called(() => this.#wasm.advance(jsonText(snapshot, "snapshot"), timeOf(now, "now")));
    return JSON.parse(text) as typed.Advanced;
  }

  diagram(format: typed.DiagramFormat, snapshot?: typed.Snapshot): string {
    const entity = snapshot === undefined ? undefined : jsonText(snapshot, "snapshot");
    return called(() => this.#wasm.diagram(textOf(format, "format"), entity));
  }

  instance(id: string, options: typed.At & { readonly context?: object } = {}): Instance {
    return this.#instances.create(id, options);
  }

  restore(snapshot: typed.Snapshot, options: typed.At = {}): Instance {
    return this.#instances.restore(snapshot, options);
  }
}

/** JSON data that nobody changes, all the way down. */
function frozen<T>(data: T): T {
  if (typeof data !== "object" || data === null) return data;
  for (const member of Object.values(data)) frozen(member as unknown);
  return Object.freeze(data);
}
