// The operations over HTTP: the seed's main job end to end, and what was added to it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { order, refused, serve } from "./support.ts";

const service = await serve();

test("S2.231 to S2.235: machines are created, listed, read, replaced and deleted", async () => {
  const created = await service.expect(201, "POST", "/api/machines", { body: order });
  assert.equal(created.machine_id, "order");
  assert.equal(created.revision, 1);
  refused(await service.call("POST", "/api/machines", { body: order }), 409, "CONFLICT", true);
  const listed = await service.expect(200, "GET", "/api/machines");
  assert.deepEqual(
    listed.map((machine: { machine_id: string }) => machine.machine_id),
    ["order"],
  );
  assert.deepEqual((await service.expect(200, "GET", "/api/machines/order")).states, order.states);
  refused(await service.call("GET", "/api/machines/none"), 404, "NOT_FOUND");

  const more = { ...order, states: [...order.states, "returned"] };
  more.transitions = [...order.transitions, { from: "shipped", to: "returned", on: "return" }];
  const replaced = await service.expect(200, "PUT", "/api/machines/order", { body: more });
  assert.equal(replaced.revision, 2);
  const revisions = await service.expect(200, "GET", "/api/machines/order/revisions");
  assert.equal(revisions.length, 2);

  await service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "stays" } });
  refused(await service.call("DELETE", "/api/machines/order"), 409, "CONFLICT", true);
  await service.expect(204, "DELETE", "/api/machines/order/entities/stays");
  await service.expect(204, "DELETE", "/api/machines/order");
  refused(await service.call("GET", "/api/machines/order"), 404, "NOT_FOUND");
  await service.register(order);
});

test("a faulty definition is refused with all its faults and their paths", async () => {
  const faulty = { ...order, machine_id: "faulty", initial_state: "nowhere" };
  faulty.transitions = [{ from: "pending", to: "gone", on: "go" } as never];
  const answer = await service.call("POST", "/api/machines", { body: faulty });
  refused(answer, 400, "BAD_REQUEST");
  const checked = await service.expect(200, "POST", "/api/machines/validate", { body: faulty });
  assert.equal(checked.valid, false);
  for (const faults of [answer.body.error.faults, checked.faults]) {
    const paths = faults.map((fault: { path: string }) => fault.path);
    assert.deepEqual(paths.sort(), ["$.initial_state", "$.transitions[0].to"]);
  }
  assert.equal((await service.expect(200, "POST", "/api/machines/validate", { body: order })).valid, true);
  refused(await service.call("GET", "/api/machines/faulty"), 404, "NOT_FOUND");
});

test("S2.236 to S2.242: entities are created, listed, read and deleted", async () => {
  const path = "/api/machines/order/entities";
  const created = await service.expect(201, "POST", path, {
    body: { entity_id: "e-1", context: { vip: true } },
  });
  assert.equal(created.current_state, "pending");
  assert.equal(created.state_version, 1);
  assert.deepEqual(created.context, { vip: true });
  refused(await service.call("POST", path, { body: { entity_id: "e-1" } }), 409, "CONFLICT", true);
  refused(await service.call("POST", path, { body: { entity_id: "" } }), 400, "BAD_REQUEST");
  refused(
    await service.call("POST", "/api/machines/none/entities", { body: { entity_id: "x" } }),
    404,
    "NOT_FOUND",
  );
  const read = await service.expect(200, "GET", `${path}/e-1`);
  assert.deepEqual(read, created);
  assert.equal((await service.expect(200, "GET", `${path}?state=pending&prefix=e-`)).length, 1);
  assert.equal((await service.expect(200, "GET", `${path}?state=paid`)).length, 0);
  assert.equal((await service.expect(200, "GET", `${path}?updated_since=${read.updated_at}`)).length, 1);
  assert.equal((await service.expect(200, "GET", `${path}?updated_since=${read.updated_at + 1}`)).length, 0);
  assert.equal((await service.expect(200, "GET", `${path}?updated_before=${read.updated_at}`)).length, 0);
  assert.equal((await service.expect(200, "GET", `${path}?updated_before=${read.updated_at + 1}`)).length, 1);
  refused(await service.call("GET", `${path}?updated_since=soon`), 400, "BAD_REQUEST");
  await service.expect(204, "DELETE", `${path}/e-1`);
  refused(await service.call("GET", `${path}/e-1`), 404, "NOT_FOUND");
  refused(await service.call("DELETE", `${path}/e-1`), 404, "NOT_FOUND");
});

