// What is shared and saved, without a browser: payloads of links, files, and recorded expectations.

import assert from "node:assert/strict";
import { test } from "node:test";

import { type AnyMachine, checkScenario, type Scenario, simulate } from "statewright";

import { EXAMPLES } from "../../www/src/examples/index.ts";
import { contentOfText } from "../../www/src/simulator/share/content.ts";
import { decode, encode, FITS_EVERYWHERE } from "../../www/src/simulator/share/link.ts";
import { recorded } from "../../www/src/simulator/share/recorded.ts";
import { payloadOf } from "./simulator-page.ts";

/** A scenario brings its own. */
const NO_MACHINES: readonly AnyMachine[] = [];

for (const { name, definitions, scenario, subject } of EXAMPLES) {
  test(`a link holds ${name}, and fits everywhere`, async () => {
    const payload = await encode({ definitions, scenario, subject });
    assert.match(payload, /^1[\w-]+$/);
    assert.ok(payload.length < FITS_EVERYWHERE, `${payload.length}`);
    assert.deepEqual(await decode(payload), { definitions, scenario, subject });
  });
}

test("a link without a scenario, and one whose machines differ from its scenario's", async () => {
  const [first, second] = EXAMPLES;
  assert.ok(first && second);
  const { definitions } = first;
  assert.deepEqual(await decode(await encode({ definitions })), { definitions });
  const both = { definitions, scenario: second.scenario };
  assert.deepEqual(await decode(await encode(both)), both);
});

test("names of prototypes and of any alphabet go through a link as they are", async () => {
  const text =
    '{"machine_id":"__proto__","states":["constructor","снег ☃","</script>"],"initial_state":"constructor","transitions":[],"meta":{"__proto__":{"x":1}}}';
  const content = contentOfText(text);
  const { definitions } = await decode(await encode(content));
  assert.equal(JSON.stringify(definitions[0]), text);
  assert.equal(Reflect.get({}, "x"), undefined);
});

for (const [what, payload, says] of [
  ["nothing", "", /empty/],
  ["another version", "9abc", /another version/],
  ["characters that no link has", "1%00<svg>", /characters/],
  ["what was cut off", payloadOf(JSON.stringify(EXAMPLES[0])).slice(0, -40), /damaged/],
  ["what is not deflated", `1${Buffer.from("{}").toString("base64url")}`, /damaged/],
  ["what is no UTF-8", payloadOf(Buffer.from([0x22, 0xff, 0xfe, 0x22])), /damaged/],
  ["what is no JSON", payloadOf("{"), /no JSON/],
  ["a number", payloadOf("7"), /no simulation/],
  ["no machines", payloadOf('{"definitions":[]}'), /no machine/],
  ["machines that are none", payloadOf('{"definitions":[null]}'), /no definition/],
  [
    "a scenario of another version",
    payloadOf('{"scenario":{"statewright":"scenario/9","machines":[]}}'),
    /version/,
  ],
  [
    "steps that are none",
    payloadOf('{"scenario":{"statewright":"scenario/1","machines":[],"steps":[7]}}'),
    /Step 1/,
  ],
  ["a bomb", payloadOf(`"${"a".repeat(50_000_000)}"`), /2 MB/],
  ["deep nesting", payloadOf("[".repeat(900_000)), /nested/],
  ["a huge text", "1".repeat(3_000_000), /longer/],
] as const) {
  test(`a link with ${what} is refused`, async () => {
    await assert.rejects(decode(payload), says);
  });
}

test("files: a scenario, a definition, a list, an object with machines", () => {
  const [order] = EXAMPLES;
  assert.ok(order);
  const { definitions, scenario } = order;
  assert.deepEqual(contentOfText(JSON.stringify(scenario)), { definitions, scenario });
  assert.deepEqual(contentOfText(JSON.stringify(definitions)), { definitions });
  assert.deepEqual(contentOfText(JSON.stringify({ machines: definitions })), { definitions });
  assert.deepEqual(contentOfText(JSON.stringify(definitions[0])), { definitions: [definitions[0]] });
  for (const [text, says] of [
    ["", /no JSON/],
    ["7", /neither/],
    ["{}", /no definition/],
    ["[]", /no machine/],
    ['{"steps":[]}', /version/],
    [`"${"[".repeat(200)}"`, /neither/],
    [`"${"x".repeat(3_000_000)}"`, /2 MB/],
  ] as const) {
    assert.throws(() => contentOfText(text), says);
  }
});

test("what is recorded passes, and tells of the states that events, timers and effects make", () => {
  for (const { name, scenario } of EXAMPLES) {
    const session = simulate(NO_MACHINES);
    session.import(scenario);
    const told = recorded(session.export());
    assert.deepEqual(checkScenario(told), { passed: true, steps: told.steps.length, failures: [] }, name);
    assert.ok(
      told.steps.every(({ expect }) => expect !== undefined),
      name,
    );
    // Each entity that there is has its last state written down.
    for (const { machine_id, entity_id, current_state } of session.entities()) {
      const last = told.steps.findLast(({ args, expect }) => {
        const id = args?.["entity_id"] ?? Reflect.get(Object(args?.["body"]), "entity_id");
        return args?.["machine_id"] === machine_id && id === entity_id && expect?.state !== undefined;
      });
      assert.deepEqual(last?.expect?.state, current_state, `${name}: ${entity_id}`);
    }
  }
});

test("a machine that does otherwise fails what was recorded", () => {
  const scenario = EXAMPLES[0]?.scenario;
  assert.ok(scenario);
  const told = recorded(scenario);
  const dearer = JSON.parse(JSON.stringify(told).replace('"value":25', '"value":50')) as Scenario;
  const { passed, failures } = checkScenario(dearer);
  assert.equal(passed, false);
  assert.match(failures[0]?.problem ?? "", /expected the outcome "applied", and it is "no_transition"/);
});

test("a replay, a refusal and a deletion are recorded as what they are", () => {
  const definition = EXAMPLES[0]?.definitions[1];
  assert.ok(definition);
  const session = simulate(NO_MACHINES);
  session.import({ statewright: "scenario/1", machines: [definition], steps: [] });
  session.create("stock", "a");
  session.perform("create", { machine_id: "stock", body: { entity_id: "a" } });
  session.send("stock", "a", { type: "reserve", timestamp: 5 });
  session.send("stock", "a", { type: "reserve", timestamp: 5 });
  session.perform("transition", {
    machine_id: "stock",
    entity_id: "a",
    body: { event_type: "take", expected_version: 9 },
  });
  session.perform("delete", { machine_id: "stock", entity_id: "a" });
  const told = recorded(session.export());
  assert.deepEqual(
    told.steps.map(({ expect }) => expect),
    [
      { state: "free" },
      { outcome: "refused", status: 409, error: "CONFLICT" },
      { outcome: "applied", state: "reserved" },
      { outcome: "duplicate", state: "reserved" },
      { outcome: "refused", status: 409, error: "VERSION_CONFLICT", state: "reserved" },
      undefined,
    ],
  );
  assert.equal(checkScenario(told).passed, true);
});
