// Simulations as the package has them: typed by their machines, over the core's own.

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkScenario, defineMachine, type Scenario, simulate, StatewrightError } from "statewright";

const lamp = defineMachine({
  machine_id: "lamp",
  states: ["off", "on"],
  initial_state: "off",
  transitions: [
    { from: "off", to: "on", on: "press" },
    { from: "on", to: "off", on: "press" },
    { from: "on", to: "off", on: "$timeout", guard: { timeout_seconds: 60 } },
  ],
});
const hall = defineMachine(
  {
    machine_id: "hall",
    states: ["dark", "lit"],
    initial_state: "dark",
    transitions: [{ from: "dark", to: "lit", on: "enter" }],
    actions: [
      {
        on_enter: "lit",
        action: { type: "transition", machine_id: "lamp", entity_id: "hall-lamp", event_type: "press" },
      },
      { on_enter: "lit", action: { type: "webhook", url: "https://house.example/lit" } },
    ],
  },
  { machines: [lamp] },
);

function begin() {
  const session = simulate([hall, lamp], { now: 1000 });
  session.create("hall", "h");
  return session;
}

test("an event that a commit sends reaches its entity, and what would leave is listed", () => {
  const session = begin();
  const answer = session.send("hall", "h", "enter");
  assert.equal(answer.transition, "dark → lit");
  assert.equal(session.entity("lamp", "hall-lamp").current_state, "on");
  assert.deepEqual(
    session.effects().map(({ status, effect }) => [effect.kind, status]),
    [
      ["transition", "accepted"],
      ["webhook", "pending"],
    ],
  );
  assert.deepEqual(
    session.entities().map(({ machine_id, entity_id }) => [machine_id, entity_id]),
    [
      ["hall", "h"],
      ["lamp", "hall-lamp"],
    ],
  );
});

test("the clock is turned by hand, and timers fire when they are due", () => {
  const session = begin();
  session.send("hall", "h", "enter");
  assert.equal(session.due()?.at, 61_000);
  const fired = session.advance(100_000);
  assert.deepEqual(
    fired.map(({ entity_id, to_state, timestamp }) => [entity_id, to_state, timestamp]),
    [["hall-lamp", "off", 61_000]],
  );
  assert.equal(session.now, 100_000);
  const row = session.history("lamp", "hall-lamp").at(-1);
  assert.deepEqual([row?.event_type, row?.created_at], ["$timeout", 61_000]);
});

test("everything is undone, step by step or to any of them, and redone", () => {
  const session = begin();
  session.send("hall", "h", "enter");
  session.advance(100_000);
  const { done } = session.steps();
  const history = session.history("lamp", "hall-lamp");
  session.undo();
  assert.equal(session.now, 1000);
  assert.equal(session.entity("lamp", "hall-lamp").current_state, "on");
  session.undo(done - 2);
  assert.deepEqual(session.effects(), []);
  session.redo(done);
  assert.deepEqual(session.history("lamp", "hall-lamp"), history);
});

test("what is refused is thrown as a service answers it", () => {
  const session = begin();
  assert.throws(
    () => session.entity("hall", "nobody"),
    (error) => error instanceof StatewrightError && error.code === "NOT_FOUND" && error.status === 404,
  );
  const { status, body } = session.perform("create", { machine_id: "hall", body: { entity_id: "h" } });
  assert.equal(status, 409);
  assert.equal((body as { error: { code: string } }).error.code, "CONFLICT");
});

test("a scenario is JSON: it is played again, and says what comes otherwise", () => {
  const session = begin();
  session.send("hall", "h", "enter");
  session.advance(100_000);
  const scenario = JSON.parse(JSON.stringify(session.export())) as Scenario;
  const played = simulate([]);
  played.import(scenario);
  assert.deepEqual(played.history("lamp" as never, "hall-lamp"), session.history("lamp", "hall-lamp"));
  assert.deepEqual(checkScenario(scenario), { passed: true, steps: 3, failures: [] });

  const [create, enter, ...rest] = scenario.steps;
  assert.ok(create !== undefined && enter !== undefined);
  const otherwise: Scenario = {
    ...scenario,
    steps: [create, { ...enter, expect: { state: "dark", outcome: "applied" } }, ...rest],
  };
  assert.deepEqual(checkScenario(otherwise), {
    passed: false,
    steps: 3,
    failures: [{ step: 1, problem: 'expected the state "dark", and it is "lit"' }],
  });
});

test("effects wait where they are to be delivered by hand", () => {
  const session = simulate([hall], { deliver: false });
  session.create("hall", "h");
  session.send("hall", "h", "enter");
  assert.deepEqual(session.entities("hall").length, 1);
  assert.equal(session.deliver(), 1);
  assert.equal(session.perform("entity", { machine_id: "lamp", entity_id: "hall-lamp" }).status, 200);
});
