// The operations: made from the OpenAPI document, all of it, and asked as it says.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { LIB, wanted } from "../../scripts/openapi-types.ts";
import type { Document } from "../../scripts/openapi-types/generate.ts";
import { ROOT } from "../../scripts/paths.ts";
import type { CallAnswer, CallRequest } from "../../src/js/lib/call.ts";
import { StatewrightError } from "../../src/js/lib/errors.ts";
import { operations } from "../../src/js/lib/operations.ts";
import { order } from "../http/support.ts";

const document = JSON.parse(readFileSync(join(ROOT, "docs", "openapi.json"), "utf8")) as Document;

test("what is made from docs/openapi.json is current", async () => {
  for (const { file, text } of await wanted()) {
    const fresh = readFileSync(join(LIB, file), "utf8") === text;
    assert.ok(fresh, `src/js/lib/${file} is not current; \`node scripts/openapi-types.ts\` makes it anew`);
  }
});

/** Operations over a service that notes what it is asked, and answers with what `answers` has for it. */
function noting(answers: (request: CallRequest) => Partial<CallAnswer> = () => ({})) {
  const asked: CallRequest[] = [];
  const call = async (request: CallRequest): Promise<CallAnswer> => {
    asked.push(request);
    return { status: 200, headers: new Map(), data: [], ...answers(request) };
  };
  return { asked, all: operations(call, "demo") };
}

test("every route of the API has a method, but those that are no calls of a tenant", async () => {
  const { asked, all } = noting();
  const event = { event_type: "pay" };
  const named = { event_type: "pay", entity_key: "id", params: { id: "o-1" } };
  const record = { machine: "task", id: "t-1" };
  const sink = { type: "webhook", url: "https://example.com" } as const;
  const source = { machine: "order", scheme: { type: "github" }, secret: "s", mapping: {} };
  const calls: Record<string, () => PromiseLike<unknown>> = {
    "machines.create": () => all.machines.create(order),
    "machines.get": () => all.machines.get("m"),
    "machines.list": () => all.machines.list(),
    "machines.replace": () => all.machines.replace("m", order, { in_flight: "pin" }),
    "machines.delete": () => all.machines.delete("m"),
    "machines.validate": () => all.machines.validate({}),
    "machines.revisions": () => all.machines.revisions("m"),
    "machines.counts": () => all.machines.counts("m"),
    "machines.diagram": () => all.machines.diagram("m", { format: "dot" }),
    "entities.create": () => all.entities.create("m", { entity_id: "e" }),
    "entities.get": () => all.entities.get("m", "e", { tree: true }),
    "entities.list": () => all.entities.list("m", { prefix: "e" }),
    "entities.delete": () => all.entities.delete("m", "e"),
    "entities.transition": () => all.entities.transition("m", "e", event),
    "entities.explain": () => all.entities.explain("m", "e", event),
    "entities.events": () => all.entities.events("m", "e"),
    "entities.history": () => all.entities.history("m", "e", { order: "id" }),
    "entities.release": () => all.entities.release("m", "e"),
    evaluate: () => all.evaluate("m", named),
    evaluateBatch: () => all.evaluateBatch("m", [named]),
    "records.create": () => all.records.create({ ...record, state: "open" }),
    "records.get": () => all.records.get(record),
    "records.transition": () =>
      all.records.transition({ ...record, from: "open", to: "done", expected_version: 1 }),
    "secrets.list": () => all.secrets.list(),
    "secrets.put": () => all.secrets.put("s", { value: "v" }),
    "secrets.rotate": () => all.secrets.rotate("s"),
    "secrets.delete": () => all.secrets.delete("s"),
    "secrets.deletePrevious": () => all.secrets.deletePrevious("s"),
    "subscriptions.create": () => all.subscriptions.create({ source: "records", sink }),
    "subscriptions.get": () => all.subscriptions.get("s"),
    "subscriptions.list": () => all.subscriptions.list(),
    "subscriptions.put": () => all.subscriptions.put("s", { source: "records", sink }),
    "subscriptions.delete": () => all.subscriptions.delete("s"),
    "sources.list": () => all.sources.list(),
    "sources.get": () => all.sources.get("s"),
    "sources.put": () => all.sources.put("s", source),
    "sources.delete": () => all.sources.delete("s"),
    "sources.try": () => all.sources.try("s", { body: {} }),
    "outbox.list": () => all.outbox.list({ status: "dead" }),
    "outbox.get": () => all.outbox.get("o"),
    "outbox.redrive": () => all.outbox.redrive("o"),
    "outbox.cancel": () => all.outbox.cancel("o"),
    "outbox.redriveAll": () => all.outbox.redriveAll(),
    "outbox.cancelAll": () => all.outbox.cancelAll(),
    receipts: () => all.receipts("k"),
    scheduler: () => all.scheduler(),
    health: () => all.health(),
  };
  const routeOf: Record<string, string> = {};
  for (const [name, call] of Object.entries(calls)) {
    await call();
    const { method, path } = asked.at(-1) ?? assert.fail();
    routeOf[name] = `${method} ${path}`;
  }
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const called = Object.values(routeOf);
  const missing = routes.filter((route) => !called.includes(route));
  assert.deepEqual(missing.sort(), ["GET /openapi.json", "POST /hooks/{tenant}/{source_id}"]);

  const page = readFileSync(join(ROOT, "docs", "client.md"), "utf8");
  const rows = page.matchAll(/^\| `([\w.]+)\(.*\)` \| `([A-Z]+ \S+)` \|$/gm);
  assert.deepEqual(Object.fromEntries([...rows].map(([, name, route]) => [name, route])), routeOf);

  for (const { path, headers, params } of asked) {
    const open = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(Object.keys(params), open, path);
    assert.equal(headers["X-Tenant-Id"], path === "/health" ? undefined : "demo", path);
  }
});

