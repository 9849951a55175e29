// Random machines and histories through XState v5 and through what an import makes of them. Whenever the import lists
// nothing that is not carried over, both show the same after every step.
//
//   XSTATE_SEED=1 XSTATE_PATH=3:1 node --test tests/xstate/differential.test.ts   runs one that failed again
//   XSTATE_RUNS=100000                                                              runs more

import assert from "node:assert/strict";
import { after, test } from "node:test";

import fc from "fast-check";

import { type Imported, importXState } from "../../src/js/lib/import-xstate.ts";
import { type Case, cases, type Shape } from "./machines.ts";
import { statewright, xstate } from "./run.ts";

/** Machines of that shape, how many histories of them, and what may be listed all the same. */
const SHAPES: Record<string, { shape: Shape; runs: number; expected: RegExp }> = {
  "flat machines": {
    shape: { root: "flat", depth: 0, fields: "some" },
    runs: 1000,
    expected: /^$/,
  },
  "parallel machines": {
    shape: { root: "parallel", depth: 0, fields: "some" },
    runs: 1000,
    expected: /^$/,
  },
  "nested states": {
    shape: { root: "flat", depth: 2, fields: "all" },
    runs: 800,
    // Events are sent innermost first, and carry every field that a guard asks for.
    expected: /^(events of nested states|one context for all, in guards of .*)$/,
  },
  "nested states of regions": {
    shape: { root: "parallel", depth: 1, fields: "all" },
    runs: 500,
    expected: /^(events of nested states|one context for all, in guards of .*)$/,
  },
};

const number = (name: string) => {
  const text = process.env[name];
  return text === undefined ? undefined : Number(text);
};
const seed = number("XSTATE_SEED") ?? 5;
const path = process.env["XSTATE_PATH"];
const factor = (number("XSTATE_RUNS") ?? 1000) / 1000;

let histories = 0;
let moves = 0;

/** Both, step by step; throws at the first disagreement. */
function compare(one: Case, imported: Imported): void {
  const theirs = xstate(one);
  const ours = statewright(imported, one.config);
  // A child has a context of its own, so that of a tree is not one.
  const shown = (player: typeof ours) => {
    const { value, context } = player.shown();
    return imported.machines.length === 0 ? { value, context } : { value };
  };
  let before = shown(theirs);
  assert.deepEqual(shown(ours), before, "at the start");
  one.steps.forEach((step, index) => {
    theirs.take(step);
    ours.take(step);
    const expected = shown(theirs);
    assert.deepEqual(
      shown(ours),
      expected,
      `after step ${index}, ${JSON.stringify(step)}, from ${JSON.stringify(before)}, of ${JSON.stringify(imported)}`,
    );
    if (JSON.stringify(expected) !== JSON.stringify(before)) moves += 1;
    before = expected;
  });
  histories += 1;
}

for (const [name, { shape, runs, expected }] of Object.entries(SHAPES)) {
  test(`${name} do what XState's do`, { timeout: 600_000 }, () => {
    fc.assert(
      fc.property(cases(shape, 14), (one) => {
        const imported = importXState(one.config, { guards: one.guards, actions: { remember: "merge" } });
        fc.pre(imported.notCarried.every(({ what }) => expected.test(what)));
        compare(one, imported);
      }),
      {
        seed,
        numRuns: Math.ceil(runs * factor),
        maxSkipsPerRun: 200,
        ...(path === undefined ? {} : { path }),
      },
    );
  });
}

after(() => {
  if (path !== undefined) return;
  assert.ok(histories >= 2000 * factor, `${histories} histories`);
  assert.ok(moves >= histories, `${moves} steps that moved`);
});
