// The entity that a view is of.

import type { Entity } from "statewright/client";

import { StatewrightError } from "statewright/client";

import { consoleLink } from "../place.ts";
import { client } from "../service.ts";

/** The name of an entity. */
export interface Subject {
  readonly machine: string;
  readonly entity: string;
}

/** An entity as it was read. */
export interface Found {
  readonly tree: Entity;
  /** Whether all that is below it is there: a tree can be too large for one answer. */
  readonly whole: boolean;
}

/** The sections of an entity's view. */
type SectionId = "diagram" | "tree" | "history" | "timers" | "context" | "outbox" | "receipts";

/** The address of an entity, or of a section of its view. */
export function entityLink(
  { machine, entity }: Subject,
  section?: SectionId,
  filters?: URLSearchParams,
): string {
  return consoleLink(["entity", machine, entity, ...(section === undefined ? [] : [section])], filters);
}

/** Reads an entity with all that is below it. */
export async function readEntity({ machine, entity }: Subject, signal: AbortSignal): Promise<Found> {
  const { entities } = client();
  try {
    return { tree: await entities.get(machine, entity, { tree: true }, { signal }), whole: true };
  } catch (error) {
    if (!(error instanceof StatewrightError) || error.code !== "PAYLOAD_TOO_LARGE") throw error;
    return { tree: await entities.get(machine, entity, undefined, { signal }), whole: false };
  }
}
