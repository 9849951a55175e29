// Who is let in, what is refused and how, and the shape of every answer: S2.14 to S2.19, S2.231 to S2.274.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";

import { open, order, refused, serve } from "./support.ts";

const service = await serve({ settings: { CORS_ORIGINS: "https://a.example, https://b.example/" } });
await service.register(order);

test("S2.14, S2.248: /health needs no key and says what it is", async () => {
  const answer = await service.call("GET", "/health", { key: null, tenant: null });
  assert.equal(answer.status, 200);
  assert.deepEqual(Object.keys(answer.body).sort(), ["service", "status", "version"]);
  assert.equal(answer.body.status, "ok");
  assert.equal(answer.body.service, "state-machine");
  assert.match(answer.body.version, /^\d+\.\d+\.\d+/);
});

test("S2.15: a missing or wrong key is 401 on every path under /api", async () => {
  for (const path of ["/api", "/api/", "/api/machines", "/api/machines/order", "/api/nothing", "/api?x"]) {
    refused(await service.call("GET", path, { key: null }), 401, "UNAUTHORIZED");
  }
  for (const authorization of [
    "Bearer wrong",
    "Bearer ",
    "Bearer",
    "test-key",
    "Basic test-key",
    "Bearer test-keyy",
  ]) {
    refused(await service.call("GET", "/api/machines", { headers: { authorization } }), 401, "UNAUTHORIZED");
  }
  const answer = await service.call("GET", "/api/machines", {
    headers: { authorization: "bearer test-key" },
  });
  assert.equal(answer.status, 200, "the scheme's name has no case");
});

test("S2.16: the key is checked before the tenant, the tenant before the body", async () => {
  refused(await service.call("GET", "/api/machines", { key: null, tenant: null }), 401, "UNAUTHORIZED");
  refused(await service.call("POST", "/api/machines", { tenant: null, raw: "{" }), 400, "BAD_REQUEST");
  const answer = await service.call("POST", "/api/machines", { tenant: null, raw: "{" });
  assert.equal(answer.body.error.path, "X-Tenant-Id");
});

test("no key configured: open in development alone", async () => {
  const development = await open({ settings: { API_KEY: "" } });
  const production = await open({ settings: { API_KEY: "", ENVIRONMENT: "production" } });
  try {
    await development.expect(200, "GET", "/api/machines", { key: null });
    const answer = await production.call("GET", "/api/machines");
    refused(answer, 401, "UNAUTHORIZED");
    assert.match(answer.body.error.message, /API_KEY/);
    await production.expect(200, "GET", "/health", { key: null });
  } finally {
    await development.runtime.stop();
    await production.runtime.stop();
  }
});

test("in production a database without the schema is refused, not touched", async () => {
  const production = await open({ settings: { ENVIRONMENT: "production" } });
  try {
    refused(await production.call("GET", "/api/machines"), 503, "SCHEMA_MISMATCH", true);
    const tables = await production.runtime.sql(
      "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'",
    );
    assert.deepEqual(tables, []);
  } finally {
    await production.runtime.stop();
  }
});

test("S2.17: a tenant sees its own machines alone", async () => {
  refused(await service.call("GET", "/api/machines", { tenant: null }), 400, "BAD_REQUEST");
  refused(await service.call("GET", "/api/machines/order", { tenant: "t2" }), 404, "NOT_FOUND");
  assert.deepEqual(await service.expect(200, "GET", "/api/machines", { tenant: "t2" }), []);
});

