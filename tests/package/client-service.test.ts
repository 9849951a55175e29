// The client against the real Worker: the operations, and that what is sent again has one effect.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";

import { type Client, createClient, type HistoryRow, StatewrightError } from "../../src/js/lib/client.ts";
import { KEYED_ROUTES } from "../../src/js/lib/routes.ts";
import { KEY, order, serve } from "../http/support.ts";

const SECRETS_KEY = Buffer.alloc(32, 7).toString("base64");

const service = await serve({ settings: { SECRETS_KEY } });
const { url } = service.runtime;

/** A client of a tenant that no other test has. */
function client(tenant: string, options: { url?: string; retries?: number } = {}): Client {
  return createClient({ url, apiKey: KEY, tenant, ...options });
}

/** How the service answered a try: with which status, and whether it had answered before. */
interface Try {
  readonly route: string;
  readonly status: number;
  readonly replayed: boolean;
}

/** A proxy before the service that loses answers once the service has given them. */
async function losing(lost: (nth: number) => boolean, hasty = false) {
  const tries: Try[] = [];
  const proxy = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const nth = tries.push({ route: "", status: 0, replayed: false }) - 1;
      // Before the service has answered: its work goes on while the client asks again.
      if (hasty && lost(nth)) setTimeout(() => request.socket.destroy(), 20);
      const headers = { ...request.headers } as Record<string, string>;
      for (const name of ["connection", "host", "content-length", "transfer-encoding"]) delete headers[name];
      const { method = "", url: path = "" } = request;
      const body = parts.length === 0 ? null : Buffer.concat(parts);
      void fetch(url + path, { method, headers, body }).then(async (answer) => {
        const { status } = answer;
        const replayed = answer.headers.get("idempotency-replayed") === "true";
        tries[nth] = { route: `${method} ${path}`, status, replayed };
        if (lost(nth)) return void request.socket.destroy();
        const type = answer.headers.get("content-type") ?? "text/plain";
        response.writeHead(status, { "content-type": type }).end(await answer.text());
      });
    });
  });
  await new Promise<void>((ready) => proxy.listen(0, "127.0.0.1", ready));
  after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, tries };
}

test("an order from its registration to its deletion", async () => {
  const { machines, entities, evaluate, evaluateBatch, health, scheduler, receipts } = client("story");
  assert.equal((await health()).status, "ok");
  const checked = await machines.validate({ ...order, initial_state: "nowhere" });
  assert.equal(checked.valid, false);
  assert.equal((await machines.create(order)).revision, 1);
  assert.equal((await machines.replace("order", { ...order, label: "2" }, { in_flight: "pin" })).revision, 2);
  assert.deepEqual(
    (await machines.revisions("order")).items.map(({ revision }) => revision),
    [2, 1],
  );

  const made = await entities.create("order", { entity_id: "o-1", context: { customer: "c-9" } });
  assert.equal(made.current_state, "pending");
  const options = await entities.events("order", "o-1");
  assert.deepEqual(
    options.map(({ event_type }) => event_type),
    ["pay"],
  );
  const why = await entities.explain("order", "o-1", { event_type: "pay", params: { amount: 0 } });
  assert.equal(why.would, "no_transition");
  const paid = await entities.transition(
    "order",
    "o-1",
    { event_type: "pay", params: { amount: 5 } },
    { idempotencyKey: "pay o-1" },
  );
  assert.equal(paid.transition, "pending → paid");
  const [receipt] = await receipts("pay o-1");
  assert.equal(receipt?.outcome, "applied");

  const event = { event_type: "pay", entity_key: "id", params: { id: "o/2 ü", amount: 1 } };
  assert.equal((await evaluate("order", event)).entity_id, "o/2 ü");
  assert.equal((await entities.get("order", "o/2 ü")).current_state, "paid");
  const batch = await evaluateBatch("order", [event, { ...event, params: {} }]);
  assert.deepEqual([batch.succeeded, batch.failed], [1, 1]);

  assert.deepEqual(await machines.counts("order"), [{ region: "_", state: "paid", entities: 2 }]);
  assert.match(await machines.diagram("order", { format: "dot", entity_id: "o-1" }), /^digraph/);
  const { items } = await entities.history("order", "o-1", { order: "id" });
  assert.deepEqual(
    items.map((row: HistoryRow) => row.to_state),
    ["paid"],
  );
  assert.equal((await entities.release("order", "o-1")).released, 0);
  assert.deepEqual((await scheduler()).parked, []);
  for await (const { entity_id } of entities.list("order")) await entities.delete("order", entity_id);
  await machines.delete("order");
  assert.deepEqual((await machines.list()).items, []);
});

