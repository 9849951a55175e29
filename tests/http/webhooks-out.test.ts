// What leaves the service for its transitions: webhooks, events for the operator's collector, events for other
// machines. Signatures are verified by libraries that we did not write.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  counted,
  delivered,
  type Delivery,
  outbox,
  redrive,
  row as rowOf,
  secret,
  SECRETS_KEY,
  send,
  settled,
  signedBy,
  Sink,
  turning,
  until,
} from "./sink.ts";
import { refused, serve, type Service } from "./support.ts";

const sink = await Sink.open();
const platform = await Sink.open();
platform.reply = ({ body }) => ({
  status: 201,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ token: `token-of-${body?.key_prefix}` }),
});
const service = await serve({
  settings: {
    SECRETS_KEY,
    WEBHOOK_ALLOW: sink.host,
    EVENT_CORE_INGEST_URL: `${sink.url}/ingest`,
    PLATFORM_API_URL: platform.url,
    PLATFORM_API_KEY: "platform-key",
    ACTION_RETRIES: "0.05,0.05,0.1",
    NODE_NAME: "node-7",
  },
});

/** A machine from `a` to `b`, which calls for these actions on entering `b`. */
function machine(machine_id: string, ...actions: object[]): object {
  return {
    machine_id,
    states: ["a", "b"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "go" }],
    actions: actions.map((action) => ({ on_enter: "b", action })),
  };
}

const webhook = (path: string, more: object = {}) => ({
  type: "webhook",
  url: `${sink.url}${path}`,
  ...more,
});

/** Waits for the deliveries of a path. */
function arrived(path: string, count = 1, of: Service = service): Promise<Delivery[]> {
  return delivered(of, `${count} deliveries at ${path}`, () => {
    const found = sink.at(path);
    return found.length >= count && found;
  });
}

async function firstAt(path: string): Promise<Delivery> {
  const [first] = await arrived(path);
  assert.ok(first !== undefined);
  return first;
}

test("S2.122: a webhook is posted with the seed's body, right after the commit and once", async () => {
  await service.register(machine("plain", webhook("/plain")));
  const answer = await send(service, "plain", "p-1", "go");
  assert.deepEqual(answer.actions_dispatched, [
    { action_type: "webhook", url: `${sink.url}/plain`, state: "b" },
  ]);
  // No scanner runs here: the request itself sends.
  const [delivery] = await until("the delivery", () => sink.at("/plain").length > 0 && sink.at("/plain"));
  assert.ok(delivery !== undefined);
  assert.equal(delivery.method, "POST");
  assert.equal(delivery.headers["content-type"], "application/json");
  assert.deepEqual(delivery.body, {
    tenant_id: "t1",
    machine_id: "plain",
    entity_id: "p-1",
    from_state: "a",
    to_state: "b",
  });
  assert.equal(delivery.attempt, 1);
  assert.equal(delivery.headers["webhook-signature"], undefined, "the tenant has no secret yet");
  assert.match(delivery.headers["webhook-timestamp"] ?? "", /^\d{10}$/);

  await settled(service);
  const [row, ...others] = await outbox(service, "&machine=plain");
  assert.equal(others.length, 0);
  assert.ok(row !== undefined);
  assert.deepEqual(
    [row.kind, row.status, row.phase, row.entity_id, row.version, row.attempt, row.sink, row.error],
    ["webhook", "done", null, "p-1", 2, 1, `${sink.url}/plain`, null],
  );
  assert.deepEqual([row.id, row.event_id], [delivery.id, delivery.id]);
  assert.equal(row.due_at, null);
  assert.ok(row.finished_at !== null && row.finished_at >= row.created_at);

  const whole = await rowOf(service, row.id);
  assert.equal(whole.id, row.id);
  assert.deepEqual(
    whole.attempts.map((tried: { attempt: number; status: number }) => [tried.attempt, tried.status]),
    [[1, 204]],
  );
  refused(
    await service.call("GET", `/api/outbox/${encodeURIComponent(row.id)}`, { tenant: "t2" }),
    404,
    "NOT_FOUND",
  );
  assert.equal(sink.at("/plain").length, 1);
});

