// The client against a server that fails: what is sent again, what is not, and what the caller is told.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

import { ROOT } from "../../scripts/paths.ts";
import { type ClientOptions, createClient, StatewrightError } from "../../src/js/lib/client.ts";
import { order } from "../http/support.ts";
import { drop, faulty, json, problem, silent, tear, type Turn } from "./faulty.ts";

const event = { event_type: "pay" };
const done = json(200, { entity_id: "o-1" });

function client(url: string, options: Partial<ClientOptions> = {}) {
  return createClient({ url, apiKey: "secret", tenant: "demo", ...options });
}

/** What a promise rejects with, which must be our error. */
async function refusal(promise: PromiseLike<unknown>): Promise<StatewrightError> {
  const error = await promise.then(
    () => assert.fail("it was not refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StatewrightError, String(error));
  return error;
}

test("a request says who asks, of which tenant, and has a key of its own", async (t) => {
  const server = await faulty(t, done);
  const { entities, forTenant } = client(server.url);
  await entities.transition("or/der", "o 1", { event_type: "pay", params: { amount: 25 } });
  await forTenant("other").entities.transition("order", "o-1", event);
  const [first, second] = server.seen;
  assert.equal(first?.method, "POST");
  assert.equal(first.path, "/api/machines/or%2Fder/entities/o%201/transition");
  assert.equal(first.headers["authorization"], "Bearer secret");
  assert.equal(first.headers["x-tenant-id"], "demo");
  assert.equal(first.headers["content-type"], "application/json");
  assert.deepEqual(JSON.parse(first.body), { event_type: "pay", params: { amount: 25 } });
  assert.match(String(first.headers["idempotency-key"]), /^[0-9a-f]{32}$/);
  assert.equal(second?.headers["x-tenant-id"], "other");
  assert.notEqual(second?.headers["idempotency-key"], first.headers["idempotency-key"]);
});

test("the caller's key goes along, `null` sends none, and an empty one is refused", async (t) => {
  const server = await faulty(t, done);
  const { entities } = client(server.url);
  await entities.transition("order", "o-1", event, { idempotencyKey: "k 1" });
  await entities.transition("order", "o-1", event, { idempotencyKey: null });
  const keys = server.seen.map(({ headers }) => headers["idempotency-key"]);
  assert.deepEqual(keys, ["k 1", undefined]);
  const error = await refusal(entities.transition("order", "o-1", event, { idempotencyKey: "" }));
  assert.equal(error.code, "BAD_REQUEST");
  assert.equal(server.seen.length, 2);
});

test("what changes nothing has no key, nor has the health the caller's", async (t) => {
  const server = await faulty(t, done);
  const { entities, machines, records, health } = client(server.url);
  await entities.explain("order", "o-1", event);
  await machines.validate({});
  await records.get({ machine: "task", id: "t-1" });
  await health();
  for (const { headers } of server.seen) assert.equal(headers["idempotency-key"], undefined);
  assert.equal(server.seen.at(-1)?.headers["authorization"], undefined);
});

test("a tenant is sent as UTF-8", async (t) => {
  const server = await faulty(t, done);
  await client(server.url, { tenant: "Zoë 日本" }).scheduler();
  const sent = Buffer.from(String(server.seen[0]?.headers["x-tenant-id"]), "latin1").toString();
  assert.equal(sent, "Zoë 日本");
});

/** What makes a request be sent again, where that is safe. */
const again: [string, Turn][] = [
  ["a connection that is dropped", drop],
  ["an answer that breaks off", tear],
  ["429", json(429, {})],
  ["a proxy's 502", (response) => response.writeHead(502).end("<html>no such backend</html>")],
  ["a 500 that says retry", problem(500, "INTERNAL_ERROR", true)],
  ["a 503 that says retry", problem(503, "TIMEOUTS_PENDING", true)],
  ["a 409 that says retry", problem(409, "CONFLICT", true)],
  ["a key in flight", problem(409, "IDEMPOTENCY_IN_FLIGHT", true)],
];

for (const [name, turn] of again) {
  test(`${name}: sent again with the same key and body`, async (t) => {
    const server = await faulty(t, turn, turn, done);
    const answer = await client(server.url).entities.transition("order", "o-1", event);
    assert.deepEqual(answer, { entity_id: "o-1" });
    assert.equal(server.seen.length, 3);
    const sent = server.seen.map(({ body, headers }) => `${String(headers["idempotency-key"])} ${body}`);
    assert.equal(new Set(sent).size, 1);
    assert.equal(server.seen[0]?.body, JSON.stringify(event));
  });

  test(`${name}: not sent again where there is no key`, async (t) => {
    const server = await faulty(t, turn, done);
    await refusal(client(server.url).entities.transition("order", "o-1", event, { idempotencyKey: null }));
    assert.equal(server.seen.length, 1);
  });

  test(`${name}: sent again where nothing is changed`, async (t) => {
    const server = await faulty(t, turn, done);
    await client(server.url).entities.explain("order", "o-1", event);
    assert.equal(server.seen.length, 2);
  });
}

test("what stands is not sent again, and is told as the service tells it", async (t) => {
  const stands: [number, string, boolean][] = [
    [400, "BAD_REQUEST", false],
    [401, "UNAUTHORIZED", false],
    [404, "NOT_FOUND", false],
    [409, "VERSION_CONFLICT", false],
    [422, "IDEMPOTENCY_MISMATCH", false],
    [500, "CORRUPT_INSTANCE", false],
    [503, "SECRETS_DISABLED", false],
  ];
  for (const [status, code, retry] of stands) {
    const body = { error: { code, message: "why", retry, expected: 7, actual: 3 } };
    const server = await faulty(t, json(status, body));
    const error = await refusal(client(server.url).entities.transition("order", "o-1", event));
    assert.equal(server.seen.length, 1, code);
    const { code: told, status: shown, message, retry: may, details } = error;
    assert.deepEqual(
      { told, shown, message, may, details },
      { told: code, shown: status, message: "why", may: retry, details: { expected: 7, actual: 3 } },
    );
  }
});

test("that something exists is not asked again: a second later it still does", async (t) => {
  const server = await faulty(t, problem(409, "CONFLICT", true));
  const { machines, entities } = client(server.url);
  const calls = [
    () => machines.create(order),
    () => machines.delete("m"),
    () => entities.create("m", { entity_id: "e" }),
  ];
  for (const call of calls) assert.equal((await refusal(call())).code, "CONFLICT");
  assert.equal(server.seen.length, 3);
});

test("tries are bounded, and the last answer is told", async (t) => {
  const server = await faulty(t, problem(503, "INBOX_UNAVAILABLE", true));
  const error = await refusal(client(server.url, { retries: 2 }).machines.delete("m"));
  assert.equal(error.code, "INBOX_UNAVAILABLE");
  assert.equal(error.retry, true);
  assert.equal(server.seen.length, 3);
  await refusal(client(server.url, { retries: 0 }).machines.delete("m"));
  assert.equal(server.seen.length, 4);
});

test("waits grow from try to try", async (t) => {
  const server = await faulty(t, drop);
  await refusal(client(server.url, { retries: 3 }).health());
  const waits = server.seen.slice(1).map(({ at }, index) => at - (server.seen[index]?.at ?? 0));
  const least = [50, 100, 200];
  assert.ok(
    waits.every((wait, index) => wait >= (least[index] ?? 0) - 5),
    String(waits),
  );
});

test("Retry-After is waited for, in seconds or as a date; one that is too far is not", async (t) => {
  const server = await faulty(t, problem(503, "SCHEMA_MISMATCH", true, { "retry-after": "1" }), done);
  await client(server.url).machines.counts("m");
  const [first, second] = server.seen;
  assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 995);

  const soon = new Date(Date.now() + 2000).toUTCString();
  const dated = await faulty(t, json(429, {}, { "retry-after": soon }), done);
  await client(dated.url).machines.counts("m");
  assert.ok((dated.seen[1]?.at ?? 0) >= Date.parse(soon) - 5);

  const far = await faulty(t, json(429, {}, { "retry-after": "3600" }), done);
  assert.equal((await refusal(client(far.url).machines.counts("m"))).status, 429);
  assert.equal(far.seen.length, 1);
});

test("a try that takes too long is given up, and is one of those that are sent again", async (t) => {
  const server = await faulty(t, silent, done);
  await client(server.url, { timeout: 100 }).machines.delete("m");
  assert.equal(server.seen.length, 2);
  const dead = await faulty(t, silent);
  const error = await refusal(client(dead.url, { timeout: 50, retries: 1 }).machines.delete("m"));
  assert.equal(error.code, "NO_ANSWER");
  assert.equal(error.status, 0);
  assert.equal(error.retry, true);
  assert.match(error.message, /no answer within 50 ms/);
  assert.equal(dead.seen.length, 2);
});

test("where nobody listens, the error says so, with its cause", async (t) => {
  const server = await faulty(t, done);
  server.stop();
  const error = await refusal(client(server.url, { retries: 0 }).health());
  assert.equal(error.code, "NO_ANSWER");
  assert.match(error.message, /ECONNREFUSED/);
  assert.ok(error.cause instanceof Error);
});

test("a caller who gives up gets his own reason, at once, in a try or between two", async (t) => {
  for (const turn of [silent, json(429, {}, { "retry-after": "30" })]) {
    const server = await faulty(t, turn);
    const reason = new Error("enough");
    const giving = new AbortController();
    const call = client(server.url).machines.delete("m", { signal: giving.signal });
    setTimeout(() => giving.abort(reason), 100);
    await assert.rejects(call, reason);
    assert.equal(server.seen.length, 1);
  }
  const before = client("http://127.0.0.1:1").machines.delete("m", { signal: AbortSignal.abort("never") });
  assert.equal(await before.catch((told: unknown) => told), "never");
});

test("another program at this address is told from a service", async (t) => {
  const moved: Turn = (response) => response.writeHead(301, { location: "https://new.example.com/" }).end();
  const page: Turn = (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Hi</p>");
  const server = await faulty(t, moved, page, json(404, { message: "no such app" }));
  const { machines } = client(server.url);
  const redirected = await refusal(machines.get("m"));
  assert.equal(redirected.code, "UNKNOWN_ANSWER");
  assert.match(redirected.message, /https:\/\/new\.example\.com/);
  assert.match((await refusal(machines.get("m"))).message, /<p>Hi<\/p>/);
  const stranger = await refusal(machines.get("m"));
  assert.equal(stranger.code, "UNKNOWN_ANSWER");
  assert.equal(stranger.status, 404);
});

test("options that are wrong are refused by their names when the client is made", () => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ url: "statewright.example.com" }, "url"],
    [{ url: undefined }, "url"],
    [{ url: "ftp://example.com" }, "url"],
    [{ url: "https://example.com/?a=1" }, "url"],
    [{ url: "https://me:secret@example.com" }, "url"],
    [{ retries: -1 }, "retries"],
    [{ timeout: 0 }, "timeout"],
    [{ timeout: 2 ** 31 }, "timeout"],
    [{ timeout: Number.POSITIVE_INFINITY }, "timeout"],
    [{ fetch: 5 }, "fetch"],
    [{ apiKey: "a\nb" }, "apiKey"],
    [{ apiKey: 5 }, "apiKey"],
    [{ tenant: "a\r\nX-Other: b" }, "tenant"],
    [{ tennant: "a" }, "options.tennant"],
  ];
  for (const [options, path] of wrong) {
    assert.throws(
      () => createClient({ url: "https://example.com", ...options }),
      (error: unknown) => {
        assert.ok(error instanceof StatewrightError);
        assert.deepEqual([error.code, error.details.path], ["BAD_REQUEST", path]);
        return true;
      },
    );
  }
  for (const none of [undefined, null, "https://example.com"]) {
    assert.throws(() => createClient(none as unknown as ClientOptions), { code: "BAD_REQUEST" });
  }
});