/** Sends a request's head as it is, and gives all that comes back. */
function raw(...head: (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(service.runtime.url);
  return new Promise((done, failed) => {
    const socket = connect(Number(port), hostname, () => {
      for (const part of head) socket.write(part);
      socket.write("\r\nHost: x\r\nConnection: close\r\n\r\n");
    });
    let text = "";
    socket.on("data", (part) => (text += part.toString()));
    socket.on("close", () => done(text));
    socket.on("error", failed);
  });
}

/** Sends a tenant's bytes as they are. */
function rawTenant(bytes: number[]): Promise<string> {
  const key = "Authorization: Bearer test-key\r\nX-Tenant-Id: ";
  return raw(`GET /api/machines HTTP/1.1\r\n${key}`, Uint8Array.from(bytes));
}

test("no spelling of a path gets around the key", async () => {
  for (const path of [
    "/api/machines",
    "//api/machines",
    "/./api/machines",
    "/x/../api/machines",
    "/%61pi/machines",
    "/api%2Fmachines",
    "/API/machines",
    "/\\api/machines",
    "/api/./machines",
    "/health/../api/machines",
    "/api;/machines",
    "http://x/api/machines",
    "http://x//api/machines",
    "/health?/../api/machines",
  ]) {
    const answer = await raw(`GET ${path} HTTP/1.1\r\nX-Tenant-Id: t1`);
    const health = path.startsWith("/health?");
    assert.match(
      answer,
      health ? /^HTTP\/1.1 200[^]*state-machine/ : /^HTTP\/1.1 (401|404|400) /,
      `${path}: ${answer}`,
    );
  }
});

test("a tenant is any text in UTF-8 without control characters, byte for byte", async () => {
  const name = [...Buffer.from("Käse 😀")];
  assert.match(await rawTenant(name), /^HTTP\/1.1 200/);
  assert.match(await rawTenant([0xe4, 0xff]), /^HTTP\/1.1 400[^]*X-Tenant-Id/);
  assert.match(await rawTenant([65, 9, 65]), /^HTTP\/1.1 400[^]*control character/);
  refused(await service.call("GET", "/api/machines", { tenant: "x".repeat(129) }), 400, "BAD_REQUEST");
  await service.expect(200, "GET", "/api/machines", { tenant: "x".repeat(128) });
});

test("S2.18, S2.19: evaluate takes params.key_prefix for a tenant, and the header before it", async () => {
  const body = { event_type: "nothing", entity_key: "id", params: { id: "prefix-1", key_prefix: "t1" } };
  const path = "/api/machines/order/evaluate";
  await service.expect(200, "POST", path, { tenant: null, body });
  await service.expect(200, "GET", "/api/machines/order/entities/prefix-1");
  refused(await service.call("POST", path, { tenant: "t2", body }), 404, "NOT_FOUND");
  const { key_prefix, ...params } = body.params;
  assert.equal(key_prefix, "t1");
  refused(await service.call("POST", path, { tenant: null, body: { ...body, params } }), 400, "BAD_REQUEST");
});

test("S2.262: unknown routes, wrong methods and broken bodies are answered in the error's shape", async () => {
  for (const path of [
    "/",
    "/nothing",
    "/api/nothing",
    "/api/machines/",
    "/api/machines/order/nothing",
    "/health/",
  ]) {
    refused(await service.call("GET", path), 404, "NOT_FOUND");
  }
  const wrong = await service.call("PATCH", "/api/machines/order");
  refused(wrong, 405, "METHOD_NOT_ALLOWED");
  assert.equal(wrong.headers.get("allow"), "GET,HEAD,PUT,DELETE,OPTIONS");
  refused(await service.call("POST", "/api/machines/order", { body: {} }), 405, "METHOD_NOT_ALLOWED");
  refused(await service.call("DELETE", "/api/machines"), 405, "METHOD_NOT_ALLOWED");
  refused(await service.call("GET", "/api/machines/order/evaluate"), 405, "METHOD_NOT_ALLOWED");
  for (const raw of [
    "",
    "{",
    "[]",
    "null",
    '"x"',
    "{}{}",
    '{"a":1e999}',
    "\u0000",
    '{"event_type":"\\ud800"}',
  ]) {
    refused(await service.call("POST", "/api/machines/order/evaluate", { raw }), 400, "BAD_REQUEST");
  }
  const broken = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
  refused(await service.call("POST", "/api/machines/order/evaluate", { raw: broken }), 400, "BAD_REQUEST");
});

test("content types: JSON in any spelling or none; else 415", async () => {
  const path = "/api/machines/order/evaluate";
  const body = JSON.stringify({ event_type: "nothing", entity_key: "id", params: { id: "typed" } });
  for (const type of ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json"]) {
    await service.expect(200, "POST", path, { raw: body, headers: { "content-type": type } });
  }
  await service.expect(200, "POST", path, { raw: new TextEncoder().encode(body) });
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonx"]) {
    const answer = await service.call("POST", path, { raw: body, headers: { "content-type": type } });
    refused(answer, 415, "UNSUPPORTED_MEDIA_TYPE");
  }
});

