// Who is told of transitions: webhooks and queues, of records and of machines, held while suspended, and nobody at all.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  counted,
  delivered,
  type Delivery,
  later,
  outbox,
  pumped,
  secret,
  SECRETS_KEY,
  send,
  settled,
  signedBy,
  Sink,
  turning,
  until,
} from "./sink.ts";
import { type Answer, refused, serve } from "./support.ts";

const sink = await Sink.open();

/** The Worker beside a consumer of its queue, which hands on what it reads. */
const AROUND = `
import Worker from "./statewright.js";
export default {
  fetch: (request, env, context) => new Worker(context, env).fetch(request),
  scheduled: (event, env, context) => new Worker(context, env).scheduled(event),
  async queue(batch, env) {
    for (const { body } of batch.messages) {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      await fetch(env.QUEUE_READER, { method: "POST", body: text });
    }
  },
};`;

const service = await serve({
  around: AROUND,
  queues: ["EVENTS"],
  settings: {
    SECRETS_KEY,
    WEBHOOK_ALLOW: sink.host,
    NODE_NAME: "node-7",
    QUEUE_READER: `${sink.url}/queue`,
    STATE_MAX_ATTEMPTS: "3",
    ACTION_RETRIES: "0.05,0.05",
  },
});

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Subscribes a path of the sink; gives the subscription as it is answered. */
function subscribe(tenant: string, path: string, filter: object = {}): Promise<Answer["body"]> {
  const body = { source: "records", ...filter, sink: { type: "webhook", url: `${sink.url}${path}` } };
  return service.expect(201, "POST", "/api/subscriptions", { body, tenant });
}

function create(
  tenant: string,
  id: string,
  state = "working",
  machine = "onepony.task",
): Promise<Answer["body"]> {
  return service.expect(201, "POST", "/api/state/create", { body: { machine, id, state }, tenant });
}

function move(
  tenant: string,
  id: string,
  [from, to]: [string, string],
  expected_version: number,
  { machine = "onepony.task", headers = {} }: { machine?: string; headers?: Record<string, string> } = {},
): Promise<Answer["body"]> {
  return service.expect(200, "POST", "/api/state/transition", {
    body: { machine, id, from, to, expected_version },
    tenant,
    headers,
  });
}

function arrived(path: string, count = 1): Promise<Delivery[]> {
  return delivered(service, `${count} deliveries at ${path}`, () => {
    const found = sink.at(path);
    return found.length >= count && found;
  });
}

test("S0.32 to S0.41: a record's transition is presented with every field", async () => {
  const tenant = "fields";
  const made = await subscribe(tenant, "/fields");
  assert.match(made.id, /^sub_/);
  assert.equal(made.active, true);
  await create(tenant, "paris:t_0193f");
  const moved = await move(tenant, "paris:t_0193f", ["working", "waiting"], 1, {
    headers: { "x-request-id": "req-42", "x-run-id": "run-7" },
  });
  // The request presents it at once, without a scanner (S0.42).
  const [first] = await until("it is presented", () => sink.at("/fields").length > 0 && sink.at("/fields"));
  assert.ok(first !== undefined);
  const { timestamp, type, data, ...nothing } = first.body;
  assert.deepEqual(nothing, {});
  assert.equal(type, "record.transition");
  const { committed_at, fired_at, ...rest } = data;
  assert.deepEqual(rest, {
    machine: "onepony.task",
    id: "paris:t_0193f",
    from: "working",
    to: "waiting",
    version: 2,
    event_id: moved.event_id,
    attempt: 1,
    cause: { source: "api", stack: "POST /api/state/transition", trace: "req-42", run: "run-7" },
    tenant,
    node: "node-7",
  });
  assert.match(committed_at, ISO);
  assert.match(fired_at, ISO);
  assert.equal(timestamp, committed_at);
  assert.equal(Date.parse(committed_at), moved.record.updated_at);
  assert.ok(Date.parse(fired_at) >= Date.parse(committed_at));
  assert.deepEqual([first.id, first.attempt, first.method], [moved.event_id, 1, "POST"]);

  // Without a run there is none, and a trace there always is (S0.37).
  await move(tenant, "paris:t_0193f", ["waiting", "waiting"], 2);
  const [, second] = await arrived("/fields", 2);
  assert.deepEqual(Object.keys(second?.body.data.cause).sort(), ["source", "stack", "trace"]);
  assert.notEqual(second?.body.data.cause.trace, "");
  assert.deepEqual([second?.body.data.from, second?.body.data.to], ["waiting", "waiting"], "S0.25");
  assert.equal(second?.body.data.version, 3);

  await settled(service, tenant);
  const [row, ...others] = await outbox(service, "", tenant);
  assert.equal(others.length, 1, "S0.14: creation writes no event");
  assert.deepEqual(
    [row?.kind, row?.status, row?.event_id, row?.sink, row?.machine_id, row?.entity_id, row?.version],
    ["presentation", "done", moved.event_id, made.id, "onepony.task", "paris:t_0193f", 2],
  );
  assert.equal(row?.id, `${moved.event_id}~${made.id}`);
});