test("S2.243 to S2.258: an event moves an entity once, and its history says so", async () => {
  const path = "/api/machines/order/evaluate";
  const body = { event_type: "pay", entity_key: "id", params: { id: "o-1", amount: 42 }, timestamp: 1000 };
  const paid = await service.expect(200, "POST", path, { body });
  assert.equal(paid.transition, "pending → paid");
  assert.equal(paid.previous_state, "pending");
  assert.equal(paid.current_state, "paid");
  assert.equal(paid.triggered_by, "pay");
  assert.equal(paid.timestamp, 1000);
  assert.ok(!("reason" in paid) && !("region" in paid) && !("joins_fired" in paid), JSON.stringify(paid));

  const again = await service.expect(200, "POST", path, { body });
  assert.equal(again.transition, null);
  assert.match(again.reason, /^duplicate event/);
  const other = { ...body, params: { ...body.params, amount: 43 } };
  refused(await service.call("POST", path, { body: other }), 409, "EVENT_IDENTITY_CONFLICT");

  const entity = "/api/machines/order/entities/o-1";
  const nothing = await service.expect(200, "POST", `${entity}/transition`, {
    body: { event_type: "pay", params: {} },
  });
  assert.equal(nothing.reason, "no transition from 'paid' on 'pay'");
  await service.expect(200, "POST", `${entity}/transition`, {
    body: { event_type: "ship", params: {}, timestamp: 2000 },
  });
  refused(
    await service.call("POST", "/api/machines/order/entities/none/transition", {
      body: { event_type: "ship" },
    }),
    404,
    "NOT_FOUND",
  );

  const history = await service.expect(200, "GET", `${entity}/history`);
  assert.deepEqual(
    history.map((row: Record<string, unknown>) => [
      row["from_state"],
      row["to_state"],
      row["event_type"],
      row["timestamp"],
    ]),
    [
      ["pending", "paid", "pay", 1000],
      ["paid", "shipped", "ship", 2000],
    ],
  );
  assert.equal((await service.expect(200, "GET", entity)).state_version, 3);
});

test("history as one JSON text a line, and in pages", async () => {
  const path = "/api/machines/order/entities/o-1/history";
  const lines = await service.call("GET", path, { headers: { accept: "application/x-ndjson" } });
  assert.equal(lines.headers.get("content-type"), "application/x-ndjson");
  const rows = lines.text.split("\n");
  assert.equal(rows.pop(), "", "the last line ends too");
  const all = await service.expect(200, "GET", path);
  assert.deepEqual(
    rows.map((row) => JSON.parse(row)),
    all,
  );
  const first = await service.call("GET", `${path}?limit=1&order=id`);
  assert.deepEqual(first.body, [all[0]]);
  const next = /^<([^>]+)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1];
  assert.ok(next !== undefined && next.startsWith(`${path}?limit=1&order=id&cursor=`), String(next));
  const second = await service.call("GET", next);
  assert.deepEqual(second.body, [all[1]]);
  assert.equal(second.headers.get("link"), null);
  refused(await service.call("GET", `${path}?cursor=nonsense`), 400, "BAD_REQUEST");
  refused(await service.call("GET", `${path}?order=other`), 400, "BAD_REQUEST");
});

test("R18: lists are paged by limit and Link, and miss and repeat nothing", async () => {
  const ids = Array.from({ length: 7 }, (_, index) => `page-${index}`);
  for (const entity_id of ids) {
    await service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id } });
  }
  const seen: string[] = [];
  let path: string | undefined = "/api/machines/order/entities?limit=3&prefix=page-";
  for (let pages = 0; path !== undefined; pages += 1) {
    assert.ok(pages < 4, "it ends");
    const answer = await service.call("GET", path);
    assert.equal(answer.status, 200, answer.text);
    assert.ok(answer.body.length <= 3);
    seen.push(...answer.body.map((entity: { entity_id: string }) => entity.entity_id));
    path = /^<([^>]+)>/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  assert.deepEqual(seen.sort(), ids);
  for (const limit of ["0", "1001", "-1", "x"]) {
    refused(await service.call("GET", `/api/machines/order/entities?limit=${limit}`), 400, "BAD_REQUEST");
  }
});