test("a body of more than 1 MiB is 413, declared or not", async () => {
  const path = "/api/machines/order/evaluate";
  const most = 1024 * 1024;
  refused(await service.call("POST", path, { raw: new Uint8Array(most + 1) }), 413, "PAYLOAD_TOO_LARGE");
  // Far more than is taken, and yet an end: a sender that is not told to stop would fill the memory.
  let left = 320;
  const undeclared = new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(100_000).fill(32));
      left -= 1;
      if (left === 0) controller.close();
    },
  });
  const answer = await service.call("POST", path, { raw: undeclared }).catch((error: unknown) => error);
  if (!(answer instanceof Error)) refused(answer as never, 413, "PAYLOAD_TOO_LARGE");
  const event = JSON.stringify({ event_type: "nothing", entity_key: "id", params: { id: "large" } });
  await service.expect(200, "POST", path, { raw: event.padEnd(most) });
});

test("paths are percent-decoded once", async () => {
  for (const id of ["a/b", "a%2Fb", "50 %", "ä😀", "a?b#c", "x|y", "+", "a\\b", "~'()*", "..."]) {
    const body = { entity_id: id };
    await service.expect(201, "POST", "/api/machines/order/entities", { body });
    const path = `/api/machines/order/entities/${encodeURIComponent(id)}`;
    assert.equal((await service.expect(200, "GET", path)).entity_id, id);
    await service.expect(204, "DELETE", path);
  }
  refused(await service.call("GET", "/api/machines/order/entities/%FF"), 400, "BAD_REQUEST");
  refused(await service.call("GET", "/api/machines/order/entities/%00"), 400, "BAD_REQUEST");
  refused(await service.call("GET", `/api/machines/order/entities/${"x".repeat(257)}`), 400, "BAD_REQUEST");
  refused(await service.call("GET", `/api/machines/${"x".repeat(129)}`), 400, "BAD_REQUEST");
});

test("HEAD answers as GET without a body; OPTIONS names the methods", async () => {
  const head = await service.call("HEAD", "/api/machines/order");
  assert.equal(head.status, 200);
  assert.equal(head.text, "");
  assert.equal((await service.call("HEAD", "/api/machines/none")).status, 404);
  const options = await service.call("OPTIONS", "/api/machines/order", { key: null });
  assert.equal(options.status, 204);
  assert.equal(options.headers.get("allow"), "GET,HEAD,PUT,DELETE,OPTIONS");
});

test("CORS: the listed origins alone, preflights without a key", async () => {
  const allowed = (answer: { headers: Headers }) => answer.headers.get("access-control-allow-origin");
  const preflight = { "access-control-request-method": "POST" };
  for (const origin of ["https://a.example", "https://b.example"]) {
    const answer = await service.call("OPTIONS", "/api/machines", {
      key: null,
      headers: { origin, ...preflight },
    });
    assert.equal(answer.status, 204);
    assert.equal(allowed(answer), origin);
    assert.match(answer.headers.get("access-control-allow-headers") ?? "", /Authorization.*X-Tenant-Id/);
    assert.match(answer.headers.get("access-control-allow-methods") ?? "", /PUT/);
  }
  const headers = { origin: "https://c.example" };
  assert.equal(
    allowed(await service.call("OPTIONS", "/api/machines", { headers: { ...headers, ...preflight } })),
    null,
  );
  assert.equal(allowed(await service.call("GET", "/api/machines", { headers })), null);
  const answer = await service.call("GET", "/api/machines", { headers: { origin: "https://a.example" } });
  assert.equal(allowed(answer), "https://a.example");
  assert.match(answer.headers.get("vary") ?? "", /origin/i);
  assert.match(answer.headers.get("access-control-expose-headers") ?? "", /link/i);
  const failed = await service.call("GET", "/api/machines", {
    key: null,
    headers: { origin: "https://a.example" },
  });
  assert.equal(allowed(failed), "https://a.example", "a page may read why it was refused");
});