test("what is not a committed transition of the event sends nothing", async () => {
  await service.register(machine("quiet", webhook("/quiet")));
  const before = await counted(service);
  const dry = await service.expect(200, "POST", "/api/machines/quiet/evaluate", {
    body: { event_type: "go", entity_key: "id", params: { id: "q-0" }, dry_run: true },
  });
  assert.equal(dry.transition, "a → b");
  const apart = await send(service, "quiet", "q-1", "go", {}, { timestamp: 1000, dispatch: false });
  assert.equal(apart.actions_dispatched.length, 1, "S2.117: it only says so");
  await send(service, "quiet", "q-1", "go", {}, { timestamp: 1000 });
  await send(service, "quiet", "q-1", "go", {}, { timestamp: 1001 });
  await service.expect(201, "POST", "/api/machines/quiet/entities", { body: { entity_id: "q-2" } });
  await service.runtime.scheduled();
  assert.deepEqual(
    await counted(service),
    before,
    "duplicates, no transition, creation and dry runs (S2.118)",
  );
  assert.equal(sink.at("/quiet").length, 0);
  // What is dispatched after it does not bring it along.
  await send(service, "quiet", "q-3", "go", {}, { timestamp: 1000 });
  await send(service, "quiet", "q-3", "go", {}, { timestamp: 1000 });
  assert.equal((await firstAt("/quiet")).body.entity_id, "q-3");
  await settled(service);
  assert.equal(sink.at("/quiet").length, 1);
});

test("S2.114, R19: `transition` and batches send as well, in the order of their events", async () => {
  const tenant = "batches";
  const body = {
    id: { $from: "/entity_id" },
    version: { $from: "/state_version" },
    n: { $from: "/event/params/n" },
  };
  await service.register(turning("batched", webhook("/batched", { body })), tenant);
  const event = (id: string, n: number, more: object = {}) => ({
    event_type: "turn",
    entity_key: "id",
    params: { id, n },
    ...more,
  });
  const events = [
    event("x", 1),
    event("y", 2),
    event("x", 3),
    event("x", 4, { dispatch: false }),
    event("x", 5),
    event("y", 6),
  ];
  const headers = { "idempotency-key": "batch-1" };
  const batch = () =>
    service.expect(200, "POST", "/api/machines/batched/evaluate/batch", {
      body: { events },
      headers,
      tenant,
    });
  assert.equal((await batch()).succeeded, events.length);
  await batch();
  await service.expect(200, "POST", "/api/machines/batched/entities/y/transition", {
    body: { event_type: "turn", params: { n: 7 } },
    tenant,
  });
  await settled(service, tenant);
  const told = (id: string) =>
    sink
      .at("/batched")
      .filter((one) => one.body.id === id)
      .map(({ body: { version, n } }) => [version, n]);
  assert.deepEqual(told("x"), [
    [2, 1],
    [3, 3],
    [5, 5],
  ]);
  assert.deepEqual(told("y"), [
    [2, 2],
    [3, 6],
    [4, 7],
  ]);
});

test("a cascade sends what its entities call for, each in a lane of its own", async () => {
  const tenant = "cascades";
  const body = { machine: { $from: "/machine_id" }, to: { $from: "/to_state" }, id: { $from: "/effect_id" } };
  const action = webhook("/cascade", { body });
  await service.register(
    {
      machine_id: "child",
      states: ["busy", "fin"],
      initial_state: "busy",
      transitions: [{ from: "busy", to: "fin", on: "finish" }],
      actions: [{ on_enter: "fin", action }],
    },
    tenant,
  );
  await service.register(
    {
      machine_id: "parent",
      states: ["idle", "busy", "done"],
      initial_state: "idle",
      transitions: [{ from: "idle", to: "busy", on: "go" }],
      sub_machines: { busy: { machine_id: "child", lifecycle: "managed", on_final: { fin: "done" } } },
      actions: [
        { on_enter: "busy", action },
        { on_enter: "done", action },
      ],
    },
    tenant,
  );
  await send(service, "parent", "p", "go", {}, { tenant });
  await send(service, "child", "p::sub::busy", "finish", {}, { tenant });
  const found = await arrived("/cascade", 3);
  await settled(service, tenant);
  assert.deepEqual(found.map(({ body: of }) => `${of.machine} ${of.to}`).toSorted(), [
    "child fin",
    "parent busy",
    "parent done",
  ]);
  const [one, other] = (await outbox(service, "", tenant)).slice(1);
  // Of one commit, and counted in it.
  assert.equal(one?.id.replace(/\.\d+$/, ""), other?.id.replace(/\.\d+$/, ""));
  assert.notEqual(one?.id, other?.id);
});

