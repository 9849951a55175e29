// A live entity as the beginning of a simulation.

import type { JsonDefinition, Scenario } from "statewright";

import { withinTree } from "./definitions.ts";
import type { Handover } from "./handover.ts";
import type { LiveCopy } from "./live-copy.ts";
import { mask } from "./mask.ts";

/** What of it is taken. */
interface ForkOptions {
  /** Whether values of context and params are taken as they are. */
  readonly personal: boolean;
  /** What the clock reads. */
  readonly now: number;
  /** What is shown first: the entity that the fork was asked of. */
  readonly subject: { readonly machine_id: string; readonly entity_id: string };
}

/** When the tree was written last. */
function lastWrite(copy: LiveCopy): number {
  return Math.max(...Array.from(withinTree(copy.tree), ({ updated_at }) => updated_at));
}

/** A simulation that begins where the entity is: with its tree, its timers and its history, and with nothing that is ever sent. */
export function forkOf(copy: LiveCopy, { personal, now, subject }: ForkOptions): Handover {
  const definitions: readonly JsonDefinition[] = copy.definitions;
  const { tree, history } = personal ? copy : mask(copy.tree, copy.history, definitions);
  // The clocks of the service and of this browser can differ.
  const start = Math.max(now, lastWrite(copy));
  const scenario: Scenario = {
    statewright: "scenario/1",
    // Children first, so that what names them is checked against them.
    machines: [...definitions].reverse(),
    start,
    tenant: tree.tenant_id,
    deliver: false,
    steps: [{ op: "adopt", at: start, args: { body: { tree, history } } }],
  };
  return { definitions, scenario, subject, name: `${subject.machine_id} ${subject.entity_id}` };
}