test("LOG_LEVEL: one JSON object a line, down to the level", async () => {
  const loud = await open({ settings: { LOG_LEVEL: "debug" } });
  const quiet = await open({ settings: { LOG_LEVEL: "error" } });
  const wrong = await open({ settings: { LOG_LEVEL: "shout" } });
  try {
    for (const service of [loud, quiet, wrong]) {
      service.log.length = service === wrong ? service.log.length : 0;
      await service.call("GET", "/api/machines/none?x=1");
    }
    const line = JSON.parse(loud.log.at(-1) ?? "");
    assert.equal(line.level, "debug");
    assert.deepEqual(
      [line.message, line.method, line.path, line.status, line.code],
      ["request", "GET", "/api/machines/none?x=1", 404, "NOT_FOUND"],
    );
    assert.equal(typeof line.ms, "number");
    assert.doesNotMatch(loud.log.join(), /test-key/, "the key is in no log");
    assert.deepEqual(quiet.log, []);
    assert.match(wrong.log.join(), /"level":"warn".*LOG_LEVEL is `shout`/);
  } finally {
    for (const service of [loud, quiet, wrong]) await service.runtime.stop();
  }
});

test("/openapi.json is OpenAPI 3.1 and names every route", async () => {
  const document = await service.expect(200, "GET", "/openapi.json", { key: null, tenant: null });
  assert.match(document.openapi, /^3\.1\./);
  const routes = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const machine = "/api/machines/{machine_id}";
  const entity = `${machine}/entities/{entity_id}`;
  assert.deepEqual(
    routes.sort(),
    [
      "GET /health",
      "GET /openapi.json",
      "GET /api/scheduler",
      "GET /api/machines",
      "POST /api/machines",
      "POST /api/machines/validate",
      `GET ${machine}`,
      `PUT ${machine}`,
      `DELETE ${machine}`,
      `GET ${machine}/revisions`,
      `GET ${machine}/counts`,
      `GET ${machine}/diagram`,
      `POST ${machine}/evaluate`,
      `POST ${machine}/evaluate/batch`,
      `GET ${machine}/entities`,
      `POST ${machine}/entities`,
      `GET ${entity}`,
      `DELETE ${entity}`,
      `POST ${entity}/transition`,
      `POST ${entity}/explain`,
      `GET ${entity}/events`,
      `GET ${entity}/history`,
      `POST ${entity}/release`,
      "POST /api/state/create",
      "POST /api/state/get",
      "POST /api/state/transition",
      "GET /api/secrets",
      "PUT /api/secrets/{name}",
      "DELETE /api/secrets/{name}",
      "POST /api/secrets/{name}/rotate",
      "DELETE /api/secrets/{name}/previous",
      "GET /api/subscriptions",
      "POST /api/subscriptions",
      "GET /api/subscriptions/{subscription_id}",
      "PUT /api/subscriptions/{subscription_id}",
      "DELETE /api/subscriptions/{subscription_id}",
      "GET /api/sources",
      "GET /api/sources/{source_id}",
      "PUT /api/sources/{source_id}",
      "DELETE /api/sources/{source_id}",
      "POST /api/sources/{source_id}/try",
      "POST /hooks/{tenant}/{source_id}",
      "GET /api/outbox",
      "POST /api/outbox/redrive",
      "POST /api/outbox/cancel",
      "GET /api/outbox/{outbox_id}",
      "POST /api/outbox/{outbox_id}/redrive",
      "POST /api/outbox/{outbox_id}/cancel",
      "GET /api/receipts/{key}",
    ].sort(),
  );
});