test("a receipt says of an event which effects it had", async () => {
  const tenant = "receipts";
  await service.register(machine("traced", webhook("/traced")), tenant);
  const headers = { "idempotency-key": "evt-7" };
  await send(service, "traced", "t", "go", {}, { tenant, timestamp: 4711, headers });
  await settled(service, tenant);
  const [effect] = await outbox(service, "", tenant);
  const [receipt] = await service.expect(200, "GET", "/api/receipts/evt-7", { tenant });
  assert.deepEqual([receipt.outcome, receipt.status, receipt.state_version], ["applied", 200, 2]);
  assert.deepEqual(receipt.outbox, [effect?.id]);
  const [row] = await service.expect(200, "GET", "/api/machines/traced/entities/t/history", { tenant });
  const identity = encodeURIComponent(row.identity_key);
  const event = await service.call("GET", `/api/receipts/${identity}?machine=traced&entity=t`, { tenant });
  assert.equal(event.status, 200, event.text);
  const [told] = [event.body].flat();
  assert.deepEqual([told.outcome, told.outbox], ["applied", [effect?.id]]);
  refused(await service.call("GET", "/api/receipts/evt-7", { tenant: "t2" }), 404, "NOT_FOUND");
});

test("every delivery is signed with the tenant's secret, through a rotation", async () => {
  const tenant = "rotates";
  await service.register(
    turning("signed", webhook("/signed"), webhook("/unsigned", { signed: false })),
    tenant,
  );
  let turns = 0;
  const next = async (): Promise<Delivery> => {
    await send(service, "signed", "s", "turn", { note: "ünïcode \u2028 €" }, { tenant });
    turns += 1;
    const found = await arrived("/signed", turns);
    return found[turns - 1] as Delivery;
  };
  const unsigned = await next();
  assert.equal(unsigned.headers["webhook-signature"], undefined);
  assert.notEqual(unsigned.id, "");

  const first = await secret(service, "webhook-signing", tenant);
  assert.match(first, /^whsec_[A-Za-z0-9+/]{43}=$/, "32 bytes");
  const signed = await next();
  assert.ok(signedBy(signed, first));
  assert.match(signed.headers["webhook-signature"] ?? "", /^v1,\S+$/);
  assert.ok(!signedBy({ ...signed, text: `${signed.text} ` }, first), "the body is signed");
  assert.ok(!signedBy({ ...signed, headers: { ...signed.headers, "webhook-id": "x" } }, first));

  const rotated = await service.expect(200, "POST", "/api/secrets/webhook-signing/rotate", {
    body: {},
    tenant,
  });
  const second = rotated.value as string;
  assert.notEqual(second, first);
  const both = await next();
  assert.ok(signedBy(both, first) && signedBy(both, second), both.headers["webhook-signature"]);
  assert.match(both.headers["webhook-signature"] ?? "", /^v1,\S+ v1,\S+$/);

  const third = "a text of one's own, which is no whsec";
  const given = await service.expect(200, "POST", "/api/secrets/webhook-signing/rotate", {
    body: { value: third },
    tenant,
  });
  assert.equal(given.value, undefined, "only what was generated is told");
  const again = await next();
  assert.ok(signedBy(again, second) && signedBy(again, third), "two at most live at once");
  assert.ok(!signedBy(again, first));

  assert.deepEqual(
    (await service.expect(200, "GET", "/api/secrets", { tenant })).map(
      (one: { name: string; version: number; previous: boolean }) => [one.name, one.version, one.previous],
    ),
    [["webhook-signing", 3, true]],
  );
  await service.expect(204, "DELETE", "/api/secrets/webhook-signing/previous", { tenant });
  const alone = await next();
  assert.ok(signedBy(alone, third));
  assert.ok(!signedBy(alone, second) && !signedBy(alone, first), "the previous one is dropped");

  await service.expect(204, "DELETE", "/api/secrets/webhook-signing", { tenant });
  assert.equal((await next()).headers["webhook-signature"], undefined);
  for (const delivery of await arrived("/unsigned", turns))
    assert.equal(delivery.headers["webhook-signature"], undefined, "signed: false");

  const ids = [...sink.at("/signed"), ...sink.at("/unsigned")].map(({ id }) => id);
  assert.equal(new Set(ids).size, 2 * turns, "each effect has an id of its own");
});

