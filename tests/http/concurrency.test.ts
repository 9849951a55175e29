// Many callers at once, on the real runtime (S2.100, S2.134, S2.135, S2.282, S2.307).

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Answer, refused, serve, wheel } from "./support.ts";

const WRITERS = 16;
const service = await serve();

function all<T>(count: number, one: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => one(index)));
}

function later(millis: number): Promise<void> {
  return new Promise((wait) => setTimeout(wait, millis));
}

test("M13: 16 writers on one entity lose nothing, and none is refused within 10 s", async () => {
  await service.register(wheel);
  const rounds = 4;
  const began = Date.now();
  const answers = await all(WRITERS, async (writer) => {
    const mine: Answer[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const params = { id: "w", writer, round };
      const body = { event_type: "turn", entity_key: "id", params, timestamp: writer * rounds + round };
      mine.push(await service.call("POST", "/api/machines/wheel/evaluate", { body }));
    }
    return mine;
  });
  const took = Date.now() - began;
  for (const answer of answers.flat()) {
    assert.equal(answer.status, 200, answer.text);
    assert.notEqual(answer.body.transition, null, answer.text);
  }
  assert.ok(took < rounds * 10_000, `${took} ms`);

  const total = WRITERS * rounds;
  const entity = await service.expect(200, "GET", "/api/machines/wheel/entities/w");
  // Made at version 1, and one more for each event (I2).
  assert.equal(entity.state_version, total + 1);
  assert.equal(entity.current_state, total % 2 === 0 ? "here" : "there");
  const versions = answers.flat().map((answer) => answer.body.state_version);
  assert.deepEqual(
    versions.sort((a: number, b: number) => a - b),
    Array.from({ length: total }, (_, index) => index + 2),
  );
  const history = await service.expect(200, "GET", "/api/machines/wheel/entities/w/history?order=id");
  assert.equal(history.length, total);
  // Each row takes up where the one before ended (I8).
  history.forEach((row: { from_state: string }, index: number) => {
    assert.equal(row.from_state, index % 2 === 0 ? "here" : "there");
  });
});

test("I1: 16 copies of one event apply once, and the others are told so", async () => {
  await service.register({ ...wheel, machine_id: "once" });
  for (let round = 0; round < 5; round += 1) {
    const body = { event_type: "turn", entity_key: "id", params: { id: `c-${round}` }, timestamp: 7 };
    const answers = await all(WRITERS, () => service.call("POST", "/api/machines/once/evaluate", { body }));
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
    const applied = answers.filter((answer) => answer.body.transition !== null);
    assert.equal(applied.length, 1, JSON.stringify(answers.map((answer) => answer.body)));
    for (const answer of answers) {
      if (answer.body.transition === null) assert.match(answer.body.reason, /^duplicate/);
    }
    const path = `/api/machines/once/entities/c-${round}`;
    assert.equal((await service.expect(200, "GET", path)).state_version, 2);
    assert.equal((await service.expect(200, "GET", `${path}/history`)).length, 1);
  }
});

test("a PUT that takes a state away never leaves an entity in it", async () => {
  const old = {
    machine_id: "put",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "b", on: "turn" },
      { from: "b", to: "a", on: "turn" },
    ],
  };
  // Without "b": where the PUT wins, no event may still reach it.
  const without = {
    machine_id: "put",
    states: ["a", "c"],
    initial_state: "a",
    transitions: [{ from: "a", to: "c", on: "turn" }],
  };
  let won = 0;
  for (let round = 0; round < 10; round += 1) {
    await service.register({ ...old, machine_id: `put-${round}` });
    const machine = `/api/machines/put-${round}`;
    const event = (index: number) =>
      service.call("POST", `${machine}/evaluate`, {
        body: { event_type: "turn", entity_key: "id", params: { id: `e-${index}` }, timestamp: 1 },
      });
    // Now before the events, now among them.
    const put = async () => {
      await later(round % 2 === 0 ? round / 2 : 0);
      return service.call("PUT", machine, { body: { ...without, machine_id: `put-${round}` } });
    };
    const events = async (index: number) => {
      await later(round % 2 === 0 ? 0 : round / 2);
      return event(index);
    };
    const [replaced, ...answers] = await Promise.all([
      put(),
      ...Array.from({ length: 8 }, (_, index) => events(index)),
    ]);
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
    const entities = await service.expect(200, "GET", `${machine}/entities`);
    assert.equal(entities.length, 8);
    if (replaced.status === 200) {
      won += 1;
      for (const entity of entities)
        assert.ok(without.states.includes(entity.current_state), JSON.stringify(entity));
    } else {
      refused(replaced, 409, "LIVE_STATES");
    }
  }
  console.log(`# the PUT won ${won} of 10 races`);
});