test("lists go on to their end by their Link header, with the filters that were asked for", async () => {
  const { machines, entities, outbox } = client("pages");
  await machines.create(order);
  const ids = Array.from({ length: 7 }, (_, at) => `o-${at}`);
  for (const entity_id of [...ids, "other"]) await entities.create("order", { entity_id });
  const seen: string[] = [];
  for await (const { entity_id } of entities.list("order", { limit: 3, prefix: "o-" })) seen.push(entity_id);
  assert.deepEqual(seen, ids);
  const first = await entities.list("order", { limit: 3 });
  assert.equal(first.items.length, 3);
  assert.ok(first.next);
  const second = await entities.list("order", { limit: 3, cursor: first.next });
  assert.deepEqual(
    second.items.map(({ entity_id }) => entity_id),
    ["o-3", "o-4", "o-5"],
  );
  const { counts, oldestPending, items, next } = await outbox.list({ status: "dead" });
  assert.deepEqual([counts.dead, oldestPending, items, next], [0, null, [], undefined]);
});

test("a refusal has the service's code, status and details", async () => {
  const { machines, entities } = client("refusals");
  const told = async (call: PromiseLike<unknown>): Promise<StatewrightError> => {
    const error = await call.then(
      () => assert.fail("it was not refused"),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof StatewrightError);
    return error;
  };
  const faulty = await told(machines.create({ ...order, initial_state: "nowhere" }));
  assert.equal(faulty.code, "BAD_REQUEST");
  assert.equal(faulty.status, 400);
  assert.equal(faulty.details.faults?.[0]?.path, "$.initial_state");
  await machines.create(order);
  await entities.create("order", { entity_id: "o-1" });
  const event = { event_type: "pay", expected_version: 7, params: { amount: 1 } };
  const stale = await told(entities.transition("order", "o-1", event));
  assert.equal(stale.code, "VERSION_CONFLICT");
  assert.equal(stale.retry, false);
  assert.deepEqual([stale.details.expected, stale.details.actual], [7, 1]);
  assert.equal((await told(entities.get("order", "o-9"))).code, "NOT_FOUND");
  const stranger = createClient({ url, apiKey: "wrong", tenant: "refusals" });
  assert.equal((await told(stranger.machines.list())).code, "UNAUTHORIZED");
});