test("secrets are never read back, and never stand in the database as they are", async () => {
  const tenant = "keeps";
  const value = "hush-hush-4711";
  const made = await service.expect(201, "PUT", "/api/secrets/token", { body: { value }, tenant });
  assert.equal(made.value, undefined);
  await service.expect(200, "PUT", "/api/secrets/token", { body: { value }, tenant });
  const list = await service.call("GET", "/api/secrets", { tenant });
  assert.deepEqual(
    list.body.map((one: { name: string }) => one.name),
    ["token"],
  );
  assert.ok(!list.text.includes(value));
  const action = webhook("/hushed", { headers: { authorization: { secret: "token", prefix: "Bearer " } } });
  await service.register(machine("hushed", action), tenant);
  await send(service, "hushed", "h", "go", {}, { tenant });
  assert.equal((await firstAt("/hushed")).headers["authorization"], `Bearer ${value}`);
  await settled(service, tenant);
  const [row] = await outbox(service, "", tenant);
  const one = await service.call("GET", `/api/outbox/${encodeURIComponent(row?.id ?? "")}`, { tenant });
  assert.ok(!one.text.includes(value));
  assert.equal(one.body.effect.headers.authorization.secret, "token");
  for (const table of ["secrets", "outbox", "history"]) {
    const rows = JSON.stringify(await service.runtime.sql(`SELECT * FROM ${table}`));
    assert.ok(!rows.includes(value), table);
    assert.ok(!rows.includes(Buffer.from(value).toString("base64")), table);
  }
  assert.ok(!service.log.join("\n").includes(value));
});

test("a header whose secret is missing keeps the webhook back until it is there", async () => {
  const tenant = "forgets";
  await service.expect(201, "PUT", "/api/secrets/absent", { body: { value: "another's" }, tenant: "others" });
  const action = webhook("/forgot", { headers: { "x-api-key": { secret: "absent" } } });
  await service.register(machine("forgot", action), tenant);
  await send(service, "forgot", "f", "go", {}, { tenant });
  const [dead] = await delivered(service, "the effect is dead", async () => {
    const rows = await outbox(service, "&status=dead", tenant);
    return rows.length > 0 && rows;
  });
  assert.match(dead?.error ?? "", /absent/, "the reason names it");
  assert.equal(sink.at("/forgot").length, 0);
  await service.expect(201, "PUT", "/api/secrets/absent", { body: { value: "found" }, tenant });
  await redrive(service, dead?.id ?? "", tenant);
  assert.equal((await firstAt("/forgot")).headers["x-api-key"], "found");
});