test("/openapi.json: what changes something takes an Idempotency-Key and says how it is told again", async () => {
  const { paths } = await service.expect(200, "GET", "/openapi.json", { key: null, tenant: null });
  const takes = (operation: any) =>
    (operation.parameters ?? []).some(({ name }: { name: string }) => name === "Idempotency-Key");
  const without: string[] = [];
  for (const [path, methods] of Object.entries<any>(paths)) {
    for (const [method, operation] of Object.entries<any>(methods)) {
      if (method === "get") assert.ok(!takes(operation), path);
      else if (!takes(operation)) without.push(path);
      else {
        assert.ok("422" in operation.responses, path);
        const told = Object.entries<any>(operation.responses).filter(([status]) => status.startsWith("2"));
        for (const [, answer] of told) assert.ok("Idempotency-Replayed" in answer.headers, path);
      }
    }
  }
  assert.deepEqual(without.sort(), [
    "/api/machines/validate",
    "/api/machines/{machine_id}/entities/{entity_id}/explain",
    "/api/sources/{source_id}/try",
    "/api/state/get",
    "/hooks/{tenant}/{source_id}",
  ]);
});

test("S0.65: settings that contradict each other are said, and nothing is served by them", async () => {
  const settings = {
    STATE_STALE_AFTER: "30",
    STATE_ACCEPT_TIMEOUT: "30",
    SECRETS_KEY: "c2hvcnQ=",
    LOG_LEVEL: "error",
  };
  const broken = await open({ settings });
  try {
    for (const [method, path] of [
      ["GET", "/api/machines"],
      ["POST", "/hooks/t1/github"],
    ] as const) {
      const answer = await broken.call(method, path);
      refused(answer, 503, "MISCONFIGURED", true);
      assert.match(answer.body.error.message, /STATE_STALE_AFTER is 30 and STATE_ACCEPT_TIMEOUT is 30/);
      assert.match(answer.body.error.message, /SECRETS_KEY/);
      assert.doesNotMatch(answer.text, /c2hvcnQ/, "no secret is told");
    }
    refused(await broken.call("GET", "/api/machines", { key: null }), 401, "UNAUTHORIZED");
    await broken.expect(200, "GET", "/health", { key: null });
    await broken.expect(200, "GET", "/openapi.json", { key: null });
    broken.log.length = 0;
    await broken.runtime.scheduled();
    const told = JSON.parse(broken.log[0] ?? "{}");
    assert.equal(told.level, "error");
    assert.match(told.error, /STATE_STALE_AFTER/);
  } finally {
    await broken.runtime.stop();
  }
});

test("without SECRETS_KEY secrets are refused, and the rest is served", async () => {
  const answer = await service.call("PUT", "/api/secrets/x", { body: { value: "y" } });
  refused(answer, 503, "SECRETS_DISABLED");
  assert.match(answer.body.error.message, /SECRETS_KEY/);
  assert.deepEqual(await service.expect(200, "GET", "/api/secrets"), []);
});

test("/hooks takes POST alone, needs no API key, and tells an unknown source as it tells a wrong signature", async () => {
  const unknown = await service.call("POST", "/hooks/t1/none", { key: null, tenant: null, raw: "x" });
  refused(unknown, 401, "UNAUTHORIZED");
  assert.equal((await service.call("GET", "/hooks/t1/none", { key: null })).status, 405);
  // Answered before it is read, which a sender may meet as a broken connection.
  const sent = service.call("POST", "/hooks/t1/none", { key: null, raw: "x".repeat(1_048_577) });
  const long = await sent.catch((error: unknown) => error);
  if (!(long instanceof Error)) refused(long as never, 413, "PAYLOAD_TOO_LARGE");
});