test("each route that takes a key has one effect when its answer is lost, and its answer is given again", async () => {
  const { url: through, tries } = await losing((nth) => nth % 2 === 0);
  const direct = client("lost");
  const { machines, entities, evaluate, evaluateBatch, records, secrets, subscriptions, sources, outbox } =
    client("lost", { url: through });

  assert.equal((await machines.create(order)).revision, 1);
  assert.equal((await machines.replace("order", order)).revision, 2);
  assert.equal((await direct.machines.get("order")).revision, 2, "replaced once");
  await entities.create("order", { entity_id: "o-1" });
  const pay = { event_type: "pay", params: { amount: 1 } };
  assert.equal((await entities.transition("order", "o-1", pay)).state_version, 2);
  assert.equal((await direct.entities.get("order", "o-1")).state_version, 2, "moved once");
  const named = { event_type: "pay", entity_key: "id", params: { id: "o-2", amount: 1 } };
  assert.equal((await evaluate("order", named)).transition, "pending → paid");
  const batch = await evaluateBatch("order", [{ ...named, params: { id: "o-3", amount: 1 } }]);
  assert.equal(batch.results[0]?.result?.transition, "pending → paid");
  await entities.release("order", "o-1");
  await entities.delete("order", "o-1");

  const record = { machine: "task", id: "t-1" };
  assert.equal((await records.create({ ...record, state: "open" })).record.version, 1);
  const sink = { type: "webhook", url: "https://example.com/" } as const;
  const held = { source: "records", sink, active: false } as const;
  const { id } = await subscriptions.create(held);
  await subscriptions.put("audit", held);
  assert.equal((await direct.subscriptions.list()).items.length, 2);
  const moved = await records.transition({ ...record, from: "open", to: "done", expected_version: 1 });
  assert.equal(moved.record.version, 2);

  const [effect, other] = (await direct.outbox.list({ status: "pending" })).items;
  assert.ok(effect !== undefined && other !== undefined);
  assert.equal((await outbox.cancel(effect.id)).status, "cancelled");
  assert.equal((await outbox.redrive(effect.id)).status, "pending");
  assert.equal((await outbox.cancelAll({ machine: "task" })).cancelled, 2);
  assert.equal((await outbox.redriveAll({ status: "cancelled" })).redriven, 2);

  const told = await secrets.put("shop");
  assert.equal(told.version, 1);
  assert.equal(told.value, undefined, "what was made up is told once, and that was lost");
  assert.equal(
    (await secrets.rotate("shop", { value: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" })).version,
    2,
  );
  await secrets.deletePrevious("shop");
  const scheme = { type: "standard-webhooks" };
  const mapping = { entity_id: "/data/order" };
  await sources.put("shop", { machine: "order", scheme, secret: "shop", mapping });
  await sources.delete("shop");
  await secrets.delete("shop");
  await subscriptions.delete(id);
  for (const entity_id of ["o-2", "o-3"]) await direct.entities.delete("order", entity_id);
  await machines.delete("order");

  const asked = new Set<string>();
  for (let at = 0; at < tries.length; at += 2) {
    const [lost, given] = [tries[at], tries[at + 1]];
    assert.ok(lost !== undefined && given !== undefined);
    assert.equal(given.route, lost.route);
    assert.equal(given.status, lost.status, lost.route);
    assert.equal(lost.replayed, false, lost.route);
    assert.equal(given.replayed, true, lost.route);
    const [method, ...path] = lost.route.split(" ");
    const pattern = [...KEYED_ROUTES].filter((route) => {
      const form = route.replace(/\{\w+\}/g, "[^/]+");
      return new RegExp(`^${form}$`).test(`${method} ${path.join(" ").split("?")[0]}`);
    });
    for (const route of pattern) asked.add(route);
  }
  const unasked = [...KEYED_ROUTES].filter((route) => !asked.has(route));
  assert.deepEqual(unasked, []);
});

test("a batch whose connection broke is waited for until the answer to its first try is there", async () => {
  const { url: through, tries } = await losing((nth) => nth === 0, true);
  const { machines } = client("hasty");
  await machines.create(order);
  const events = Array.from({ length: 1000 }, (_, at) => {
    return { event_type: "pay", entity_key: "id", params: { id: `o-${at}`, amount: 1 } };
  });
  const { succeeded } = await client("hasty", { url: through, retries: 1 }).evaluateBatch("order", events);
  assert.equal(succeeded, 1000);
  assert.deepEqual(await machines.counts("order"), [{ region: "_", state: "paid", entities: 1000 }]);
  const answers = tries.map(({ status, replayed }) => `${status}${replayed ? " again" : ""}`);
  assert.equal(answers[0], "200");
  assert.equal(answers.at(-1), "200 again");
  assert.ok(answers.slice(1, -1).every((answer) => answer === "409"));
});