test("keys and names with other characters than ASCII are sent as UTF-8", async () => {
  const sent: Headers[] = [];
  const fetch = async ({ headers }: Request) => {
    sent.push(headers);
    return Response.json([]);
  };
  const { machines } = createClient({ url: "https://example.com", apiKey: "ключ", tenant: "Ωmega", fetch });
  await machines.list({}, { requestId: "🙂" });
  const bytes = (text: string | null | undefined) => Buffer.from(text ?? "", "latin1").toString();
  assert.deepEqual(
    ["authorization", "x-tenant-id", "x-request-id"].map((name) => bytes(sent[0]?.get(name))),
    ["Bearer ключ", "Ωmega", "🙂"],
  );
});

test("a fetch that gives no Response is no answer", async () => {
  for (const given of [undefined, Promise.resolve(undefined), { status: 200 }]) {
    const fetch = (() => given) as unknown as NonNullable<ClientOptions["fetch"]>;
    const { machines } = createClient({ url: "https://example.com", fetch, retries: 0 });
    const error = await refusal(machines.get("m"));
    assert.deepEqual([error.code, /`fetch` gave no Response/.test(error.message)], ["NO_ANSWER", true]);
  }
});

test("a path before the routes is kept, with a slash at its end or without", async (t) => {
  const server = await faulty(t, json(200, []));
  for (const mount of ["/flows", "/flows/"]) await client(server.url + mount).machines.list({ limit: 2 });
  assert.deepEqual(
    server.seen.map(({ path }) => path),
    ["/flows/api/machines?limit=2", "/flows/api/machines?limit=2"],
  );
});