test("a body template is filled from the transition", async () => {
  const from = (pointer: string, more: object = {}) => ({ $from: pointer, ...more });
  const body = {
    plain: ["text", 1, true, null, { deep: [from("/entity_id")] }],
    tenant: from("/tenant_id"),
    machine: from("/machine_id"),
    move: [from("/from_state"), from("/to_state")],
    region: from("/region", { default: "flat" }),
    flat: from("/region"),
    version: from("/state_version"),
    event: from("/event"),
    type: from("/event/type"),
    second: from("/event/params/items/1/name"),
    context: from("/context/kept"),
    merged: from("/context/amount"),
    escaped: from("/event/params/a~1b~0c"),
    missing: from("/event/params/nothing"),
    chosen: from("/event/params/nothing", { default: { fallback: [1] } }),
    present: from("/event/params/amount", { default: 0 }),
    nil: from("/event/params/nil", { default: "not this" }),
    id: from("/effect_id"),
  };
  await service.register(machine("templated", webhook("/templated", { body })));
  await service.expect(201, "POST", "/api/machines/templated/entities", {
    body: { entity_id: "e/1", context: { kept: "before" } },
  });
  const params = { amount: 12.5, items: [{ name: "x" }, { name: "y" }], "a/b~c": "esc", nil: null };
  await send(service, "templated", "e/1", "go", params, { timestamp: 4711 });
  const delivery = await firstAt("/templated");
  const { nil, ...rest } = delivery.body;
  assert.deepEqual(rest, {
    plain: ["text", 1, true, null, { deep: ["e/1"] }],
    tenant: "t1",
    machine: "templated",
    move: ["a", "b"],
    region: rest.region,
    flat: null,
    version: 2,
    event: { type: "go", params: { ...params, id: "e/1" }, timestamp: 4711 },
    type: "go",
    second: "y",
    context: "before",
    merged: 12.5,
    escaped: "esc",
    missing: null,
    chosen: { fallback: [1] },
    present: 12.5,
    id: delivery.id,
  });
  assert.equal(nil, null, "a null that is there is there");
});

test("webhooks bear the methods, headers and bodies that their definition gives", async () => {
  const headers = { "X-Kind": "order", "content-type": "application/cloudevents+json", "x-empty": "" };
  const each = ["GET", "POST", "PUT", "PATCH", "DELETE"].map((method) =>
    webhook(`/method/${method}?q=1%202`, { method, headers }),
  );
  const given = webhook("/method/given", { method: "DELETE", body: ["gone", { $from: "/entity_id" }] });
  await service.register(machine("methods", ...each, given));
  await send(service, "methods", "m", "go");
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    const delivery = await firstAt(`/method/${method}?q=1%202`);
    assert.equal(delivery.method, method);
    assert.equal(delivery.headers["x-kind"], "order");
    assert.equal(delivery.headers["x-empty"], "");
    assert.notEqual(delivery.id, "");
    if (method === "GET" || method === "DELETE") {
      assert.equal(delivery.text, "");
    } else {
      assert.equal(delivery.body.entity_id, "m");
      assert.equal(delivery.headers["content-type"], "application/cloudevents+json");
    }
  }
  assert.deepEqual((await firstAt("/method/given")).body, ["gone", "m"]);
});

test("headers that belong to the transport or to the signature are refused with their path", async () => {
  for (const name of [
    "Host",
    "content-length",
    "Connection",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "a b",
  ]) {
    const answer = await service.call("POST", "/api/machines", {
      body: machine("bad", webhook("/bad", { headers: { [name]: "x" } })),
    });
    assert.equal(answer.status, 400, name);
    assert.match(answer.text, /actions(\[0\]|\.0|\/0)/, name);
  }
  refused(
    await service.call("POST", "/api/machines", {
      body: machine("bad", webhook("/bad", { headers: { x: "a\r\nb: c" } })),
    }),
    400,
    "BAD_REQUEST",
  );
});