test("options become headers", async () => {
  const { asked, all } = noting();
  const signal = new AbortController().signal;
  await all.machines.delete("m", { idempotencyKey: "k-1", requestId: "r-1", runId: "run-1", signal });
  await all.machines.delete("m", { idempotencyKey: null });
  assert.deepEqual(asked[0]?.headers, {
    "X-Tenant-Id": "demo",
    "Idempotency-Key": "k-1",
    "X-Request-Id": "r-1",
    "X-Run-Id": "run-1",
  });
  assert.equal(asked[0]?.signal, signal);
  assert.deepEqual(
    asked.map(({ unkeyed }) => unkeyed),
    [false, true],
  );
  assert.deepEqual(asked[1]?.headers, { "X-Tenant-Id": "demo" });
});

test("names that a URL would resolve away, or cannot hold, are refused before they are sent", async () => {
  const { asked, all } = noting();
  for (const name of ["", ".", "..", "\ud800", undefined as unknown as string]) {
    await assert.rejects(all.entities.delete("order", name), (error: unknown) => {
      assert.ok(error instanceof StatewrightError);
      assert.equal(error.code, "BAD_REQUEST");
      assert.equal(error.details.path, "entity_id");
      return true;
    });
  }
  assert.deepEqual(asked, []);
});

test("what a request cannot say is refused by its name before it is sent", async () => {
  const { asked, all } = noting();
  const refusal = async (answer: Promise<unknown>): Promise<string> => {
    const error: unknown = await answer.then(
      () => assert.fail("it is not refused"),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof StatewrightError, String(error));
    assert.deepEqual([error.code, error.status], ["BAD_REQUEST", 400]);
    return error.message;
  };
  const go = (params: object) =>
    refusal(all.entities.transition("m", "e", { event_type: "go", params } as never));
  const cycle: { again?: object } = {};
  cycle.again = cycle;
  assert.deepEqual(
    [await go({ a: NaN }), await go({ a: 5n }), await go({ a: new Map() }), await go(cycle)],
    [
      "body.params.a: it is NaN; expected a finite number",
      "body.params.a: it is a bigint; expected a number, or its digits as text",
      "body.params.a: it is a Map; expected plain data: text, a number or an object",
      "body.params.again: it is within itself; expected plain data without a cycle",
    ],
  );
  const del = (options: unknown) => refusal(all.machines.delete("m", options as never));
  assert.deepEqual(
    [
      await refusal(all.entities.transition("m", "e", undefined as never)),
      await del({ idempotencyKey: 5 }),
      await del({ idempotencyKey: "" }),
      await del({ idempotencyKey: "ключ" }),
      await del({ requestId: "a\nb" }),
      await del({ idempotency_key: "a" }),
      await del(null),
    ],
    [
      "body: it is missing; expected a JSON value",
      "idempotencyKey: it is 5; expected a text",
      "idempotencyKey: it is empty; expected printable ASCII characters, or `null` for none",
      "idempotencyKey: it has other characters; expected printable ASCII characters, or `null` for none",
      "requestId: it has a control character; expected one line of text",
      "options.idempotency_key: nothing reads it; expected one of `idempotencyKey`, `requestId`, `runId`, `signal`",
      "options: they are null; expected an object with `idempotencyKey`, `requestId`, `runId`, `signal`",
    ],
  );
  assert.deepEqual(asked, []);
});