test("`http` is the raw API: same key, tenant, Idempotency-Key and retries; a refusal is no exception", async (t) => {
  const server = await faulty(t, drop, json(201, { machine_id: "m" }), problem(404, "NOT_FOUND", false));
  const { http } = client(server.url);
  const { data, response } = await http.POST("/api/machines", { body: { machine_id: "m" } });
  assert.equal(data?.machine_id, "m");
  assert.equal(response.status, 201);
  const [dropped, answered] = server.seen;
  assert.equal(dropped?.headers["authorization"], "Bearer secret");
  assert.equal(dropped.headers["x-tenant-id"], "demo");
  assert.ok(dropped.headers["idempotency-key"]);
  assert.equal(answered?.headers["idempotency-key"], dropped.headers["idempotency-key"]);
  const { error } = await http.GET("/api/machines/{machine_id}", { params: { path: { machine_id: "x" } } });
  assert.equal(error?.error.code, "NOT_FOUND");
});

test("a webhook that is sent raw has its own identity, and is sent once", async (t) => {
  const server = await faulty(t, problem(503, "INBOX_UNAVAILABLE", true));
  const { http } = client(server.url);
  await http.POST("/hooks/{tenant}/{source_id}", {
    params: { path: { tenant: "demo", source_id: "shop" } },
    headers: { "Idempotency-Key": "k" },
    body: {},
  });
  assert.equal(server.seen.length, 1);
  assert.equal(server.seen[0]?.headers["authorization"], undefined);
});