test("a machine's transitions are presented with their region, event and cause", async () => {
  const tenant = "machines";
  await subscribe(tenant, "/machines", { source: "machines" });
  await service.register(
    {
      machine_id: "sides",
      regions: [
        { id: "l", states: ["off", "on"], initial_state: "off" },
        { id: "r", states: ["off", "on"], initial_state: "off" },
      ],
      transitions: [
        { region: "l", from: "off", to: "on", on: "left" },
        { region: "r", from: "off", to: "on", on: "$timeout", guard: { after_ms: 60_000 } },
      ],
    },
    tenant,
  );
  await service.register(
    {
      machine_id: "brief",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [{ from: "a", to: "b", on: "$timeout", guard: { after_ms: 30 } }],
    },
    tenant,
  );
  const headers = { "x-request-id": "req-1" };
  await service.expect(200, "POST", "/api/machines/sides/evaluate", {
    body: { event_type: "left", entity_key: "id", params: { id: "s/1" } },
    headers,
    tenant,
  });
  const [parallel] = await arrived("/machines");
  assert.equal(parallel?.body.type, "machine.transition");
  const { committed_at, fired_at, event_id, ...rest } = parallel?.body.data;
  assert.deepEqual(rest, {
    machine: "sides",
    id: "s/1",
    region: "l",
    from: "off",
    to: "on",
    event_type: "left",
    version: 2,
    attempt: 1,
    cause: { source: "api", stack: "POST /api/machines/{machine_id}/evaluate", trace: "req-1" },
    tenant,
    node: "node-7",
  });
  assert.ok(ISO.test(committed_at) && ISO.test(fired_at));
  assert.equal(event_id, parallel?.id);

  await service.expect(201, "POST", "/api/machines/brief/entities", { body: { entity_id: "b" }, tenant });
  const [, timer] = await arrived("/machines", 2);
  assert.deepEqual(
    [timer?.body.data.machine, timer?.body.data.event_type, timer?.body.data.cause.source],
    ["brief", "$timeout", "timer"],
  );
  assert.equal(timer?.body.data.cause.stack, "tick");
  assert.equal("region" in timer?.body.data, false, "a flat machine has no regions");
});

test("what an effect sends is presented with the effect as its cause", async () => {
  const tenant = "effects";
  await subscribe(tenant, "/effects", { source: "machines", machine: "second" });
  await service.register(turning("second"), tenant);
  const action = { type: "transition", machine_id: "second", entity_id: "{/entity_id}", event_type: "turn" };
  await service.register(turning("first", action), tenant);
  await send(service, "first", "x", "turn", {}, { tenant });
  const [told] = await arrived("/effects");
  await settled(service, tenant);
  const row = (await outbox(service, "&machine=first", tenant)).find(({ kind }) => kind === "transition");
  assert.equal(told?.body.data.cause.source, `effect:${row?.id}`);
});

