// Idempotency-Key over HTTP: on every route that changes something, a request has one effect, and its answer is given again
// (S4.90 to S4.104).

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Answer, type Sent, order, refused, serve } from "./support.ts";

const SECRETS_KEY = Buffer.alloc(32, 7).toString("base64");
const service = await serve({ settings: { SECRETS_KEY, CORS_ORIGINS: "*", WEBHOOK_ALLOW: "sink.example" } });

/** A route with a request that it takes, and what its success is. */
interface Case {
  method: "POST" | "PUT" | "DELETE";
  path: string;
  status: number;
  body?: object;
  /** Another body that it would take. */
  other?: object;
  /** What must be there first. */
  before?: [method: string, path: string, body?: object][];
}

const machine = (machine_id: string) => ({ ...order, machine_id });
const entities = "/api/machines/held/entities";
const sink = { type: "webhook", url: "https://sink.example/" };
const source = {
  machine: "held",
  scheme: { type: "github" },
  secret: "github",
  mapping: { entity_id: "/id" },
};
const record = (id: string) => ({ machine: "wallet", id, state: "open" });

const CASES: Case[] = [
  {
    method: "POST",
    path: "/api/machines",
    status: 201,
    body: machine("made"),
    other: { ...machine("made"), description: "other" },
  },
  {
    method: "PUT",
    path: "/api/machines/replaced",
    status: 200,
    body: machine("replaced"),
    other: { ...machine("replaced"), description: "other" },
    before: [["POST", "/api/machines", machine("replaced")]],
  },
  {
    method: "DELETE",
    path: "/api/machines/gone",
    status: 204,
    before: [["POST", "/api/machines", machine("gone")]],
  },
  { method: "POST", path: entities, status: 201, body: { entity_id: "made" }, other: { entity_id: "other" } },
  {
    method: "DELETE",
    path: `${entities}/gone`,
    status: 204,
    before: [["POST", entities, { entity_id: "gone" }]],
  },
  {
    method: "POST",
    path: `${entities}/freed/release`,
    status: 200,
    before: [["POST", entities, { entity_id: "freed" }]],
  },
  {
    method: "POST",
    path: "/api/machines/held/evaluate",
    status: 200,
    body: { event_type: "pay", entity_key: "id", params: { id: "evaluated", amount: 1 } },
    other: { event_type: "pay", entity_key: "id", params: { id: "evaluated", amount: 2 } },
  },
  {
    method: "POST",
    path: "/api/machines/held/evaluate/batch",
    status: 200,
    body: { events: [{ event_type: "pay", entity_key: "id", params: { id: "batched", amount: 1 } }] },
    other: { events: [{ event_type: "pay", entity_key: "id", params: { id: "batched", amount: 2 } }] },
  },
  {
    method: "POST",
    path: `${entities}/moved/transition`,
    status: 200,
    body: { event_type: "pay", params: { amount: 1 } },
    other: { event_type: "pay", params: { amount: 2 } },
    before: [["POST", entities, { entity_id: "moved" }]],
  },
  { method: "POST", path: "/api/state/create", status: 201, body: record("made"), other: record("other") },
  {
    method: "POST",
    path: "/api/state/transition",
    status: 200,
    body: { machine: "wallet", id: "moved", from: "open", to: "shut", expected_version: 1 },
    other: { machine: "wallet", id: "moved", from: "open", to: "shut", expected_version: 2 },
    before: [["POST", "/api/state/create", record("moved")]],
  },
  { method: "PUT", path: "/api/secrets/put", status: 201, body: { value: "one" }, other: { value: "two" } },
  { method: "PUT", path: "/api/secrets/made-up", status: 201, body: {}, other: { value: "two" } },
  {
    method: "POST",
    path: "/api/secrets/turned/rotate",
    status: 200,
    body: { value: "two" },
    other: { value: "three" },
    before: [["PUT", "/api/secrets/turned", { value: "one" }]],
  },
  {
    method: "DELETE",
    path: "/api/secrets/both/previous",
    status: 204,
    before: [
      ["PUT", "/api/secrets/both", { value: "one" }],
      ["POST", "/api/secrets/both/rotate", { value: "two" }],
    ],
  },
  {
    method: "DELETE",
    path: "/api/secrets/gone",
    status: 204,
    before: [["PUT", "/api/secrets/gone", { value: "one" }]],
  },
  {
    method: "POST",
    path: "/api/subscriptions",
    status: 201,
    body: { source: "records", sink },
    other: { source: "machines", sink },
  },
  {
    method: "PUT",
    path: "/api/subscriptions/put",
    status: 201,
    body: { source: "records", sink },
    other: { source: "machines", sink },
  },
  {
    method: "DELETE",
    path: "/api/subscriptions/gone",
    status: 204,
    before: [["PUT", "/api/subscriptions/gone", { source: "machines", sink, active: false }]],
  },
  { method: "PUT", path: "/api/sources/put", status: 201, body: source, other: { ...source, tolerance: 60 } },
  {
    method: "DELETE",
    path: "/api/sources/gone",
    status: 204,
    before: [["PUT", "/api/sources/gone", source]],
  },
  {
    method: "POST",
    path: "/api/outbox/redrive",
    status: 200,
    body: { status: "dead" },
    other: { status: "skipped" },
  },
  {
    method: "POST",
    path: "/api/outbox/cancel",
    status: 200,
    body: { machine: "nothing" },
    other: { machine: "else" },
  },
];

