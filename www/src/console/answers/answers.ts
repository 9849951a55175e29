// What a service answers to what the console asks, looked at where it comes in: views then take it by its type. Pure.

import { entity, explanation, historyRow, listedEntity, possibleEvent, sent } from "./entities.ts";
import { count, machine, revision, validation } from "./machines.ts";
import { done, effect, effectWithAttempts, outbox, receipt, scheduler, source, tried } from "./operations.ts";
import { both, flag, list, type Misfit, number, object, type Shape } from "./shape.ts";

type Row = readonly [route: string, what: string, shape: Shape];

/** A `*` is any one part of a path. */
const ANSWERS: readonly Row[] = [
  ["GET /api/machines", "a list of machines", list(machine)],
  ["POST /api/machines", "the machine", machine],
  ["POST /api/machines/validate", "what it found in the definition", validation],
  ["GET /api/machines/*", "a machine", machine],
  ["PUT /api/machines/*", "the machine", machine],
  ["GET /api/machines/*/counts", "counts of entities", list(count)],
  ["GET /api/machines/*/revisions", "a list of revisions", list(revision)],
  ["GET /api/machines/*/entities", "a list of entities", list(listedEntity)],
  ["POST /api/machines/*/entities", "the entity", entity],
  ["GET /api/machines/*/entities/*", "an entity", entity],
  ["GET /api/machines/*/entities/*/events", "a list of events", list(possibleEvent)],
  ["POST /api/machines/*/entities/*/explain", "an explanation", explanation],
  ["GET /api/machines/*/entities/*/history", "a list of history rows", list(historyRow)],
  ["POST /api/machines/*/entities/*/release", "how many timers it released", object({ released: number })],
  ["POST /api/machines/*/entities/*/transition", "what the event did", sent],
  ["GET /api/outbox", "a page of the outbox", outbox],
  ["POST /api/outbox/cancel", "how many effects it cancelled", both(done, object({ cancelled: number }))],
  ["POST /api/outbox/redrive", "how many effects it redrove", both(done, object({ redriven: number }))],
  ["GET /api/outbox/*", "an effect", effectWithAttempts],
  ["POST /api/outbox/*/cancel", "the cancelled effect", both(effect, object({ may_be_delivered: flag }))],
  ["POST /api/outbox/*/redrive", "the redriven effect", effect],
  ["GET /api/receipts/*", "a list of receipts", list(receipt)],
  ["GET /api/scheduler", "the scheduler's standing", scheduler],
  ["GET /api/sources", "a list of sources", list(source)],
  ["GET /api/sources/*", "a source", source],
  ["PUT /api/sources/*", "the source", source],
  ["POST /api/sources/*/try", "what it makes of a request", tried],
];

const ROUTES = ANSWERS.map(([route, ...answer]) => ({ parts: route.split(/[ /]+/), answer }));

/** What is known of an answer before it is there. */
interface KnownAnswer {
  /** Why a body cannot be this answer, in words; undefined where it can. */
  misfit(body: unknown): string | undefined;
}

/**
 * The answer to a request that is not refused; undefined where it has no body that a view reads by its type.
 *
 * @param path within the service: `/api/machines/order`.
 */
export function answerTo(method: string, path: string): KnownAnswer | undefined {
  const asked = [method, ...path.split("/").slice(1)];
  const fits = (parts: readonly string[]) =>
    parts.length === asked.length && parts.every((part, at) => part === "*" || part === asked[at]);
  const route = ROUTES.find(({ parts }) => fits(parts));
  if (route === undefined) return undefined;
  const [what, shape] = route.answer;
  return {
    misfit(body) {
      const misfit = shape(body, "$");
      return misfit && `The service answered something else than ${what}: ${said(misfit)}`;
    },
  };
}

function said({ path, expected }: Misfit): string {
  return path === "$" ? `it is not ${expected}` : `${path} is not ${expected}`;
}