test("filters choose by machine, states and event", async () => {
  const tenant = "filters";
  await service.register(turning("one"), tenant);
  await service.register(turning("two"), tenant);
  const filters: Record<string, object> = {
    "/f/all": { source: "machines" },
    "/f/one": { source: "machines", machine: "one" },
    "/f/from": { source: "machines", from: "there" },
    "/f/to": { source: "machines", machine: "two", to: "there" },
    "/f/event": { source: "machines", event: "turn" },
    "/f/unheard": { source: "machines", event: "unheard" },
    "/f/records": { source: "records" },
    "/f/record-to": { source: "records", machine: "one", to: "there" },
  };
  for (const [path, filter] of Object.entries(filters)) await subscribe(tenant, path, filter);
  refused(
    await service.call("POST", "/api/subscriptions", {
      body: { source: "records", event: "turn", sink: { type: "webhook", url: `${sink.url}/f` } },
      tenant,
    }),
    400,
    "BAD_REQUEST",
  );
  for (const machine of ["one", "one", "two"]) await send(service, machine, "x", "turn", {}, { tenant });
  await create(tenant, "r", "here", "one");
  await move(tenant, "r", ["here", "there"], 1, { machine: "one" });
  await move(tenant, "r", ["there", "here"], 2, { machine: "one" });
  await settled(service, tenant);
  const told = (path: string) =>
    sink
      .at(path)
      .map(({ body: { data } }) => `${data.machine} ${data.from}>${data.to}`)
      .sort();
  assert.deepEqual(told("/f/all"), ["one here>there", "one there>here", "two here>there"]);
  assert.deepEqual(told("/f/one"), ["one here>there", "one there>here"]);
  assert.deepEqual(told("/f/from"), ["one there>here"]);
  assert.deepEqual(told("/f/to"), ["two here>there"]);
  assert.deepEqual(told("/f/event"), told("/f/all"));
  assert.deepEqual(told("/f/unheard"), []);
  assert.deepEqual(told("/f/records"), ["one here>there", "one there>here"]);
  assert.deepEqual(told("/f/record-to"), ["one here>there"]);
  // Whoever is told of the same transition is told the same id.
  const ids = new Set(sink.at("/f/all").map(({ id }) => id));
  assert.deepEqual(new Set(sink.at("/f/event").map(({ id }) => id)), ids);
});

test("presentations are signed with the tenant's secret, or with the subscription's own", async () => {
  const tenant = "signs";
  const common = await secret(service, "webhook-signing", tenant);
  const own = await secret(service, "own", tenant);
  await subscribe(tenant, "/signs/common");
  await service.expect(201, "POST", "/api/subscriptions", {
    body: { source: "records", sink: { type: "webhook", url: `${sink.url}/signs/own`, secret: "own" } },
    tenant,
  });
  await create(tenant, "s");
  await move(tenant, "s", ["working", "done"], 1);
  const [[one], [other]] = await Promise.all([arrived("/signs/common"), arrived("/signs/own")]);
  assert.ok(one !== undefined && other !== undefined);
  assert.ok(signedBy(one, common) && !signedBy(one, own));
  assert.ok(signedBy(other, own) && !signedBy(other, common));
});

test("a queue is told what a webhook is told", async () => {
  const tenant = "queues";
  await subscribe(tenant, "/queues");
  const made = await service.expect(201, "POST", "/api/subscriptions", {
    body: { source: "records", sink: { type: "queue", binding: "EVENTS" } },
    tenant,
  });
  assert.deepEqual(made.sink, { type: "queue", binding: "EVENTS" });
  await create(tenant, "q");
  const moved = await move(tenant, "q", ["working", "done"], 1);
  const [message] = await arrived("/queue");
  const [webhook] = await arrived("/queues");
  assert.equal(message?.body.data.event_id, moved.event_id);
  for (const told of [message, webhook]) delete told?.body.data.fired_at;
  assert.deepEqual(message?.body, webhook?.body);
  await settled(service, tenant);
  assert.deepEqual(
    (await outbox(service, "", tenant)).map(({ status }) => status),
    ["done", "done"],
  );
});

