// The outbox as an operator sees it: waits and their ends, dead rows and what redrives them, cancelling, purging. The
// Worker's clock is put forward, so that waits of days take no time.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  CLOCK,
  counted,
  delivered,
  type Item,
  outbox,
  redrive,
  row,
  send,
  settled,
  Sink,
  turning,
} from "./sink.ts";
import { refused, serve, type Service } from "./support.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A service whose actions go to a sink, with its clock in hand. */
async function clocked(settings: Record<string, string> = {}) {
  const sink = await Sink.open();
  const service = await serve({ around: CLOCK, settings: { WEBHOOK_ALLOW: sink.host, ...settings } });
  const body = { id: { $from: "/entity_id" }, version: { $from: "/state_version" } };
  await service.register(turning("m", { type: "webhook", url: sink.url, body }));
  let ahead = 0;
  const skip = async (millis: number): Promise<void> => {
    ahead += millis;
    await service.call("GET", `/test/ahead?${ahead}`);
  };
  return { sink, service, skip, now: () => Date.now() + ahead };
}

/** The one row there is, after it was tried for the n-th time. */
function tried(service: Service, times: number): Promise<any> {
  return delivered(service, `try ${times}`, async () => {
    const [item] = await outbox(service);
    if (item === undefined) return undefined;
    const whole = await row(service, item.id);
    return whole.attempts.length === times && whole.phase !== "claimed" && whole;
  });
}

