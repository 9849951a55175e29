// What a fork leaves out of an entity, and what it keeps.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { JsonDefinition } from "statewright";
import type { Entity, HistoryRow } from "statewright/client";

import { mask, MASK } from "../../www/src/console/fork/mask.ts";

const definitions: readonly JsonDefinition[] = [
  {
    machine_id: "claim",
    states: ["filed", "review", "paid"],
    initial_state: "filed",
    transitions: [
      {
        from: "filed",
        to: "review",
        on: "review",
        guard: {
          any: [
            { field: "amount", op: "gt", value: 5 },
            { all: [{ field: "country", op: "eq", value: "PT" }] },
          ],
        },
      },
      {
        from: "filed",
        to: "paid",
        on: "$timeout",
        guard: { timeout_seconds: 9, field: "tier", op: "eq", value: { a: 1 } },
      },
    ],
    // Where this is looked for it must be found.
    actions: [
      {
        on_enter: "paid",
        action: {
          type: "webhook",
          url: "http://x.test",
          body: { to: "in {/context/address/street}", up: { $from: "/context/address/floors" } },
        },
      },
    ],
  },
  {
    machine_id: "check",
    contract: "statemachine-e1e4.v1",
    states: ["a", "b"],
    initial_state: "a",
    transitions: [
      {
        from: "a",
        to: "b",
        on: "go",
        guard: { all: "open", any: [{ field: "name", op: "eq", value: "x" }, 5, null] },
      },
    ],
  },
];

function entity(machine_id: string, entity_id: string, context: Record<string, unknown>): Entity {
  return {
    machine_id,
    entity_id,
    tenant_id: "t1",
    current_state: "a",
    context,
    state_version: 1,
    revision: 1,
    created_at: 1,
    updated_at: 1,
    region_entries: {},
  };
}

function row(machine_id: string, event_params: Record<string, unknown>): HistoryRow {
  return {
    id: 1,
    tenant_id: "t1",
    machine_id,
    entity_id: "e",
    from_state: "a",
    to_state: "b",
    event_type: "go",
    event_params,
    actions_dispatched: [],
    region: "_",
    timestamp: 1,
    created_at: 1,
    identity_key: "k",
    cause: { via: "event" },
    revision: 1,
  };
}

test("what guards of the entity's own machine read stays, at any depth of the guard; all else is masked, leaf by leaf", () => {
  const context = {
    amount: 12,
    country: "PT",
    tier: { a: 1, why: "an old friend" },
    name: "Ada",
    address: { street: "Rua 1", floors: [1, { door: "b" }], flat: null, tags: [] },
    contacts: { "ada@example.com": 1, Bob: 2 },
    insured: true,
  };
  const tree: Entity = {
    ...entity("claim", "c-1", context),
    children: [entity("check", "c-1::sub::review", { name: "Ada", amount: 12 })],
  };
  const masked = mask(
    tree,
    [row("claim", { amount: 1, by: "Ada" }), row("check", { name: "Ada", amount: 2 })],
    definitions,
  );
  assert.deepEqual(masked.tree.context, {
    amount: 12,
    country: "PT",
    tier: { a: 1, why: "an old friend" },
    name: MASK,
    address: { street: MASK, floors: [MASK, { "••• 1": MASK }], "••• 3": null, "••• 4": [] },
    contacts: { "••• 1": MASK, "••• 2": MASK },
    insured: MASK,
  });
  assert.deepEqual(masked.tree.children?.[0]?.context, { name: "Ada", amount: MASK });
  assert.deepEqual(
    masked.history.map(({ event_params }) => event_params),
    [
      { amount: 1, by: MASK },
      { name: "Ada", amount: MASK },
    ],
  );
  assert.equal(masked.masked, 10);
  assert.deepEqual(
    [...masked.kept],
    [
      ["claim", ["amount", "country", "tier"]],
      ["check", ["name"]],
    ],
  );
  assert.equal(tree.context["name"], "Ada");
});

test("hostile names of fields are names, and a machine without a definition keeps nothing", () => {
  const context = JSON.parse('{"__proto__":{"polluted":"yes"},"constructor":"x","toString":1}') as Record<
    string,
    unknown
  >;
  const { tree } = mask(entity("unknown", "e", context), [], definitions);
  assert.deepEqual(Object.keys(tree.context), ["__proto__", "constructor", "toString"]);
  assert.equal(
    JSON.stringify(tree.context),
    `{"__proto__":{"${MASK} 1":"${MASK}"},"constructor":"${MASK}","toString":"${MASK}"}`,
  );
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});
