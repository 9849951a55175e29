// Sinks that fail, stall, deny, close and answer twice: every effect arrives, in the order of its entity or record, with a
// stable id, and as often as at least once allows. (A Worker that is killed on the way: killed.test.ts.)

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ACCEPTED,
  counted,
  type Delivery,
  createRecord,
  later,
  moveRecord,
  ORDERED,
  outbox,
  pumped,
  type Reply,
  SECRETS_KEY,
  send,
  settled,
  Sink,
  told,
  turning,
  until,
} from "./sink.ts";
import { serve } from "./support.ts";

/** How often an effect was sent before, and what then is to be done with it. */
type Fault = (before: number, delivery: Delivery, first: boolean) => Reply | Promise<Reply>;

const loopback = await Sink.open();

/** What a sink does, and the attempts at which it then sees an effect; the first of a lane may be apart. */
interface Case {
  fault: Fault;
  attempts: number[];
  first?: number[];
}

const retryLater = (status: number): Reply => ({ status, headers: { "retry-after": "1" } });

const CASES: Record<string, Case> = {
  accepts: { fault: () => ACCEPTED, attempts: [1] },
  fails: { fault: (before) => (before < 2 ? { status: 500, body: "no" } : ACCEPTED), attempts: [1, 2, 3] },
  stalls: {
    fault: (before, _, first) => (first && before === 0 ? "hang" : ACCEPTED),
    attempts: [1],
    first: [1, 2],
  },
  denies: { fault: (before) => (before < 2 ? retryLater(429) : ACCEPTED), attempts: [1, 1, 1] },
  busy: { fault: (before) => (before < 1 ? retryLater(503) : ACCEPTED), attempts: [1, 1] },
  unwell: { fault: (before) => (before < 1 ? { status: 503 } : ACCEPTED), attempts: [1, 2] },
  closes: { fault: (before) => (before < 1 ? "close" : ACCEPTED), attempts: [1, 2] },
  // A body that never ends, of an answer that is none the worse for it.
  endless: { fault: () => "endless", attempts: [1] },
  breaksOff: {
    fault: (before, _, first) => (first && before === 0 ? "stalling" : ACCEPTED),
    attempts: [1],
    first: [1, 2],
  },
  redirects: {
    fault: (before) =>
      before < 1 ? { status: 302, headers: { location: `${loopback.url}/stolen` } } : ACCEPTED,
    attempts: [1, 2],
  },
};

/** Asserts that a sink got each effect in order and at the attempts that it must. */
function inOrder(
  name: string,
  sink: Sink,
  { attempts, first = attempts }: Case,
  ids: string[],
  moves: number,
): void {
  for (const id of ids) {
    const deliveries = sink.deliveries.filter((delivery) => told(delivery).id === id);
    const expected = Array.from({ length: moves }, (_, at) => at + 2).flatMap((version) =>
      (version === 2 ? first : attempts).map((attempt) => `${version} at ${attempt}`),
    );
    assert.deepEqual(
      deliveries.map((delivery) => `${told(delivery).version} at ${delivery.attempt}`),
      expected,
      `${name}, ${id}`,
    );
    for (let version = 2; version < moves + 2; version += 1) {
      const same = deliveries.filter((delivery) => told(delivery).version === version);
      assert.equal(
        new Set(same.map((delivery) => delivery.id)).size,
        1,
        `${name}: one id of ${id} at ${version}`,
      );
    }
  }
}