test("joins, timeouts and regions send what they call for, in the order of the rows", async () => {
  const body = {
    place: { $from: "/region" },
    to: { $from: "/to_state" },
    type: { $from: "/event/type" },
    params: { $from: "/event/params" },
    version: { $from: "/state_version" },
  };
  const tenant = "parts";
  const definition = {
    machine_id: "parts",
    regions: [
      { id: "l", states: ["l1", "done"], initial_state: "l1" },
      { id: "r", states: ["r1", "done"], initial_state: "r1" },
      { id: "all", states: ["no", "yes"], initial_state: "no" },
    ],
    transitions: [
      { region: "l", from: "l1", to: "done", on: "left" },
      { region: "r", from: "r1", to: "done", on: "$timeout", guard: { after_ms: 40 } },
    ],
    joins: [
      {
        when: { l: "done", r: "done" },
        target_region: "all",
        target_state: "yes",
        actions: [webhook("/parts", { body })],
      },
    ],
    actions: [
      { on_enter: "done", region: "r", action: webhook("/parts", { body }) },
      { on_enter: "done", action: webhook("/parts", { body }) },
    ],
  };
  await service.register(definition, tenant);
  await send(service, "parts", "p", "left", { by: "me" }, { tenant });
  const found = await arrived("/parts", 4);
  await settled(service, tenant);
  assert.deepEqual(
    found.map(({ body: of }) => [of.version, of.place, of.to, of.type]),
    [
      [2, "l", "done", "left"],
      [3, "r", "done", "$timeout"],
      [3, "r", "done", "$timeout"],
      [3, "all", "yes", "$join"],
    ],
  );
  assert.deepEqual(
    found.map(({ body: of }) => of.params),
    [{ by: "me", id: "p" }, {}, {}, {}],
  );
  assert.equal(sink.at("/parts").length, 4);
});

test("S2.123 to S2.125: events go to the collector with a token asked for once, and only for them", async () => {
  const tenant = "meters";
  const event = { type: "event", event_type: "order.moved" };
  await service.register(turning("metered", event), tenant);
  await service.register(machine("unmetered", webhook("/unmetered")), tenant);
  await send(service, "unmetered", "u", "go", {}, { tenant });
  await firstAt("/unmetered");
  await settled(service, tenant);
  const asked = () => platform.deliveries.filter(({ body }) => body?.key_prefix === tenant);
  assert.equal(asked().length, 0, "no event, no token (S2.124)");

  await send(service, "metered", "m-0", "turn", {}, { tenant });
  await settled(service, tenant);
  await Promise.all(["m-1", "m-2", "m-3"].map((id) => send(service, "metered", id, "turn", {}, { tenant })));
  await send(service, "metered", "m-1", "turn", {}, { tenant });
  await settled(service, tenant);
  const events = sink.at("/ingest").filter(({ body }) => body?.params?.machine_id === "metered");
  assert.deepEqual(events.map(({ body }) => `${body.params.entity_id} ${body.params.to_state}`).sort(), [
    "m-0 there",
    "m-1 here",
    "m-1 there",
    "m-2 there",
    "m-3 there",
  ]);
  const [first] = events;
  assert.deepEqual(first?.body, {
    event_type: "order.moved",
    params: { machine_id: "metered", entity_id: "m-0", from_state: "here", to_state: "there" },
    raw_payload: null,
  });
  for (const one of events) {
    assert.equal(one.method, "POST");
    assert.equal(one.headers["authorization"], `Bearer token-of-${tenant}`);
    assert.equal(one.headers["content-type"], "application/json");
  }
  const [question, ...others] = asked();
  assert.equal(others.length, 0, "asked once");
  assert.deepEqual([question?.method, question?.path], ["POST", "/internal/ingest-tokens"]);
  assert.deepEqual(question?.body, { key_prefix: tenant });
  assert.equal(question?.headers["authorization"], "Bearer platform-key");

  // Another tenant has a token of its own.
  await service.register(turning("metered", event), "others");
  await send(service, "metered", "o", "turn", {}, { tenant: "others" });
  await settled(service, "others");
  const other = sink.at("/ingest").find(({ body }) => body?.params?.entity_id === "o");
  assert.equal(other?.headers["authorization"], "Bearer token-of-others");
});

test("S2.12: without a platform key no token is asked for, and the event goes without", async () => {
  const bare = await serve({
    settings: { EVENT_CORE_INGEST_URL: `${sink.url}/bare`, PLATFORM_API_URL: platform.url },
  });
  const before = platform.deliveries.length;
  await bare.register(machine("bare", { type: "event", event_type: "e" }));
  await send(bare, "bare", "b", "go");
  const [delivery] = await arrived("/bare", 1, bare);
  assert.equal(delivery?.headers["authorization"], undefined);
  assert.equal(platform.deliveries.length, before);
});

