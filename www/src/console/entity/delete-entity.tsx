import type { Entity } from "statewright/client";

import { counted } from "../../parts/counted.ts";
import { tell } from "../../parts/overlays.tsx";
import { withinTree } from "../fork/definitions.ts";
import type { Deed } from "./acting.ts";
import type { Subject } from "./subject.ts";

/** What of the entity's effects is still to come. */
async function pendingOf({ machine, entity }: Subject, { client, signal }: Deed): Promise<string> {
  const query = { machine, entity, status: "pending", limit: 100 } as const;
  const { items, next } = await client.outbox.list(query, { signal });
  if (items.length === 0) return "Its outbox rows stay; none of them waits to be sent.";
  const effects = `${next === undefined ? "" : "more than "}${counted(items.length, "effect")}`;
  return `Its outbox rows stay: ${effects} not delivered yet will still be sent.`;
}

/** Asks, and deletes an entity with everything below it. */
export async function deleteEntity(subject: Subject, tree: Entity | undefined, deed: Deed): Promise<void> {
  const { machine, entity } = subject;
  const below = tree === undefined ? [] : [...withinTree(tree)].slice(1);
  const pending = await pendingOf(subject, deed);
  const yes = await deed.ask({
    title: `Delete ${entity}?`,
    body: (
      <>
        <p>
          {machine} <strong>{entity}</strong> is deleted for good.
        </p>
        <p>
          With it go its history, its timers and the receipts that tell of it
          {below.length === 0
            ? ""
            : `, and ${counted(below.length, "entity", "entities")} below it with theirs, live and ended`}
          . If it is made again, an old event that is sent again counts as new.
        </p>
        <p>{pending}</p>
      </>
    ),
    action: "Delete",
    danger: true,
  });
  if (!yes) return;
  await deed.client.entities.delete(machine, entity);
  tell(`Deleted ${entity}`);
  deed.visit(["machines", machine]);
}
