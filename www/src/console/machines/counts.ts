// How many entities machines have.

import type { Count } from "statewright/client";

import { client } from "../service.ts";

/** How many entities there are: each is in one state of each region. */
export function totalOf(counts: readonly Count[]): number {
  const regions = new Map<string, number>();
  for (const { region, entities } of counts) regions.set(region, (regions.get(region) ?? 0) + entities);
  return Math.max(0, ...regions.values());
}

/** A count's state as it is told: with its region where it is a parallel machine's. */
export function stateName({ region, state }: { readonly region: string; readonly state: string }): string {
  return region === "_" ? state : `${region}: ${state}`;
}

/** The counts of a machine, or why they cannot be read. */
export interface MachineCounts {
  readonly machine_id: string;
  readonly counts: readonly Count[] | undefined;
  readonly problem: string | undefined;
}

/** Requests under way at a time: a service has more to do. */
const AT_A_TIME = 4;

/** The counts of machines, in their order. */
export async function countsOf(machines: readonly string[], signal: AbortSignal): Promise<MachineCounts[]> {
  const answers = new Map<string, MachineCounts>();
  const left = machines[Symbol.iterator]();
  const work = async () => {
    for (const machine_id of left) {
      signal.throwIfAborted();
      answers.set(machine_id, await countsOfOne(machine_id, signal));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return [...answers.values()];
}

async function countsOfOne(machine_id: string, signal: AbortSignal): Promise<MachineCounts> {
  try {
    return { machine_id, counts: await client().machines.counts(machine_id, { signal }), problem: undefined };
  } catch (error) {
    return { machine_id, counts: undefined, problem: error instanceof Error ? error.message : String(error) };
  }
}