test("a chain of machines moves each once, by events that effects send", async () => {
  const next = (machine_id: string, params: object) => ({
    type: "transition",
    machine_id,
    entity_id: "of-{/entity_id}",
    event_type: "go",
    params,
  });
  const params = {
    origin: { $from: "/event/params/origin", default: "start" },
    amount: { $from: "/context/amount" },
  };
  await service.register(machine("chain-1", next("chain-2", params)));
  await service.register(machine("chain-2", next("chain-3", params)));
  await service.register(machine("chain-3", webhook("/chained", { body: { $from: "/context" } })));
  const ids = Array.from({ length: 8 }, (_, index) => `c${index}`);
  await Promise.all(ids.map((id) => send(service, "chain-1", id, "go", { amount: 5 })));
  await arrived("/chained", ids.length);
  await settled(service);
  for (const id of ids) {
    for (const [of, entity] of [
      ["chain-1", id],
      ["chain-2", `of-${id}`],
      ["chain-3", `of-of-${id}`],
    ]) {
      const path = `/api/machines/${of}/entities/${entity}`;
      const found = await service.expect(200, "GET", path);
      assert.deepEqual([found.current_state, found.state_version], ["b", 2], path);
      assert.equal((await service.expect(200, "GET", `${path}/history`)).length, 1);
    }
  }
  const contexts = sink.at("/chained").map(({ body }) => body);
  assert.equal(contexts.length, ids.length);
  for (const context of contexts) assert.deepEqual([context.origin, context.amount], ["start", 5]);
  const rows = await outbox(service, "&machine=chain-1");
  assert.deepEqual(
    rows.map(({ kind, status, sink: to }) => [kind, status, to]).sort(),
    ids.map((id) => ["transition", "done", `chain-2/of-${id}`]),
  );
  // The receipt of an effect is found by its id (S4.90).
  const [receipt] = await service.expect(
    200,
    "GET",
    `/api/receipts/${encodeURIComponent(rows[0]?.id ?? "")}`,
  );
  assert.equal(receipt.outcome, "applied");
  assert.equal(receipt.machine_id, "chain-2");
});

test("a loop of machines ends at the bound of hops", async () => {
  const to = (machine_id: string) => ({
    type: "transition",
    machine_id,
    entity_id: "{/entity_id}",
    event_type: "turn",
  });
  await service.register(turning("ping", to("pong")));
  await service.register(turning("pong", to("ping")));
  await send(service, "ping", "ball", "turn");
  await settled(service);
  const rows = [...(await outbox(service, "&machine=ping")), ...(await outbox(service, "&machine=pong"))];
  const dead = rows.filter(({ status }) => status === "dead");
  assert.equal(dead.length, 1);
  assert.match(dead[0]?.error ?? "", /16/);
  const done = rows.filter(({ status }) => status === "done");
  assert.equal(done.length + 1, rows.length);
  const moves = await Promise.all(
    ["ping", "pong"].map(async (of) => {
      const history = await service.expect(200, "GET", `/api/machines/${of}/entities/ball/history`);
      return history.length as number;
    }),
  );
  assert.equal(moves[0]! + moves[1]!, done.length + 1, "one for the caller's event, one for each effect");
  assert.equal(done.length, 16);
});

test("an event for a machine that takes none of it is done with its outcome noted", async () => {
  await service.register(machine("deaf"));
  const to = (more: object) => ({ type: "transition", machine_id: "deaf", event_type: "unheard", ...more });
  await service.register(machine("caller", to({ entity_id: "d" }), to({ entity_id: "{/context/nobody}" })));
  await send(service, "caller", "c", "go");
  await settled(service);
  const [done, dead] = await outbox(service, "&machine=caller");
  assert.equal(done?.status, "done");
  const one = await service.call("GET", `/api/outbox/${encodeURIComponent(done?.id ?? "")}`);
  assert.match(one.text, /no_transition/);
  assert.equal(dead?.status, "dead", "an entity that cannot be named");
  assert.match(dead?.error ?? "", /entity_id/);
});