await service.register(machine("held"));

const REPLAYED = "idempotency-replayed";

/** The answer as it is replayed: what the service made up is told once. */
function kept({ status, body }: Answer): [number, unknown] {
  const { value: _, ...rest } = body ?? {};
  return [status, body === undefined ? undefined : rest];
}

for (const { method, path, status, body, other, before = [] } of CASES) {
  test(`S4.91, S4.92: ${method} ${path} with a key has one effect`, async () => {
    for (const [before_method, before_path, before_body] of before) {
      const answer = await service.call(before_method, before_path, { body: before_body });
      assert.ok(answer.status < 300, answer.text);
    }
    // One key for all routes: each has its own.
    const sent: Sent = { headers: { "idempotency-key": "one key for all" } };
    if (body !== undefined) sent.body = body;
    const first = await service.call(method, path, sent);
    assert.equal(first.status, status, first.text);
    assert.equal(first.headers.get(REPLAYED), null);
    const again = await service.call(method, path, sent);
    assert.equal(again.headers.get(REPLAYED), "true", again.text);
    assert.deepEqual(kept(again), kept(first));
    assert.equal(again.body?.value, undefined, "a secret is told once");
    // Another query is another request, as another body is.
    refused(await service.call(method, `${path}?other=1`, sent), 422, "IDEMPOTENCY_MISMATCH");
    if (body !== undefined) {
      assert.ok(other !== undefined);
      refused(await service.call(method, path, { ...sent, body: other }), 422, "IDEMPOTENCY_MISMATCH");
    }
    const elsewhere = await service.call(method, path, { ...sent, tenant: "t2" });
    assert.equal(elsewhere.headers.get(REPLAYED), null, "another tenant's key is another one");
  });
}

test("S4.98: spaces and the order of keys make no other request; one effect is in the history", async () => {
  const path = `${entities}/spaced/transition`;
  await service.expect(201, "POST", entities, { body: { entity_id: "spaced" } });
  const headers = { "idempotency-key": "spaces" };
  const first = await service.call("POST", path, {
    headers,
    raw: '{"event_type":"pay","params":{"amount":1,"by":"card"}}',
  });
  assert.equal(first.body.transition, "pending → paid", first.text);
  const again = await service.call("POST", path, {
    headers,
    raw: ' { "params": { "by": "card", "amount": 1 }, "event_type": "pay" } ',
  });
  assert.equal(again.headers.get(REPLAYED), "true");
  assert.equal(again.text, first.text);
  assert.equal((await service.expect(200, "GET", `${entities}/spaced/history`)).length, 1);
});