test("every effect arrives at sinks that fail, each in its order, and none is in another's way", async () => {
  const names = Object.keys(CASES);
  const sinks = new Map<string, Sink>();
  for (const name of names) {
    const sink = await Sink.open();
    const seen = new Map<string, number>();
    sink.reply = (delivery) => {
      const before = seen.get(delivery.id) ?? 0;
      seen.set(delivery.id, before + 1);
      return (CASES[name] as Case).fault(before, delivery, told(delivery).version === 2);
    };
    sinks.set(name, sink);
  }
  const service = await serve({
    settings: {
      SECRETS_KEY,
      WEBHOOK_ALLOW: [...sinks.values()].map(({ host }) => host).join(),
      ACTION_RETRIES: "0.05,0.1,0.2,0.2",
    },
  });
  const sinkOf = (name: string) => sinks.get(name) as Sink;
  for (const name of names)
    await service.register(turning(name, { type: "webhook", url: sinkOf(name).url, body: ORDERED }));
  const ids = ["e-1", "e-2", "e-3"];
  const moves = 3;
  const pump = pumped(service);
  await Promise.all(
    names.flatMap((name) =>
      ids.map(async (id) => {
        for (let turn = 0; turn < moves; turn += 1) await send(service, name, id, "turn");
      }),
    ),
  );
  // What the accepting sink is to get does not wait for those that are not well.
  await until("the accepting sink has all", () => sinkOf("accepts").deliveries.length === ids.length * moves);
  assert.ok(sinkOf("stalls").deliveries.every(({ attempt }) => attempt === 1));
  await until(
    "all is delivered",
    async () => (await counted(service))["done"] === names.length * ids.length * moves,
  );
  await pump.stop();
  for (const name of names) inOrder(name, sinkOf(name), CASES[name] as Case, ids, moves);
  assert.equal(loopback.deliveries.length, 0, "redirects are not followed");
  const rows = await outbox(service);
  assert.equal(rows.length, names.length * ids.length * moves);
});

test("every presentation arrives at sinks that fail, stall or answer late", async () => {
  const cases: Record<string, Case> = {
    accepts: CASES["accepts"] as Case,
    denies: CASES["denies"] as Case,
    fails: { fault: (before) => (before < 1 ? { status: 500 } : ACCEPTED), attempts: [1, 2] },
    stalls: CASES["stalls"] as Case,
    // Accepted when nobody waits for it any more: it comes twice, with one id (S0.45).
    late: {
      fault: (before, _, first) => (first && before === 0 ? later(1600).then(() => ACCEPTED) : ACCEPTED),
      attempts: [1],
      first: [1, 2],
    },
  };
  const names = Object.keys(cases);
  const sinks = new Map<string, Sink>();
  for (const name of names) {
    const sink = await Sink.open();
    const seen = new Map<string, number>();
    sink.reply = (delivery) => {
      const before = seen.get(delivery.id) ?? 0;
      seen.set(delivery.id, before + 1);
      return (cases[name] as Case).fault(before, delivery, told(delivery).version === 2);
    };
    sinks.set(name, sink);
  }
  const service = await serve({
    settings: {
      WEBHOOK_ALLOW: [...sinks.values()].map(({ host }) => host).join(),
      STATE_ACCEPT_TIMEOUT: "1",
    },
  });
  for (const [, { url }] of sinks)
    await service.expect(201, "POST", "/api/subscriptions", {
      body: { source: "records", sink: { type: "webhook", url } },
    });
  const ids = ["r-1", "r-2"];
  const moves = 2;
  const pump = pumped(service);
  await Promise.all(
    ids.map(async (id) => {
      await createRecord(service, id);
      for (let version = 1; version <= moves; version += 1) await moveRecord(service, id, version);
    }),
  );
  await until(
    "all is presented",
    async () => (await counted(service))["done"] === names.length * ids.length * moves,
  );
  await pump.stop();
  for (const name of names) inOrder(name, sinks.get(name) as Sink, cases[name] as Case, ids, moves);
});

