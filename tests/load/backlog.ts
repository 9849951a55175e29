// A backlog of effects in the outbox of a service, made from the one row that the service itself made.

import type { Runtime } from "../../scripts/runtime.ts";
import type { Sink } from "./sink.ts";

/** How many lanes a sink has, and how many effects are in each. */
export interface Shape {
  readonly lanes: number;
  readonly deep: number;
}

/** Its columns but those that say how far it has got. */
const COLUMNS = "tenant, kind, machine_id, entity_id, subscription";

const COPY = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
  INSERT INTO outbox (${COLUMNS}, id, event_id, status, lane, version, place, sink, target, effect, due_at, created_at)
  SELECT ${COLUMNS}, id || '-' || ?2 || '-' || s.key || '-' || i, id || '-' || ?2 || '-' || s.key || '-' || i, 'pending',
    lane || '-' || s.key || '-' || (i / ?3), 1 + i % ?3, 0,
    replace(sink, ?4, s.value), replace(target, ?4, s.value), replace(effect, ?4, s.value),
    iif(i % ?3 = 0, ?5, NULL), ?5
  FROM (SELECT * FROM outbox WHERE status = 'done' ORDER BY id LIMIT 1)
  CROSS JOIN json_each(?6) s CROSS JOIN n`;

/** Puts a backlog for every sink into the outbox, due now. The service must have told the first one by then. */
export async function backlog(
  runtime: Runtime,
  round: number,
  sinks: readonly Sink[],
  { lanes, deep }: Shape,
): Promise<void> {
  const origins = sinks.map(({ url }) => new URL(url).origin);
  await runtime.sql(COPY, lanes * deep, round, deep, origins[0], Date.now(), JSON.stringify(origins));
  const [row] = await runtime.sql(
    "SELECT count(*) AS rows, count(DISTINCT sink) AS sinks, count(DISTINCT lane) AS lanes FROM outbox WHERE status = 'pending'",
  );
  const expected = { rows: lanes * deep * sinks.length, sinks: sinks.length, lanes: lanes * sinks.length };
  if (JSON.stringify(row) !== JSON.stringify(expected))
    throw new Error(`the backlog is ${JSON.stringify(row)}`);
}

/** Takes what is left of a backlog out again. */
export async function drop(runtime: Runtime): Promise<void> {
  await runtime.sql("DELETE FROM outbox WHERE status = 'pending'");
}