test("a queue that is not bound is a failure that is told, and never another binding", async () => {
  const tenant = "unbound";
  const binding = { source: "records", sink: { type: "queue", binding: "DB" } };
  const answer = await service.call("POST", "/api/subscriptions", { body: binding, tenant });
  if (answer.status !== 201) {
    assert.equal(answer.status, 400, answer.text);
    return;
  }
  await create(tenant, "u");
  await move(tenant, "u", ["working", "done"], 1);
  const [row] = await delivered(service, "an attempt", async () => {
    const rows = await outbox(service, "", tenant);
    return (rows[0]?.error ?? null) !== null && rows;
  });
  assert.notEqual(row?.status, "done");
  assert.match(row?.error ?? "", /DB/);
});

test("suspended: held and not counted; active again: offered in order, and nothing is missing", async () => {
  const tenant = "holds";
  const held = await subscribe(tenant, "/holds");
  const replace = (active: boolean) => {
    const { source, sink: to } = held;
    return service.expect(200, "PUT", `/api/subscriptions/${held.id}`, {
      body: { source, sink: to, active },
      tenant,
    });
  };
  await create(tenant, "h");
  await move(tenant, "h", ["working", "v2"], 1);
  await arrived("/holds");
  await settled(service, tenant);
  assert.equal((await replace(false)).active, false);
  await move(tenant, "h", ["v2", "v3"], 2);
  await move(tenant, "h", ["v3", "v4"], 3);
  await create(tenant, "i");
  await move(tenant, "i", ["working", "v2"], 1);
  await service.runtime.scheduled();
  const rows = await outbox(service, "&status=pending", tenant);
  assert.deepEqual(
    rows.map(({ entity_id, version, phase, attempt }) => [entity_id, version, phase, attempt]),
    [
      ["h", 3, "held", 0],
      ["h", 4, "queued", 0],
      ["i", 2, "held", 0],
    ],
  );
  assert.equal(sink.at("/holds").length, 1);
  await replace(true);
  await settled(service, tenant);
  const told = sink.at("/holds").map(({ body: { data }, attempt }) => [data.id, data.version, attempt]);
  assert.deepEqual(
    told.filter(([id]) => id === "h"),
    [
      ["h", 2, 1],
      ["h", 3, 1],
      ["h", 4, 1],
    ],
  );
  assert.deepEqual(
    told.filter(([id]) => id === "i"),
    [["i", 2, 1]],
  );
});

test("S0.30, S0.51: without a subscriber an event is skipped, and never replayed", async () => {
  const tenant = "nobody";
  await create(tenant, "n");
  const moved = await move(tenant, "n", ["working", "v2"], 1);
  const [row, ...others] = await outbox(service, "", tenant);
  assert.equal(others.length, 0);
  assert.deepEqual([row?.status, row?.event_id, row?.phase], ["skipped", moved.event_id, null]);
  await service.register(turning("unheard"), tenant);
  await send(service, "unheard", "x", "turn", {}, { tenant });
  assert.equal((await outbox(service, "", tenant)).length, 1, "a machine's transition writes no row");

  await subscribe(tenant, "/nobody");
  await subscribe(tenant, "/nobody", { source: "machines" });
  await service.runtime.scheduled();
  await move(tenant, "n", ["v2", "v3"], 2);
  const [first] = await arrived("/nobody");
  assert.equal(first?.body.data.version, 3);
  await settled(service, tenant);
  assert.equal(sink.at("/nobody").length, 1);
});

test("a subscription that is gone at the presentation: skipped, and the next of its lane too", async () => {
  const tenant = "leaves";
  const gone = await subscribe(tenant, "/leaves");
  const stays = await subscribe(tenant, "/stays");
  sink.reply = ({ path }) => ({ status: path === "/leaves" ? 500 : 204 });
  await create(tenant, "l");
  await move(tenant, "l", ["working", "v2"], 1);
  await move(tenant, "l", ["v2", "v3"], 2);
  await until("it was offered", () => sink.at("/leaves").length > 0);
  await service.expect(204, "DELETE", `/api/subscriptions/${gone.id}`, { tenant });
  await settled(service, tenant);
  const rows = await outbox(service, "", tenant);
  assert.deepEqual(
    rows.filter((row) => row.sink === gone.id).map(({ status }) => status),
    ["skipped", "skipped"],
  );
  assert.deepEqual(
    rows.filter((row) => row.sink === stays.id).map(({ status }) => status),
    ["done", "done"],
  );
  assert.deepEqual(
    sink.at("/leaves").map(({ body }) => body.data.version),
    [2],
  );
});

