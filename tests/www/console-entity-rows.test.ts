// What an entity's view makes of the service's rows, events and trees.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Entity, HistoryRow, PossibleEvent } from "statewright/client";

import { commitsOf, lastCommit } from "../../www/src/console/entity/commits.ts";
import { choicesOf, placesOf, versionAt, wholeOf } from "../../www/src/console/entity/send/draft.ts";

function row(id: number, event_type: string, at: number, more: Partial<HistoryRow> = {}): HistoryRow {
  const via = { $join: "join", $timeout: "timeout" }[event_type] ?? "event";
  return {
    id,
    tenant_id: "t1",
    machine_id: "m",
    entity_id: "e",
    from_state: "a",
    to_state: "b",
    event_type,
    event_params: {},
    actions_dispatched: [],
    region: "_",
    timestamp: at,
    created_at: at,
    identity_key: String(id),
    cause: { via },
    revision: 1,
    ...more,
  };
}

function ids(commits: readonly (readonly HistoryRow[])[]): readonly (readonly number[])[] {
  return commits.map((rows) => rows.map(({ id }) => id));
}

test("rows stand by commit: an event with its joins, a broadcast as one, a timeout by itself", () => {
  const newest = [
    row(9, "go", 30),
    row(8, "$timeout", 20),
    row(7, "$join", 10),
    row(6, "all", 10, { region: "r2" }),
    row(5, "all", 10, { region: "r1" }),
    // In the same millisecond, but another event.
    row(4, "pay", 10),
  ];
  assert.deepEqual(ids(commitsOf(newest)), [[9], [8], [5, 6, 7], [4]]);
});

test("the commit that came last may have an older timestamp than those before it", () => {
  const late = { created_at: 99 };
  const newest = [row(2, "go", 30), row(4, "$join", 10, late), row(3, "pay", 10, late)];
  assert.deepEqual(
    lastCommit(newest).map(({ id }) => id),
    [3, 4],
  );
  assert.deepEqual(lastCommit([]), []);
});

function entity(entity_id: string, more: Partial<Entity> = {}): Entity {
  return {
    machine_id: "m",
    entity_id,
    tenant_id: "t1",
    current_state: "a",
    context: {},
    state_version: 1,
    revision: 1,
    created_at: 1,
    updated_at: 1,
    region_entries: {},
    ...more,
  };
}

function child(
  entity_id: string,
  status: "active" | "cancelled",
  seq: number,
  more: Partial<Entity> = {},
): Entity {
  const instance = { status, depth: 1, path: [], started: 1 };
  return entity(entity_id, { instance, parent: { region: "r", state: entity_id, seq }, ...more });
}

const tree = entity("root", {
  children: [
    child("gone", "cancelled", 2),
    child("live", "active", 3, {
      state_version: 7,
      children: [child("deep", "active", 5, { state_version: 9 })],
    }),
    entity("legacy", { machine_id: "l", parent: { region: "r", state: "x", seq: 4 } }),
  ],
});

test("an event can be addressed to what is live and managed, by its way", () => {
  const step = { region: "r", state: "live", seq: 3 };
  const deep = { region: "r", state: "deep", seq: 5 };
  assert.deepEqual(
    placesOf(tree).map(({ of, address, version }) => [of.entity, address.target, version]),
    [
      ["root", undefined, 1],
      ["live", [step], 7],
      ["deep", [step, deep], 9],
    ],
  );
  const to = { machine: "m", entity: "root" };
  assert.equal(versionAt(tree, { to, target: [step, deep] }), 9);
  assert.equal(versionAt(tree, { to, target: [{ region: "r", state: "live" }] }), 7);
  assert.equal(versionAt(tree, { to, target: [{ ...step, seq: 2 }] }), undefined);
  assert.equal(versionAt(tree, { to: { machine: "l", entity: "legacy" } }), 1);
});

test("each event is offered once, and sent to whom the service says", () => {
  const event = (more: Partial<PossibleEvent>): PossibleEvent => ({
    event_type: "go",
    from: "a",
    to: "b",
    index: 0,
    guarded: false,
    label: "a → b",
    machine_id: "m",
    entity_id: "root",
    target: [],
    ...more,
  });
  const target = [{ region: "r", state: "live", seq: 3 }];
  const legacy = { machine_id: "l", entity_id: "legacy" };
  const below = { ...event({ machine_id: "x", entity_id: "below" }) };
  delete below.target;
  const forwarded = { ...event({ ...legacy, event_type: "on", forwarded: true }) };
  delete forwarded.target;
  const subject = { machine: "m", entity: "root" };
  const choices = choicesOf(
    [event({}), event({ index: 1, label: "a → c" }), event({ entity_id: "live", target }), forwarded, below],
    subject,
  );
  assert.deepEqual(
    choices.map(({ event_type, of, address, moves }) => [event_type, of.entity, address, moves.length]),
    [
      ["go", "root", { to: subject }, 2],
      ["go", "live", { to: subject, target }, 1],
      ["on", "legacy", { to: subject }, 1],
      ["go", "below", { to: { machine: "x", entity: "below" } }, 1],
    ],
  );
});

test("what is typed as a number is one, or none", () => {
  assert.deepEqual(["7", " 7 ", "-3", "1e3", "", " ", "7.5", "x", "9007199254740993"].map(wholeOf), [
    7,
    7,
    -3,
    1000,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