test("an event that its target refuses for good is dead at once, with the refusal", async () => {
  await service.register({
    machine_id: "work",
    states: ["busy", "fin"],
    initial_state: "busy",
    transitions: [{ from: "busy", to: "fin", on: "finish" }],
  });
  await service.register({
    machine_id: "job",
    states: ["idle", "busy", "done"],
    initial_state: "idle",
    transitions: [{ from: "idle", to: "busy", on: "go" }],
    sub_machines: { busy: { machine_id: "work", lifecycle: "managed", on_final: { fin: "done" } } },
  });
  const action = { type: "transition", machine_id: "work", entity_id: "j::sub::busy", event_type: "finish" };
  await service.register(turning("finisher", action));
  await send(service, "job", "j", "go");
  for (let turn = 0; turn < 2; turn += 1) await send(service, "finisher", "f", "turn");
  await settled(service);
  const job = await service.expect(200, "GET", "/api/machines/job/entities/j");
  assert.equal(job.current_state, "done", "an effect ends the child, and the child its parent's state");
  const rows = await outbox(service, "&machine=finisher");
  assert.deepEqual(
    rows.map(({ status }) => status),
    ["done", "dead"],
  );
  assert.equal(rows[1]?.attempt, 1);
  assert.match(rows[1]?.error ?? "", /INSTANCE_NOT_ACTIVE/);
});

test("an event for an entity that must exist is tried until it does", async () => {
  await service.register(machine("awaited"));
  const action = {
    type: "transition",
    machine_id: "awaited",
    entity_id: "later",
    event_type: "go",
    create: false,
  };
  await service.register(machine("awaits", action));
  await send(service, "awaits", "w", "go");
  const [row] = await delivered(service, "the effect is dead", async () => {
    const rows = await outbox(service, "&machine=awaits&status=dead");
    return rows.length > 0 && rows;
  });
  assert.equal(row?.attempt, 4, "the first, and one for each wait of ACTION_RETRIES");
  refused(await service.call("GET", "/api/machines/awaited/entities/later"), 404, "NOT_FOUND");
  await service.expect(201, "POST", "/api/machines/awaited/entities", { body: { entity_id: "later" } });
  await redrive(service, row?.id ?? "");
  await settled(service);
  const found = await service.expect(200, "GET", "/api/machines/awaited/entities/later");
  assert.deepEqual([found.current_state, found.state_version], ["b", 2]);
});

test("deleting an entity keeps its pending effects, and its namesake has a lane of its own", async () => {
  let open = false;
  sink.reply = ({ path }) => (path === "/kept" && !open ? { status: 500 } : { status: 204 });
  const body = { version: { $from: "/state_version" }, life: { $from: "/context/life" } };
  await service.register(turning("kept", webhook("/kept", { body })));
  for (const life of [1, 1]) await send(service, "kept", "k", "turn", { life });
  await until("it failed", () => sink.at("/kept").length > 0);
  await service.expect(204, "DELETE", "/api/machines/kept/entities/k");
  await send(service, "kept", "k", "turn", { life: 2 });
  const rows = await outbox(service, "&machine=kept");
  assert.equal(rows.length, 3);
  open = true;
  for (const { id, status } of rows) {
    if (status === "dead") await redrive(service, id);
  }
  await settled(service);
  const dead = await outbox(service, "&machine=kept&status=dead");
  for (const { id } of dead) await redrive(service, id);
  await settled(service);
  const accepted = new Map(sink.at("/kept").map((one) => [one.id, `${one.body.life}:${one.body.version}`]));
  assert.deepEqual([...accepted.values()].sort(), ["1:2", "1:3", "2:2"]);
  assert.deepEqual(
    (await outbox(service, "&machine=kept")).map(({ status }) => status),
    ["done", "done", "done"],
  );
});