test("a fetch of the caller's own is used, in every try", async () => {
  let tries = 0;
  const fetch = async (request: Request): Promise<Response> => {
    tries += 1;
    assert.equal(request.headers.get("authorization"), "Bearer secret");
    assert.equal(await request.text(), JSON.stringify(event));
    if (tries === 1) throw new TypeError("no network");
    return Response.json({ entity_id: "o-1" });
  };
  await client("https://in-process", { fetch }).entities.transition("order", "o-1", event);
  assert.equal(tries, 2);
});

test("a fetch that looks at no signal is not waited for beyond the timeout", async () => {
  const fetch = () => new Promise<Response>(() => undefined);
  const error = await refusal(client("https://in-process", { fetch, timeout: 30, retries: 1 }).health());
  assert.equal(error.code, "NO_ANSWER");
});

test("the built package's client works in every kind of module, in this Node.js and in the one of the machine", async (t) => {
  const scripts = {
    module: 'import { createClient } from "statewright/client";',
    commonjs: 'const { createClient } = require("statewright/client");',
  };
  const server = await faulty(t, drop, done);
  for (const node of [process.execPath, "node"]) {
    for (const [type, first] of Object.entries(scripts)) {
      const call = `createClient({ url: ${JSON.stringify(server.url)}, tenant: "é日" }).scheduler()`;
      const script = `${first} ${call}.then((answer) => console.log(JSON.stringify(answer)));`;
      const { stdout } = await promisify(execFile)(node, [`--input-type=${type}`, "--eval", script], {
        cwd: ROOT,
      });
      assert.equal(stdout, '{"entity_id":"o-1"}\n', `${node} ${type}`);
    }
  }
  assert.equal(server.seen.length, 5);
});