test("a list that goes on where it was ends with an error", async () => {
  const { asked, all } = noting(() => ({
    data: [],
    headers: new Map([["link", '</api/machines?cursor=c>; rel="next"']]),
  }));
  const every = async () => {
    for await (const _ of all.machines.list().pages());
  };
  await assert.rejects(every, { code: "UNKNOWN_ANSWER" });
  assert.equal(asked.length, 2);
});

/** A list of three pages. */
function paged() {
  return noting(({ query }) => {
    const at = Number(query["cursor"] ?? 0);
    const link = `</api/machines?limit=2&cursor=${at + 1}>; rel="next"`;
    return {
      data: [`${at}a`, `${at}b`],
      headers: new Headers(at < 2 ? { Link: link } : {}),
    };
  });
}

test("a list that is awaited is its first page, and says what comes next", async () => {
  const { asked, all } = paged();
  const listing = all.machines.list({ limit: 2 });
  assert.equal(asked.length, 0, "nothing is asked before");
  const { items, next } = await listing;
  assert.deepEqual(items, ["0a", "0b"]);
  assert.equal(next, "1");
  const last = await all.machines.list({ limit: 2, cursor: "2" });
  assert.deepEqual(last, { items: ["2a", "2b"], next: undefined });
  assert.deepEqual(
    asked.map(({ query }) => query),
    [{ limit: 2 }, { limit: 2, cursor: "2" }],
  );
});

test("a list that is iterated over is all items of all pages, asked for when they are reached", async () => {
  const { asked, all } = paged();
  const seen: unknown[] = [];
  for await (const item of all.machines.list({ limit: 2 })) {
    seen.push(item);
    if (seen.length === 2) assert.equal(asked.length, 1);
  }
  assert.deepEqual(seen, ["0a", "0b", "1a", "1b", "2a", "2b"]);
  assert.deepEqual(
    asked.map(({ query }) => query["cursor"]),
    [undefined, "1", "2"],
  );
  const listing = all.machines.list();
  await listing;
  for await (const _ of listing.pages()) break;
  assert.equal(asked.length, 4, "the first page is asked for once");
});

test("a list that is refused rejects, awaited or iterated over", async () => {
  const refusal = new StatewrightError({ code: "NOT_FOUND", message: "no", retry: false }, 404);
  const all = operations(() => Promise.reject(refusal), "demo");
  await assert.rejects(all.machines.revisions("m"), refusal);
  await assert.rejects(async () => {
    for await (const _ of all.machines.revisions("m")) assert.fail();
  }, refusal);
  assert.equal(await all.machines.revisions("m").catch(() => "caught"), "caught");
});