test("an answer that nobody asked for does not pass for that to the next request", async () => {
  const sink = await Sink.open();
  sink.reply = ({ body: { version } }) => (version === 2 ? "twice" : { status: version === 3 ? 500 : 204 });
  const service = await serve({ settings: { WEBHOOK_ALLOW: sink.host, ACTION_RETRIES: "0.05" } });
  await service.register(turning("twice", { type: "webhook", url: sink.url, body: ORDERED }));
  for (let turn = 0; turn < 3; turn += 1) await send(service, "twice", "t", "turn");
  await settled(service);
  assert.deepEqual(
    (await outbox(service)).map(({ version, status }) => [version, status]),
    [
      [2, "done"],
      [3, "dead"],
      [4, "done"],
    ],
  );
  const versions = sink.deliveries.map(({ body: { version } }) => version as number);
  assert.deepEqual(
    versions,
    versions.toSorted((one, other) => one - other),
  );
});

test("a dead sink with a backlog does not keep the scanner from the others", async () => {
  const [dead, live] = await Promise.all([Sink.open(), Sink.open()]);
  dead.reply = live.reply = () => ({ status: 500 });
  const service = await serve({
    settings: { WEBHOOK_ALLOW: `${dead.host},${live.host}`, ACTION_RETRIES: "1,1,1,1,1,1" },
  });
  const actions = [dead, live].map(({ url }) => ({ type: "webhook", url, body: ORDERED }));
  await service.register(turning("backlog", ...actions));
  const ids = Array.from({ length: 60 }, (_, index) => `b-${index}`);
  await Promise.all(ids.map((id) => send(service, "backlog", id, "turn")));
  await until("all have failed once", () =>
    [dead, live].every((sink) => new Set(sink.deliveries.map((one) => told(one).id)).size === ids.length),
  );
  dead.reply = () => "hang";
  live.reply = () => ACCEPTED;
  const accepted = live.deliveries.length;
  const hung = dead.deliveries.length;
  const pump = pumped(service);
  await until("the live sink has all", async () => (await counted(service))["done"] === ids.length);
  assert.ok(live.deliveries.length - accepted >= ids.length);
  // None of them waited for the dead sink's time to run out.
  const again = dead.deliveries.slice(hung);
  assert.equal(new Set(again.map(({ id }) => id)).size, again.length, "none was tried twice meanwhile");
  dead.reply = () => ACCEPTED;
  dead.release();
  await until("the dead sink has all", async () => (await counted(service))["done"] === 2 * ids.length);
  await pump.stop();
});

test("order holds where many passes and requests deliver at once, with faults at random", async () => {
  const sink = await Sink.open();
  const service = await serve({
    settings: { WEBHOOK_ALLOW: sink.host, ACTION_RETRIES: "0.02,0.02,0.05,0.05,0.1,0.1,0.1" },
  });
  let seed = 4711;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  sink.reply = async () => {
    await later(random() * 20);
    const luck = random();
    return luck < 0.2 ? { status: 500 } : luck < 0.3 ? "close" : ACCEPTED;
  };
  await service.register(turning("many", { type: "webhook", url: sink.url, body: ORDERED }));
  const ids = Array.from({ length: 6 }, (_, index) => `m-${index}`);
  const turns = 12;
  const pumps = [pumped(service), pumped(service), pumped(service)];
  await Promise.all(
    ids.map(async (id) => {
      for (let turn = 0; turn < turns; turn += 1) await send(service, "many", id, "turn");
    }),
  );
  await until("nothing is left", async () => (await counted(service))["pending"] === 0);
  await Promise.all(pumps.map((pump) => pump.stop()));
  const rows = await outbox(service);
  assert.equal(rows.length, ids.length * turns);
  for (const id of ids) {
    const own = sink.deliveries.filter((one) => told(one).id === id);
    const versions = own.map((one) => told(one).version);
    assert.deepEqual(
      versions,
      versions.toSorted((one, other) => one - other),
      id,
    );
    assert.equal(new Set(versions).size, turns);
  }
  for (const { id, attempt } of rows) {
    const attempts = sink.deliveries.filter((one) => one.id === id).map((one) => one.attempt);
    assert.deepEqual(
      attempts,
      Array.from({ length: attempt }, (_, at) => at + 1),
      id,
    );
  }
});