test("an action is tried at 0, 0.5, 1 and 2 s, 5 min, 30 min, 2 h, 5 h and 10 h, and then is dead", async () => {
  const { sink, service, skip } = await clocked();
  sink.reply = () => ({ status: 500, body: "x".repeat(3000) });
  await send(service, "m", "e", "turn");
  const quick = [0.5 * SECOND, SECOND, 2 * SECOND];
  const { attempts } = await tried(service, quick.length + 1);
  for (const [index, wait] of quick.entries()) {
    const [one, next] = attempts.slice(index);
    assert.ok(next.at - one.at >= wait, `${next.at - one.at} for ${wait}`);
  }
  const slow = [5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];
  for (const [index, wait] of slow.entries()) {
    const times = quick.length + 1 + index;
    const found = await tried(service, times);
    assert.deepEqual([found.status, found.phase, found.attempt], ["pending", "waiting", times]);
    const last = found.attempts[times - 1];
    assert.equal(last.status, 500);
    assert.ok(last.body.length <= 1024 && last.body.length > 0, "cut at 1 KB");
    const spread = 0.2 * wait;
    const waits = found.due_at - last.at;
    assert.ok(waits >= wait - spread && waits <= wait + spread + MINUTE, `${waits} for ${wait}`);
    await service.runtime.scheduled();
    assert.equal(sink.deliveries.length, times, "not before it is due");
    await skip(wait + spread + MINUTE);
  }
  const dead = await tried(service, 9);
  assert.deepEqual([dead.status, dead.phase, dead.due_at, dead.attempt], ["dead", null, null, 9]);
  assert.match(dead.error, /500/);
  assert.deepEqual(
    sink.deliveries.map(({ attempt }) => attempt),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  assert.equal(new Set(sink.deliveries.map(({ id }) => id)).size, 1);
  await skip(DAY);
  await service.runtime.scheduled();
  assert.equal(sink.deliveries.length, 9);
});

test("S0.50: a denial waits as long as it says, from a second to an hour, and is not counted", async () => {
  const { sink, service, skip, now } = await clocked({ ACTION_RETRIES: "1" });
  const cases: [string | undefined, number][] = [
    [undefined, 30 * SECOND],
    ["7", 7 * SECOND],
    ["0", SECOND],
    ["999999", HOUR],
    ["soon", 30 * SECOND],
  ];
  await send(service, "m", "first", "turn");
  await settled(service);
  for (const [index, [header, wait]] of cases.entries()) {
    const headers = header === undefined ? {} : { "retry-after": header };
    sink.reply = () => ({ status: 429, headers });
    const id = `d-${index}`;
    await send(service, "m", id, "turn");
    const item = await delivered(service, `${header} is denied`, async () => {
      const [found] = await outbox(service, `&entity=${id}`);
      return found?.phase === "waiting" && found;
    });
    const [denied, ...others] = (await row(service, item.id)).attempts;
    assert.equal(others.length, 0);
    assert.equal(denied.status, 429);
    const waits = (item.due_at ?? 0) - denied.at;
    assert.ok(waits >= wait && waits <= wait + 5 * SECOND, `${header}: ${waits}`);
    sink.reply = () => ({ status: 204 });
    await skip(wait + 5 * SECOND);
    await settled(service);
    const attempts = sink.deliveries.filter((one) => one.body.id === id).map((one) => one.attempt);
    assert.deepEqual(attempts, [1, 1], `${header}`);
  }
  // As a date.
  const date = new Date(now() + HOUR / 2);
  sink.reply = () => ({ status: 503, headers: { "retry-after": date.toUTCString() } });
  await send(service, "m", "dated", "turn");
  const item = await delivered(service, "it is denied", async () => {
    const [found] = await outbox(service, "&entity=dated");
    return found?.phase === "waiting" && found;
  });
  const waits = Math.abs((item.due_at ?? 0) - Math.floor(date.getTime() / SECOND) * SECOND);
  assert.ok(waits <= SECOND, `${waits} ms beside the date`);
});

test("denials in a row end after seven days, and an effect that is dead of them can be redriven", async () => {
  const { sink, service, skip } = await clocked({ ACTION_RETRIES: "1" });
  sink.reply = () => ({ status: 429, headers: { "retry-after": "3600" } });
  await send(service, "m", "e", "turn");
  await tried(service, 1);
  await skip(6 * DAY);
  assert.equal((await tried(service, 2)).status, "pending");
  await skip(DAY + HOUR);
  const dead = await tried(service, 3);
  assert.equal(dead.status, "dead");
  assert.match(dead.error, /429/);
  assert.ok(sink.deliveries.every(({ attempt }) => attempt === 1));
  sink.reply = () => ({ status: 204 });
  await redrive(service, dead.id);
  await settled(service);
  assert.equal((await row(service, dead.id)).status, "done");
});

test("S2.120: a dead effect is listed and redriven: the same id, a higher attempt, tries of its own", async () => {
  const { sink, service } = await clocked({ ACTION_RETRIES: "0.02,0.02" });
  sink.reply = ({ body }) => ({ status: body.version === 2 ? 500 : 204 });
  await send(service, "m", "e", "turn");
  await send(service, "m", "e", "turn");
  await settled(service);
  const list = await service.expect(200, "GET", "/api/outbox?status=dead");
  assert.deepEqual([list.counts.dead, list.counts.done, list.counts.pending], [1, 1, 0]);
  assert.equal(list.oldest_pending, null);
  const [dead] = list.items as Item[];
  assert.ok(dead !== undefined);
  assert.deepEqual([dead.version, dead.attempt], [2, 3], "the next of its lane went on without it");
  await redrive(service, dead.id);
  await settled(service);
  assert.deepEqual(
    sink.deliveries.filter(({ body }) => body.version === 2).map(({ id, attempt }) => [id, attempt]),
    [1, 2, 3, 4, 5, 6].map((attempt) => [dead.event_id, attempt]),
  );
  sink.reply = () => ({ status: 204 });
  await redrive(service, dead.id);
  await settled(service);
  const done = await row(service, dead.id);
  assert.deepEqual([done.status, done.attempt], ["done", 7]);
  refused(
    await service.call("POST", `/api/outbox/${encodeURIComponent(dead.id)}/redrive`),
    409,
    "OUTBOX_STATUS",
  );
  refused(
    await service.call("POST", `/api/outbox/${encodeURIComponent(dead.id)}/cancel`),
    409,
    "OUTBOX_STATUS",
  );
  refused(await service.call("POST", "/api/outbox/none.0/redrive"), 404, "NOT_FOUND");
});

test("cancelling lets the next one go; a cancelled effect can be redriven", async () => {
  const { sink, service } = await clocked({ ACTION_RETRIES: "3600" });
  sink.reply = ({ body }) => ({ status: body.version === 2 ? 500 : 204 });
  for (let turn = 0; turn < 3; turn += 1) await send(service, "m", "e", "turn");
  const rows = await delivered(service, "the first waits", async () => {
    const found = await outbox(service, "&status=pending");
    return found.length === 3 && found[0]?.phase === "waiting" && found;
  });
  assert.deepEqual(
    rows.map(({ phase, attempt }) => [phase, attempt]),
    [
      ["waiting", 1],
      ["queued", 0],
      ["queued", 0],
    ],
  );
  const [first, , last] = rows as [Item, Item, Item];
  await service.expect(200, "POST", `/api/outbox/${encodeURIComponent(last.id)}/cancel`);
  await service.expect(200, "POST", `/api/outbox/${encodeURIComponent(first.id)}/cancel`);
  await settled(service);
  assert.deepEqual(
    (await outbox(service)).map(({ version, status }) => [version, status]),
    [
      [2, "cancelled"],
      [3, "done"],
      [4, "cancelled"],
    ],
  );
  assert.deepEqual(
    sink.deliveries.map(({ body }) => body.version),
    [2, 3],
  );
  await redrive(service, last.id);
  await settled(service);
  assert.deepEqual(
    sink.deliveries.map(({ body, attempt }) => [body.version, attempt]),
    [
      [2, 1],
      [3, 1],
      [4, 1],
    ],
  );
  // What waits for long is due at once.
  sink.reply = ({ body }) => ({ status: body.version === 5 && sink.deliveries.length < 5 ? 500 : 204 });
  await send(service, "m", "e", "turn");
  const waiting = await delivered(service, "it waits", async () => {
    const [found] = await outbox(service, "&status=pending");
    return found?.phase === "waiting" && found;
  });
  sink.reply = () => ({ status: 204 });
  await redrive(service, waiting.id);
  await settled(service);
  assert.equal((await row(service, waiting.id)).status, "done");
});

test("filters list, redrive and cancel what matches, and nothing of another tenant", async () => {
  const { sink, service, skip } = await clocked({ ACTION_RETRIES: "0.02" });
  sink.reply = () => ({ status: 500 });
  await service.register(turning("n", { type: "webhook", url: sink.url }));
  await service.register(turning("m", { type: "webhook", url: sink.url }), "t2");
  for (const [machine, id, tenant] of [
    ["m", "a", "t1"],
    ["m", "b", "t1"],
    ["n", "a", "t1"],
    ["m", "a", "t2"],
  ] as const)
    await send(service, machine, id, "turn", {}, { tenant });
  await settled(service);
  await settled(service, "t2");
  await skip(HOUR);
  const cut = Date.now() + HOUR / 2;
  await send(service, "m", "c", "turn");
  await settled(service);
  const listed = async (query: string) =>
    (await outbox(service, query)).map(({ machine_id, entity_id }) => `${machine_id}/${entity_id}`).sort();
  assert.deepEqual(await listed("&status=dead"), ["m/a", "m/b", "m/c", "n/a"]);
  assert.deepEqual(await listed("&machine=m"), ["m/a", "m/b", "m/c"]);
  assert.deepEqual(await listed("&machine=m&entity=a"), ["m/a"]);
  assert.deepEqual(await listed("&status=done"), []);
  assert.deepEqual(await listed(`&older_than=${cut}`), ["m/a", "m/b", "n/a"]);
  assert.deepEqual(await listed(`&newer_than=${cut}`), ["m/c"]);
  refused(await service.call("GET", "/api/outbox?status=lost"), 400, "BAD_REQUEST");

  // Pages, newest first.
  const pages: string[] = [];
  let path: string | undefined = "/api/outbox?limit=2";
  while (path !== undefined) {
    const page = await service.call("GET", path);
    assert.equal(page.status, 200, page.text);
    for (const item of page.body.items as Item[]) pages.push(`${item.machine_id}/${item.entity_id}`);
    path = /<([^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
  }
  assert.deepEqual(pages, ["m/c", "n/a", "m/b", "m/a"]);

  sink.reply = () => ({ status: 204 });
  assert.deepEqual(
    await service.expect(200, "POST", "/api/outbox/redrive", {
      body: { status: "dead", machine: "m", older_than: cut },
    }),
    { redriven: 2, more: false },
  );
  await settled(service);
  assert.deepEqual(await listed("&status=done"), ["m/a", "m/b"]);
  assert.deepEqual(await listed("&status=dead"), ["m/c", "n/a"]);
  assert.equal((await counted(service, "t2"))["dead"], 1);
  assert.deepEqual(
    await service.expect(200, "POST", "/api/outbox/cancel", { body: { machine: "m" } }),
    { cancelled: 0, more: false },
    "nothing of it is pending",
  );
});

test("S0.52: what is over is purged after its retention, what is pending never", async () => {
  const { sink, service, skip } = await clocked({ ACTION_RETRIES: "0.02" });
  await send(service, "m", "done", "turn");
  await settled(service);
  sink.reply = () => ({ status: 500 });
  await send(service, "m", "dead", "turn");
  await settled(service);
  const made = await service.expect(201, "POST", "/api/subscriptions", {
    body: { source: "machines", sink: { type: "webhook", url: sink.url }, active: false },
  });
  assert.equal(made.active, false);
  await send(service, "m", "held", "turn", {});
  await settledBut(service, 1);
  await skip(29 * DAY);
  await service.runtime.scheduled();
  assert.equal((await outbox(service)).length, 4);
  await skip(2 * DAY);
  const left = await delivered(service, "they are purged", async () => {
    const rows = await outbox(service);
    return rows.length === 1 && rows;
  });
  assert.deepEqual(
    left.map(({ entity_id, status, phase }) => [entity_id, status, phase]),
    [["held", "pending", "held"]],
  );
});

/** Waits until no more than so many rows are pending. */
function settledBut(service: Service, rows: number): Promise<boolean> {
  return delivered(service, `${rows} pending`, async () => (await counted(service))["pending"] === rows);
}

test("S0.60: settings that contradict each other are told instead of being guessed around", async () => {
  const service = await serve({ settings: { STATE_STALE_AFTER: "30", STATE_ACCEPT_TIMEOUT: "30" } });
  const answer = await service.call("GET", "/api/machines");
  refused(answer, 503, "MISCONFIGURED", true);
  assert.match(answer.body.error.message, /STATE_STALE_AFTER/);
  assert.equal((await service.call("GET", "/health", { key: null })).status, 200);
});
