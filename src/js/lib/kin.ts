// Machines and those of their children.

import type { Definition } from "./definition.ts";
import { canonical } from "./same.ts";
import type { AnyMachine } from "./typed.ts";
import { kindOf, wrong } from "./wrong.ts";

/** Machines that are given. */
export function machinesOf<Machines extends readonly AnyMachine[]>(machines: Machines): Machines {
  const expected = "an array of machines that `defineMachine` gave";
  if (!Array.isArray(machines)) {
    const problem = isMachine(machines) ? "it is a machine" : `it is ${kindOf(machines)}`;
    throw wrong("machines", problem, expected);
  }
  for (const [place, machine] of (machines as readonly unknown[]).entries()) {
    if (!isMachine(machine)) throw wrong(`machines[${place}]`, `it is ${kindOf(machine)}`, expected);
  }
  return machines;
}

/** A machine that is given. */
export function machineOf<M extends AnyMachine>(machine: M): M {
  if (isMachine(machine)) return machine;
  throw wrong("machine", `it is ${kindOf(machine)}`, "a machine that `defineMachine` gave");
}

/** Whether it is a machine that `defineMachine` gave, and no definition. */
export function isMachine(value: unknown): value is AnyMachine {
  if (typeof value !== "object" || value === null) return false;
  const { definition, machines, send } = value as { readonly [Key in keyof AnyMachine]?: unknown };
  return typeof send === "function" && typeof definition === "object" && Array.isArray(machines);
}

/**
 * Machines with those that they were given, each once.
 *
 * @throws {StatewrightError} Two of them have one id and are not the same.
 */
export function familyOf(machines: readonly AnyMachine[]): AnyMachine[] {
  const found = new Map<string, AnyMachine>();
  const add = (machine: AnyMachine): void => {
    const known = found.get(machine.id);
    if (known !== undefined) {
      checkSame(known.definition, machine.definition);
      return;
    }
    found.set(machine.id, machine);
    machine.machines.forEach(add);
  };
  machines.forEach(add);
  return [...found.values()];
}

/** Refuses two definitions of one id that are not the same. */
export function checkSame(one: Definition, other: Definition): void {
  if (one === other || canonical(one) === canonical(other)) return;
  const problem = `\`${one.machine_id}\` is defined in two ways`;
  throw wrong("machines", problem, "one definition of each machine");
}
