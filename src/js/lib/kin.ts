// Machines and those of their children.

import type { AnyMachine } from "./typed.ts";

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