test("S0.44, S0.49: presented again with a higher attempt and the same id, and dead after the last", async () => {
  const tenant = "retries";
  await subscribe(tenant, "/retries");
  sink.reply = ({ path, body }) => ({ status: path === "/retries" && body.data.version === 2 ? 500 : 204 });
  await create(tenant, "r");
  const moved = await move(tenant, "r", ["working", "v2"], 1);
  await move(tenant, "r", ["v2", "v3"], 2);
  await settled(service, tenant);
  const told = sink.at("/retries");
  assert.deepEqual(
    told.map(({ body: { data }, attempt }) => [data.version, data.attempt, attempt]),
    [
      [2, 1, 1],
      [2, 2, 2],
      [2, 3, 3],
      [3, 1, 1],
    ],
    "S0.46: the next version waits until this one is over (R22)",
  );
  assert.deepEqual(
    told.slice(0, 3).map(({ id, body: { data } }) => [id, data.event_id]),
    Array.from({ length: 3 }, () => [moved.event_id, moved.event_id]),
  );
  const [dead] = await outbox(service, "&status=dead", tenant);
  assert.deepEqual([dead?.version, dead?.attempt], [2, 3]);
  assert.match(dead?.error ?? "", /500/);
  assert.ok(
    service.log.some((line) => line.includes(dead?.id ?? "?")),
    "and logged",
  );
});

test("tenants are told of their own transitions alone", async () => {
  const [mine, other] = ["apart-1", "apart-2"];
  const made = await subscribe(mine, "/apart");
  for (const [method, body] of [
    ["GET", undefined],
    ["PUT", { source: "records", sink: made.sink }],
    ["DELETE", undefined],
  ] as const) {
    const answer = await service.call(method, `/api/subscriptions/${made.id}`, {
      tenant: other,
      ...(body === undefined ? {} : { body }),
    });
    // PUT creates one of that name for the other tenant.
    assert.equal(answer.status, method === "PUT" ? 201 : method === "GET" ? 404 : 204, answer.text);
  }
  assert.equal(
    (await service.expect(200, "GET", `/api/subscriptions/${made.id}`, { tenant: mine })).id,
    made.id,
  );
  await create(mine, "same");
  await create(other, "same");
  await move(other, "same", ["working", "v2"], 1);
  await settled(service, other);
  assert.equal(sink.at("/apart").length, 0);
  await move(mine, "same", ["working", "v2"], 1);
  const [told] = await arrived("/apart");
  assert.equal(told?.body.data.tenant, mine);
  assert.deepEqual((await counted(service, other))["done"], 0);
});

test("order per record holds while passes and requests present at the same time", async () => {
  const tenant = "orders";
  await subscribe(tenant, "/orders");
  const failed = new Set<string>();
  // Each is accepted at its second presentation, some after a while.
  sink.reply = async ({ path, id }) => {
    if (path !== "/orders") return { status: 204 };
    await later((sink.deliveries.length * 7) % 30);
    if (failed.has(id)) return { status: 204 };
    failed.add(id);
    return sink.deliveries.length % 3 === 0 ? "close" : { status: 204 };
  };
  const pumps = [pumped(service), pumped(service)];
  const records = Array.from({ length: 6 }, (_, index) => `o-${index}`);
  const moves = 8;
  await Promise.all(
    records.map(async (id) => {
      await create(tenant, id, "s1");
      for (let version = 1; version <= moves; version += 1)
        await move(tenant, id, [`s${version}`, `s${version + 1}`], version);
    }),
  );
  await until(
    "all are told",
    async () => (await counted(service, tenant))["done"] === records.length * moves,
  );
  await Promise.all(pumps.map((pump) => pump.stop()));
  for (const id of records) {
    const told = sink.at("/orders").filter(({ body }) => body.data.id === id);
    const versions = told.map(({ body }) => body.data.version as number);
    assert.deepEqual(
      versions,
      versions.toSorted((one, other) => one - other),
      id,
    );
    assert.equal(new Set(versions).size, moves);
    assert.ok(versions.length <= 2 * moves);
  }
});