test("S4.96: refusals that stand are kept, what invites a retry and what is malformed is not", async () => {
  const path = `${entities}/later/transition`;
  const sent = { headers: { "idempotency-key": "later" }, body: { event_type: "ship" } };
  refused(await service.call("POST", path, sent), 404, "NOT_FOUND");
  await service.expect(201, "POST", entities, { body: { entity_id: "later" } });
  const again = await service.call("POST", path, sent);
  refused(again, 404, "NOT_FOUND");
  assert.equal(again.headers.get(REPLAYED), "true", "as it was answered before");

  const wrong = { headers: { "idempotency-key": "wrong" }, body: { event_type: 5 } };
  refused(await service.call("POST", path, wrong), 400, "BAD_REQUEST");
  const mended = { ...wrong, body: { event_type: "ship" } };
  assert.equal((await service.call("POST", path, mended)).status, 200, "a malformed request uses up no key");
});

test("S4.99: a key is 1 to 255 printable ASCII characters", async () => {
  const path = `${entities}/spaced/transition`;
  for (const key of ["", "x".repeat(256), "käse"]) {
    const answer = await service.call("POST", path, {
      headers: { "idempotency-key": key },
      body: { event_type: "pay" },
    });
    refused(answer, 400, "BAD_REQUEST");
    assert.equal(answer.body.error.path, "Idempotency-Key");
  }
  const longest = { "idempotency-key": "x".repeat(255) };
  assert.equal(
    (await service.call("POST", path, { headers: longest, body: { event_type: "pay" } })).status,
    200,
  );
});

test("a key on what changes nothing is not looked at", async () => {
  const headers = { "idempotency-key": "looks" };
  const entity = `${entities}/spaced`;
  const looks: [string, object | undefined][] = [
    ["/api/machines/validate", machine("looked")],
    [`${entity}/explain`, { event_type: "ship" }],
    [`${entity}/transition`, { event_type: "ship", dry_run: true }],
    ["/api/state/get", { machine: "wallet", id: "made" }],
    ["/api/sources/put/try", { body: { id: "1" }, headers: { "x-github-event": "push" } }],
  ];
  for (const [path, body] of looks) {
    for (let time = 0; time < 2; time += 1) {
      const answer = await service.call("POST", path, { headers, body });
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
      assert.equal(answer.headers.get(REPLAYED), null, path);
    }
  }
  assert.equal((await service.call("GET", "/api/receipts/looks")).status, 404);
});

test("S4.97: twins at once have one effect, and one answer", async () => {
  await service.expect(201, "POST", entities, { body: { entity_id: "twins" } });
  const sent = {
    headers: { "idempotency-key": "twins" },
    body: { event_type: "pay", params: { amount: 1 } },
  };
  const path = `${entities}/twins/transition`;
  const answers = await Promise.all(Array.from({ length: 8 }, () => service.call("POST", path, sent)));
  for (const answer of answers) {
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.text, answers[0]?.text);
  }
  assert.equal(answers.filter((answer) => answer.headers.get(REPLAYED) === null).length, 1);
  assert.equal((await service.expect(200, "GET", `${entities}/twins`)).state_version, 2);
});

test("a page may send a key, and read that an answer was given before", async () => {
  const headers = { origin: "https://a.example", "access-control-request-method": "POST" };
  const preflight = await service.call("OPTIONS", entities, { key: null, headers });
  const allowed = preflight.headers.get("access-control-allow-headers") ?? "";
  for (const name of ["Idempotency-Key", "X-Request-Id", "X-Run-Id"])
    assert.ok(allowed.includes(name), allowed);
  const answer = await service.call("GET", entities, { headers: { origin: "https://a.example" } });
  assert.equal(
    answer.headers.get("access-control-expose-headers"),
    "Link, Idempotency-Replayed, Retry-After",
  );
});
