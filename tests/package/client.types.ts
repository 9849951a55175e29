// What the client and the Worker's hooks take and give, for the compiler: nothing here is run. `tsc -p .` is the test.

import {
  type Client,
  createClient,
  type Entity,
  type HistoryRow,
  type ListedEntity,
  type Machine,
  StatewrightError,
} from "../../src/js/lib/client.ts";
import type { ServiceCode } from "../../src/js/lib/codes.ts";
import { createWorker } from "../../src/js/lib/worker.ts";
import { order } from "../http/support.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => undefined;

export async function asked(client: Client): Promise<void> {
  const { machines, entities, evaluate, records, outbox, subscriptions, secrets, sources } = client;

  // Definitions: literals, values of a JSON file, and what a service gave.
  const machine = await machines.create(order);
  same<typeof machine, Machine>(true);
  await machines.replace("order", machine, { in_flight: "pin" });
  await machines.replace("order", { states: ["a"], initial_state: "a", transitions: [] });
  const transitions: readonly { from: string; to: string; on: string }[] = machine.transitions;
  void transitions;
  // @ts-expect-error a definition has transitions
  await machines.create({ machine_id: "m", states: ["a"], initial_state: "a" });
  // @ts-expect-error a definition has a machine_id, but for a PUT
  await machines.create({ states: ["a"], initial_state: "a", transitions: [] });
  // @ts-expect-error there is no such policy
  await machines.replace("order", order, { in_flight: "drop" });
  // @ts-expect-error there is no such format
  await machines.diagram("order", { format: "svg" });
  same<Awaited<ReturnType<typeof machines.diagram>>, string>(true);
  same<Awaited<ReturnType<typeof machines.delete>>, void>(true);

  // Entities and events.
  const made = await entities.create("order", { entity_id: "o-1", context: { customer: "c-9" } });
  same<typeof made, Entity>(true);
  same<typeof made.current_state, string | { readonly [region: string]: string }>(true);
  const due: number | undefined = made.region_entries["_"]?.due_at;
  void due;
  // @ts-expect-error an entity has an id
  await entities.create("order", { context: {} });
  // @ts-expect-error what was read is not to be written
  made.state_version = 3;
  const told = await entities.transition("order", "o-1", { event_type: "pay", target: [{ state: "paid" }] });
  same<typeof told.transition, string | null>(true);
  same<typeof told.state_version, number>(true);
  for (const action of told.actions_dispatched ?? []) {
    if (action.action_type === "webhook") same<typeof action.url, string>(true);
    // @ts-expect-error the others have no address
    else void action.url;
  }
  // @ts-expect-error an event has a type
  await entities.transition("order", "o-1", { params: {} });
  // @ts-expect-error an event that is evaluated says which param names its entity
  await evaluate("order", { event_type: "pay", params: { id: "o-1" } });
  const why = await entities.explain("order", "o-1", { event_type: "pay" });
  same<typeof why.would, "transition" | "no_transition" | "forward" | "refused">(true);
  const op = why.candidates[0]?.clauses[0]?.op;
  same<typeof op, "eq" | "neq" | "ne" | "gt" | "gte" | "lt" | "lte" | "contains" | undefined>(true);

  // Lists.
  const { items, next } = await entities.list("order", { limit: 10, state: "paid" });
  same<typeof items, readonly ListedEntity[]>(true);
  same<typeof next, string | undefined>(true);
  for (const listed of items) {
    if ("error" in listed) same<typeof listed.error.code, ServiceCode>(true);
    else same<typeof listed, Entity>(true);
  }
  for await (const row of entities.history("order", "o-1")) same<typeof row, HistoryRow>(true);
  // @ts-expect-error there is no such order
  entities.history("order", "o-1", { order: "oldest" });
  const { counts, oldestPending } = await outbox.list();
  same<typeof counts.dead, number>(true);
  same<typeof oldestPending, number | null>(true);

  // Everything else.
  await records.create({ machine: "task", id: "t-1", state: "open", data: null });
  // @ts-expect-error a move says the version that it is from
  await records.transition({ machine: "task", id: "t-1", from: "open", to: "done" });
  await subscriptions.create({ source: "machines", sink: { type: "queue", binding: "TRANSITIONS" } });
  // @ts-expect-error a webhook has an address
  await subscriptions.create({ source: "machines", sink: { type: "webhook" } });
  const { value } = await secrets.put("s");
  same<typeof value, string | undefined>(true);
  const { counts: taken } = await sources.get("shop");
  same<typeof taken.bad_signature, number>(true);

  // Options.
  await machines.delete("order", { idempotencyKey: null, signal: AbortSignal.timeout(10), runId: "r" });
  // @ts-expect-error what changes nothing has no key
  await machines.get("order", { idempotencyKey: "k" });
  // @ts-expect-error a client is of a service
  createClient({ apiKey: "k" });

  // The raw API.
  const { data, error } = await client.http.GET("/api/machines/{machine_id}", {
    params: { path: { machine_id: "order" } },
  });
  if (error === undefined) same<typeof data.revision, number>(true);
  else same<typeof error.error.retry, boolean>(true);
  // @ts-expect-error the path has a part that is open
  await client.http.GET("/api/machines/{machine_id}");
  // @ts-expect-error there is no such route
  await client.http.GET("/api/machine");
}

export function refused(error: StatewrightError): string | undefined {
  switch (error.code) {
    case "VERSION_CONFLICT": {
      const { actual, expected, faults } = error.details;
      same<typeof actual, number | null | undefined>(true);
      same<typeof expected, number | undefined>(true);
      return faults?.[0]?.path;
    }
    case "NO_ANSWER":
      return String(error.cause);
    default:
      // One that a newer service may have.
      return error.code;
  }
}

interface Env {
  readonly TOKEN: string;
}

export const hooked = createWorker<Env>({
  async fetch(request, env, context, next) {
    same<typeof env, Env>(true);
    context.waitUntil(Promise.resolve());
    return request.headers.get("x") === env.TOKEN ? next() : next(new Request(request.url));
  },
  async queue(batch: { readonly messages: readonly unknown[] }) {
    void batch.messages;
  },
});
same<ReturnType<typeof hooked.fetch>, Promise<Response>>(true);

// @ts-expect-error an answer is a Response
createWorker({ fetch: () => "Hello" });
// @ts-expect-error there is no such handler
createWorker({ fetsh: () => new Response() });