test("S2.244, S2.259 to S2.261: a batch answers for each event in order", async () => {
  const path = "/api/machines/order/evaluate/batch";
  const event = (id: string, amount: number) => ({
    event_type: "pay",
    entity_key: "id",
    params: { id, amount },
    timestamp: 1,
  });
  const events = [
    event("b-1", 1),
    event("b-2", 0),
    { event_type: "pay", entity_key: "id", params: {} },
    event("b-1", 1),
  ];
  const answer = await service.expect(200, "POST", path, { body: { events } });
  assert.deepEqual([answer.total, answer.succeeded, answer.failed], [4, 3, 1]);
  assert.equal(answer.results[0].result.transition, "pending → paid");
  assert.match(answer.results[1].result.reason, /^no transition/);
  assert.match(answer.results[2].error, /^BAD_REQUEST: /);
  assert.match(answer.results[3].result.reason, /^duplicate/);
  refused(await service.call("POST", path, { body: { events: [] } }), 400, "BAD_REQUEST");
  const many = Array.from({ length: 1001 }, (_, index) => event(`m-${index}`, 1));
  refused(await service.call("POST", path, { body: { events: many } }), 400, "BAD_REQUEST");
  const most = await service.expect(200, "POST", path, { body: { events: many.slice(0, 1000) } });
  assert.deepEqual([most.total, most.succeeded], [1000, 1000]);
  const counts = await service.expect(200, "GET", "/api/machines/order/counts");
  assert.match(JSON.stringify(counts), /"paid":1001\b|1001/);
});

test("explain, events, dry runs and versions", async () => {
  const entity = "/api/machines/order/entities/why";
  await service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "why" } });
  const why = await service.expect(200, "POST", `${entity}/explain`, {
    body: { event_type: "pay", params: { amount: 0 } },
  });
  assert.match(JSON.stringify(why), /amount/);
  const can = await service.expect(200, "GET", `${entity}/events`);
  assert.match(JSON.stringify(can), /"pay"/);
  assert.doesNotMatch(JSON.stringify(can), /"ship"/);

  const pay = { event_type: "pay", params: { amount: 1 } };
  const dry = await service.expect(200, "POST", `${entity}/transition`, { body: { ...pay, dry_run: true } });
  assert.equal(dry.current_state, "paid");
  assert.equal(dry.dry_run, true);
  assert.equal((await service.expect(200, "GET", entity)).current_state, "pending");

  const stale = await service.call("POST", `${entity}/transition`, { body: { ...pay, expected_version: 7 } });
  refused(stale, 409, "VERSION_CONFLICT");
  assert.deepEqual([stale.body.error.expected, stale.body.error.actual], [7, 1]);
  const moved = await service.expect(200, "POST", `${entity}/transition`, {
    body: { ...pay, expected_version: 1, explain: true },
  });
  assert.equal(moved.state_version, 2);
  assert.equal(typeof moved.explain, "object");
});

test("diagrams are text, with the entity's state marked", async () => {
  const mermaid = await service.call("GET", "/api/machines/order/diagram");
  assert.match(mermaid.headers.get("content-type") ?? "", /^text\/plain/);
  assert.match(mermaid.text, /^stateDiagram-v2/);
  const marked = await service.call("GET", "/api/machines/order/diagram?format=mermaid&entity_id=o-1");
  assert.notEqual(marked.text, mermaid.text);
  assert.match((await service.call("GET", "/api/machines/order/diagram?format=dot")).text, /^digraph/);
  refused(await service.call("GET", "/api/machines/order/diagram?format=png"), 400, "BAD_REQUEST");
});

test("in_flight: a revision without a state that entities are in is refused, or leaves them on theirs", async () => {
  const two = {
    machine_id: "two",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [{ from: "a", to: "b", on: "go" }],
  };
  await service.register(two);
  await service.expect(201, "POST", "/api/machines/two/entities", { body: { entity_id: "x" } });
  const without = {
    ...two,
    states: ["b", "c"],
    initial_state: "b",
    transitions: [{ from: "b", to: "c", on: "go" }],
  };
  const answer = await service.call("PUT", "/api/machines/two", { body: without });
  refused(answer, 409, "LIVE_STATES");
  assert.deepEqual(answer.body.error.live, [{ region: "_", state: "a", entities: 1 }]);
  await service.expect(200, "PUT", "/api/machines/two?in_flight=pin", { body: without });
  const moved = await service.expect(200, "POST", "/api/machines/two/entities/x/transition", {
    body: { event_type: "go" },
  });
  assert.equal(moved.transition, "a → b");
  refused(
    await service.call("PUT", "/api/machines/two?in_flight=maybe", { body: without }),
    400,
    "BAD_REQUEST",
  );
});
