// The sample that a source is tried with, and headers as they are written.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Source } from "statewright/client";

import { definitionOf, readObject, totalOf } from "../../www/src/console/sources/definition.ts";
import { headersText, readHeaders } from "../../www/src/console/sources/headers.ts";
import { sampleOf } from "../../www/src/console/sources/sample.ts";

const counts = {
  applied: 1,
  duplicate: 2,
  no_transition: 0,
  refused: 0,
  unmapped: 0,
  bad_signature: 4,
  handshake: 0,
};

function source(type: string, mapping: Record<string, unknown>): Source {
  return {
    id: "s",
    machine: "m",
    scheme: { type },
    secret: "s",
    mapping,
    tolerance: 300,
    counts,
    created_at: 1,
    updated_at: 2,
  };
}

/** What a source is tried with, as text. */
function sample(type: string, mapping: Record<string, unknown>, ...events: string[]): [string, string] {
  const { headers, body } = sampleOf(source(type, mapping), events, 1_700_000_000_000);
  return [headersText(headers), JSON.stringify(body)];
}

test("each scheme's sample has what the scheme has, and something at each place of the mapping", () => {
  assert.deepEqual(
    sample("github", {
      entity_id: "{/repository/full_name}#{/issue/number}",
      rename: { "issues.closed": "close", "issues.reopened": "reopen" },
      only: true,
      params: { by: "/sender/login" },
    }),
    [
      "x-github-event: issues\nx-github-delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958",
      '{"action":"closed","repository":{"full_name":"example"},"issue":{"number":25},"sender":{"login":"example"}}',
    ],
  );
  assert.deepEqual(
    sample("stripe", { entity_id: "/data/object/id", params: { amount: "/data/object/amount" } }),
    ["", '{"type":"payment_intent.succeeded","data":{"object":{"id":"example-1","amount":25}},"id":"evt_1"}'],
  );
  assert.deepEqual(sample("slack", { entity_id: "{/event/channel}:{/event/ts}" }), [
    "",
    '{"type":"event_callback","event":{"type":"app_mention","channel":"example","ts":"example"},"event_id":"Ev1"}',
  ]);
  assert.deepEqual(
    sample("hmac-sha256", { entity_id: { header: "X-Ticket" }, event_type: "/kind", identity: "/n/0" }),
    ["x-ticket: example-1", '{"kind":"example.happened","n":["delivery-1"]}'],
  );
});

test("a sample means an event that the machine takes, where that is known", () => {
  const rename = { "a.b": "other", "c.d": "go" };
  assert.match(sample("stripe", { entity_id: "/id", rename }, "go")[1], /"type":"c\.d"/);
  assert.match(sample("stripe", { entity_id: "/id", prefix: "in." }, "on", "in.sent")[1], /"type":"sent"/);
  assert.match(sample("stripe", { entity_id: "/id" }, "on")[1], /"type":"on"/);
  assert.match(sample("stripe", { entity_id: "/id" })[1], /"type":"payment_intent.succeeded"/);
  assert.match(
    sample("hmac-sha256", { entity_id: "/id", event_type: { text: "go" } })[1],
    /^\{"id":"example-1"\}$/,
  );
});

test("places of any name are places, and nothing else", () => {
  const [, body] = sample("stripe", {
    entity_id: "/__proto__/constructor",
    params: { a: "/~1x~0y", b: "/type/deeper", c: 5, d: { header: 1 }, e: null, f: "no place" },
    timestamp: "/at",
  });
  assert.equal(
    body,
    '{"type":"payment_intent.succeeded","__proto__":{"constructor":"example-1"},"id":"evt_1","at":1700000000,"/x~y":"example"}',
  );
  assert.equal(({} as { constructor: unknown }).constructor, Object);
});

test("headers are a name, a colon and a value a line", () => {
  const text = "X-Event: go\r\n\n  webhook-id :  m:1 \n__proto__: x\nempty:";
  assert.deepEqual(Object.entries(readHeaders(text)), [
    ["x-event", "go"],
    ["webhook-id", "m:1"],
    ["__proto__", "x"],
    ["empty", ""],
  ]);
  assert.deepEqual(readHeaders(" \n"), {});
  assert.throws(() => readHeaders("a: b\nHTTP/1.1 200 OK"), /`HTTP\/1\.1 200 OK` is no header/);
  assert.throws(() => readHeaders(": x"), /is no header/);
});

test("a definition is what was put, what decides most first", () => {
  assert.deepEqual(Object.keys(definitionOf(source("github", {}))), [
    "machine",
    "scheme",
    "secret",
    "mapping",
    "tolerance",
  ]);
  assert.equal(totalOf(counts), 7);
  assert.throws(() => readObject("[1]"), /no JSON object/);
  assert.throws(() => readObject("{"), /no JSON: /);
});