test("a DELETE of a machine never leaves an entity behind", async () => {
  let won = 0;
  for (let round = 0; round < 10; round += 1) {
    await service.register({ ...wheel, machine_id: `gone-${round}` });
    const machine = `/api/machines/gone-${round}`;
    const event = (index: number) =>
      service.call("POST", `${machine}/evaluate`, {
        body: { event_type: "turn", entity_key: "id", params: { id: `e-${index}` }, timestamp: 1 },
      });
    const events = async (index: number) => {
      await later(round % 2 === 0 ? 0 : round / 2);
      return event(index);
    };
    const remove = async () => {
      await later(round % 2 === 0 ? round / 2 : 0);
      return service.call("DELETE", machine);
    };
    const [deleted, ...answers] = await Promise.all([
      remove(),
      ...Array.from({ length: 8 }, (_, index) => events(index)),
    ]);
    if (deleted.status === 204) {
      won += 1;
      for (const answer of answers) refused(answer, 404, "NOT_FOUND");
    } else {
      refused(deleted, 409, "CONFLICT", true);
      for (const answer of answers) assert.equal(answer.status, 200, answer.text);
    }
    const rows = await service.runtime.sql(
      "SELECT count(*) AS n FROM entities e WHERE NOT EXISTS (SELECT 1 FROM machines m WHERE m.tenant = e.tenant AND m.machine_id = e.machine_id AND m.deleted = 0)",
    );
    assert.equal(rows[0]?.["n"], 0);
  }
  console.log(`# the DELETE won ${won} of 10 races`);
});

test("batches that name the same entities lose nothing", async () => {
  await service.register({ ...wheel, machine_id: "batch" });
  const [batches, entities] = [4, 50];
  const answers = await all(batches, (batch) => {
    const events = Array.from({ length: entities }, (_, entity) => ({
      event_type: "turn",
      entity_key: "id",
      params: { id: `b-${entity}`, batch },
      timestamp: batch,
    }));
    return service.call("POST", "/api/machines/batch/evaluate/batch", { body: { events } });
  });
  for (const answer of answers) {
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([answer.body.succeeded, answer.body.failed], [entities, 0], answer.text);
    for (const { result } of answer.body.results)
      assert.notEqual(result.transition, null, JSON.stringify(result));
  }
  for (const entity of await service.expect(200, "GET", "/api/machines/batch/entities")) {
    assert.equal(entity.state_version, batches + 1, JSON.stringify(entity));
    assert.equal(entity.current_state, "here");
  }
});

test("I5: events and scanners that race for due timers fire each once", async () => {
  const bell = {
    machine_id: "bell",
    states: ["armed", "rung"],
    initial_state: "armed",
    transitions: [
      { from: "armed", to: "rung", on: "$timeout", guard: { after_ms: 30 } },
      { from: "rung", to: "armed", on: "wind" },
    ],
  };
  await service.register(bell);
  const bells = Array.from({ length: 20 }, (_, index) => `bell-${index}`);
  for (const entity_id of bells) {
    await service.expect(201, "POST", "/api/machines/bell/entities", { body: { entity_id } });
  }
  await later(60);
  const event = { event_type: "nothing", params: {} };
  await Promise.all([
    ...Array.from({ length: 3 }, () => service.runtime.scheduled()),
    ...bells.flatMap((id) => [
      service.expect(200, "POST", `/api/machines/bell/entities/${id}/transition`, { body: event }),
      service.expect(200, "POST", `/api/machines/bell/entities/${id}/transition`, { body: event }),
    ]),
  ]);
  for (const id of bells) {
    const entity = await service.expect(200, "GET", `/api/machines/bell/entities/${id}`);
    assert.deepEqual([entity.current_state, entity.state_version], ["rung", 2], JSON.stringify(entity));
    const history = await service.expect(200, "GET", `/api/machines/bell/entities/${id}/history`);
    assert.deepEqual(
      history.map((row: { event_type: string }) => row.event_type),
      ["$timeout"],
    );
  }
});
