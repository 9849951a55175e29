// Timers across a restart of the runtime, and the cron handler that finds them.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { open, order, serve } from "./support.ts";

const lamp = {
  machine_id: "lamp",
  states: ["on", "off"],
  initial_state: "on",
  transitions: [{ from: "on", to: "off", on: "$timeout", guard: { after_ms: 1500 } }],
};

test("I5: timers armed before a restart fire once each after it", async () => {
  const data = mkdtempSync(join(tmpdir(), "statewright-timers-"));
  try {
    const lamps = Array.from({ length: 20 }, (_, index) => `lamp-${index}`);
    let service = await open({ data });
    await service.register(lamp);
    for (const entity_id of lamps)
      await service.expect(201, "POST", "/api/machines/lamp/entities", { body: { entity_id } });
    await service.runtime.scheduled();
    const early = await service.expect(200, "GET", "/api/machines/lamp/entities?state=on");
    assert.equal(early.length, lamps.length, "none fires early");
    await service.runtime.stop();

    await new Promise((wait) => setTimeout(wait, 1600));
    service = await open({ data });
    // Two schedulers at once, and again after them (S4.180).
    await Promise.all([service.runtime.scheduled(), service.runtime.scheduled()]);
    await service.runtime.scheduled();
    for (const id of lamps) {
      const entity = await service.expect(200, "GET", `/api/machines/lamp/entities/${id}`);
      assert.equal(entity.current_state, "off");
      assert.equal(entity.state_version, 2);
      const history = await service.expect(200, "GET", `/api/machines/lamp/entities/${id}/history`);
      assert.equal(history.length, 1);
      assert.equal(history[0].event_type, "$timeout");
      assert.equal(history[0].timestamp, entity.created_at + 1500, "the due time, not the scanner's (R5)");
    }
    const report = await service.expect(200, "GET", "/api/scheduler");
    assert.equal(typeof report, "object");
    await service.runtime.stop();
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
});

test("M5: an event sees a due timeout applied though no scanner ran", async () => {
  const service = await serve();
  const brief = structuredClone(lamp);
  brief.transitions = [
    { from: "on", to: "off", on: "$timeout", guard: { after_ms: 50 } },
    { from: "off", to: "on", on: "press" } as never,
  ];
  await service.register(brief);
  await service.expect(201, "POST", "/api/machines/lamp/entities", { body: { entity_id: "l" } });
  await new Promise((wait) => setTimeout(wait, 100));
  const path = "/api/machines/lamp/entities/l/transition";
  const answer = await service.expect(200, "POST", path, { body: { event_type: "press" } });
  assert.equal(answer.transition, "off → on");
  assert.equal(answer.timeouts_fired, 1);
  assert.equal(answer.state_version, 3);
});

test("the cron handler makes passes at the interval until its minute is over", async () => {
  const service = await serve({ settings: { TIMEOUT_INTERVAL_SECS: "1", LOG_LEVEL: "debug" } });
  await service.register(order);
  service.log.length = 0;
  const began = Date.now();
  await service.runtime.scheduled(new Date(began - 56_500));
  const took = Date.now() - began;
  const passes = service.log.filter((line) => line.includes('"scan"')).length;
  assert.equal(passes, 4, service.log.join("\n"));
  assert.ok(took >= 3000 && took < 3500, `${took} ms`);
});

test("S4.174: a backlog is drained pass after pass, without waiting for the interval", async () => {
  const service = await serve({ settings: { TIMEOUT_INTERVAL_SECS: "60" } });
  const brief = structuredClone(lamp);
  brief.transitions[0]!.guard.after_ms = 1;
  await service.register(brief);
  const entities = 600;
  for (let at = 0; at < entities; at += 100) {
    const events = Array.from({ length: 100 }, (_, index) => ({
      event_type: "none",
      entity_key: "id",
      params: { id: `l-${at + index}` },
    }));
    await service.expect(200, "POST", "/api/machines/lamp/evaluate/batch", { body: { events } });
  }
  await new Promise((wait) => setTimeout(wait, 50));
  await service.runtime.scheduled();
  assert.deepEqual(await service.expect(200, "GET", "/api/machines/lamp/counts"), [
    { region: "_", state: "off", entities },
  ]);
});

test("S2.93: a backlog that never ends leaves a pass for every interval", async () => {
  const service = await serve({ settings: { TIMEOUT_INTERVAL_SECS: "1", LOG_LEVEL: "debug" } });
  // In this contract a delay may be 0: this one is due again as soon as it has fired.
  const restless = {
    machine_id: "restless",
    contract: "statemachine-e1e4.v1",
    states: ["here"],
    initial_state: "here",
    transitions: [{ from: "here", to: "here", on: "$timeout", guard: { timeout_seconds: 0 } }],
  };
  await service.register(restless);
  await service.register(lamp);
  await service.expect(201, "POST", "/api/machines/restless/entities", { body: { entity_id: "r" } });
  await service.expect(201, "POST", "/api/machines/lamp/entities", { body: { entity_id: "l" } });
  service.log.length = 0;
  await service.runtime.scheduled(new Date(Date.now() - 56_500));
  const entity = await service.expect(200, "GET", "/api/machines/lamp/entities/l");
  assert.equal(entity.current_state, "off", "the passes were used up before it was due");
  const passes = service.log.filter((line) => line.includes('"scan"')).length;
  assert.ok(passes > 10 && passes <= 60, `${passes} passes`);
});
