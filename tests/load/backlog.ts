// A backlog of effects in the outbox of a service, made from the one row that the service itself made.

import type { Runtime } from "../../scripts/runtime.ts";
import type { Sink } from "./sink.ts";

/** Its columns but those that say how far it has got. */
const COLUMNS = "tenant, kind, machine_id, entity_id, subscription";

const COPY = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < max(?1, ?6))
  INSERT INTO outbox (${COLUMNS}, id, event_id, status, lane, version, place, sink, target, effect, due_at, created_at)
  SELECT ${COLUMNS}, name, name, 'pending', lane || name, 1, 0,
    replace(sink, ?3, other), replace(target, ?3, other), replace(effect, ?3, other), ?4, ?4
  FROM (SELECT o.*, s.value AS other, o.id || '-' || ?2 || '-' || s.key || '-' || n.i AS name
    FROM (SELECT * FROM outbox WHERE status = 'done' ORDER BY id LIMIT 1) o CROSS JOIN json_each(?5) s CROSS JOIN n
    WHERE n.i < iif(s.key = 0, ?6, ?1))`;

/** How many effects there are for the first sink, and for each of the others. */
export interface Shape {
  readonly first: number;
  readonly others: number;
}

/**
 * Puts effects for every sink into the outbox, each in a lane of its own, due now. The service must have told the first one by
 * then.
 */
export async function backlog(
  runtime: Runtime,
  round: number,
  sinks: readonly Sink[],
  { first, others }: Shape,
): Promise<void> {
  const origins = sinks.map(({ url }) => new URL(url).origin);
  await runtime.sql(COPY, others, round, origins[0], Date.now(), JSON.stringify(origins), first);
  const [row] = await runtime.sql(
    "SELECT count(*) AS rows, count(DISTINCT sink) AS sinks FROM outbox WHERE status = 'pending'",
  );
  const rows = first + others * (sinks.length - 1);
  if (row?.["rows"] !== rows || row["sinks"] !== sinks.length) {
    throw new Error(`the backlog is ${JSON.stringify(row)}`);
  }
}

/** Takes what is left of a backlog out again. */
export async function drop(runtime: Runtime): Promise<void> {
  await runtime.sql("DELETE FROM outbox WHERE status = 'pending'");
}
