// Machines and those of their children.

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

/** Machines with those that they were given, each once. */
export function familyOf(machines: readonly AnyMachine[]): AnyMachine[] {
  const found = new Map<string, AnyMachine>();
  const add = (machine: AnyMachine): void => {
    if (found.has(machine.id)) return;
    found.set(machine.id, machine);
    machine.machines.forEach(add);
  };
  machines.forEach(add);
  return [...found.values()];
}
