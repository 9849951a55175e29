// The examples of the simulator: each is what it says, and the package plays it.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type AnyMachine,
  checkScenario,
  defineMachine,
  simulate,
  type SimulatedRow,
  validate,
} from "statewright";

import { EXAMPLES, type Example } from "../../www/src/examples/index.ts";

/** A scenario brings its own. */
const NO_MACHINES: readonly AnyMachine[] = [];

/** Everything that shows of an example that was played. */
function played(example: Example) {
  const session = simulate(NO_MACHINES);
  session.import(example.scenario);
  const entities = session.entities();
  const rows = entities.flatMap(({ machine_id, entity_id }) => session.history(machine_id, entity_id));
  return { session, entities, rows };
}

for (const example of EXAMPLES) {
  test(`${example.name} has no warnings and passes`, () => {
    for (const definition of example.definitions) {
      const { faults, warnings } = validate(definition);
      assert.deepEqual({ faults, warnings }, { faults: [], warnings: [] }, definition.machine_id);
    }
    // Together too: what a parent says of its children.
    const known = [...example.definitions]
      .reverse()
      .reduce<ReturnType<typeof defineMachine>[]>((machines, definition) => {
        const machine = defineMachine(definition, { machines });
        assert.deepEqual(machine.warnings, []);
        return [...machines, machine];
      }, []);
    assert.equal(known.length, example.definitions.length);

    assert.deepEqual(checkScenario(example.scenario).failures, []);
    assert.ok(example.scenario.steps.every(({ expect }) => expect !== undefined));
    assert.deepEqual(example.scenario.machines, example.definitions);
    assert.ok(example.description.length > 40 && example.description.length < 180);
  });

  test(`${example.name} stops where there is something to do`, () => {
    const { session } = played(example);
    const { machine_id, entity_id } = example.subject;
    assert.ok(session.events(machine_id, entity_id).length > 0);
  });
}

test("together they show what there is", () => {
  const all = EXAMPLES.map(played);
  const rows: SimulatedRow[] = all.flatMap((one) => one.rows);
  const kinds = new Set(rows.map(({ event_type }) => event_type).filter((type) => type.startsWith("$")));
  assert.deepEqual([...kinds].sort(), ["$join", "$sub_cancel", "$sub_complete", "$timeout"]);
  const effects = all.flatMap(({ session }) => session.effects());
  assert.deepEqual([...new Set(effects.map(({ effect }) => effect.kind))].sort(), [
    "event",
    "transition",
    "webhook",
  ]);
  assert.ok(effects.some(({ status, outcome }) => status === "accepted" && outcome !== undefined));
  assert.ok(JSON.stringify(effects).includes('"secret"'));
  const definitions = EXAMPLES.flatMap((example) => example.definitions);
  assert.ok(definitions.some(({ regions }) => (regions?.length ?? 0) > 2));
  assert.ok(definitions.some(({ broadcast }) => (broadcast?.length ?? 0) > 0));
  assert.ok(definitions.some(({ transitions }) => transitions.some(({ from, to }) => from === to)));
  assert.ok(all.some(({ session }) => session.due() !== undefined));
});

test("one event completes the bundle up to its root", () => {
  const example = EXAMPLES.find(({ id }) => id === "bundle");
  assert.ok(example);
  const { session } = played(example);
  const before = session.entity("bundle", "run-7");
  assert.deepEqual(before.current_state, { b1: "returned", b2: "ret_b2", refund: "waiting" });
  const answer = session.send("bundle", "run-7", {
    type: "inspected",
    target: [
      { region: "b2", state: "ret_b2" },
      { region: "case", state: "settling" },
    ],
  });
  assert.deepEqual(
    answer.instances?.map(({ kind, depth, parent_to }) => [kind, depth, parent_to]),
    [
      ["completed", 2, "returned"],
      ["completed", 1, "returned"],
    ],
  );
  assert.deepEqual(session.entity("bundle", "run-7").current_state, {
    b1: "returned",
    b2: "returned",
    refund: "due",
  });
});
