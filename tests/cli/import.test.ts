// `import xstate`, from files of all kinds.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { Folder, ORDER } from "./support.ts";

const CONFIG = {
  id: "parcel",
  initial: "packed",
  states: {
    packed: { on: { send: { target: "away", guard: "isPaid", actions: "remember" } } },
    away: { on: { arrive: { target: "here", actions: "remember" } } },
    here: { type: "final" },
  },
};
const MAP = {
  guards: { isPaid: { field: "paid", op: "eq", value: true } },
  actions: { remember: "merge" },
};
const DEFINITION = {
  machine_id: "parcel",
  states: ["packed", "away", "here"],
  initial_state: "packed",
  transitions: [
    { from: "packed", to: "away", on: "send", guard: MAP.guards.isPaid },
    { from: "away", to: "here", on: "arrive" },
  ],
};
const SETUP = `import { assign, setup } from "xstate";
export const parcel = setup({
  guards: { isPaid: ({ event }) => event.paid },
  actions: { remember: assign(({ event }) => ({ paid: event.paid })) },
}).createMachine(${JSON.stringify(CONFIG)});
export const other = 5;
`;

const folder = new Folder({
  "package.json": { type: "module" },
  "parcel.json": CONFIG,
  "map.json": MAP,
  "parcel.js": SETUP,
  "default.mjs": `export default ${JSON.stringify(CONFIG)};`,
  "order.json": ORDER,
  "nested.json": {
    ...CONFIG,
    states: { ...CONFIG.states, away: { initial: "van", states: { van: {} }, invoke: { src: "track" } } },
  },
});
folder.install();
after(() => folder.remove());

for (const file of ["parcel.json", "default.mjs", "parcel.js"]) {
  test(`makes a definition of ${file}`, async () => {
    const { code, stdout, stderr } = await folder.run([
      "import",
      "xstate",
      file,
      "--map",
      "map.json",
      "--strict",
    ]);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assert.deepEqual(JSON.parse(stdout), DEFINITION);
  });
}

test("lists what is not carried over on standard error, and --strict ends with 1", async () => {
  const loose = await folder.run(["import", "xstate", "parcel.json", "--id", "box"]);
  assert.equal(loose.code, 0);
  assert.equal((JSON.parse(loose.stdout) as { machine_id: string }).machine_id, "box");
  assert.equal(
    loose.stderr,
    `$.states.packed.on.send: action \`remember\`
  a transition does nothing but merge the event's params into the context; if that is what this
  does, map it to "merge"
$.states.packed.on.send: guard \`isPaid\`
  the table of guards does not say what it means; without it, its transition is left out
$.states.away.on.arrive: action \`remember\`
  a transition does nothing but merge the event's params into the context; if that is what this
  does, map it to "merge"
$.context: events that do not change the context
  an event that is taken merges all of its params into the context, whatever the transition
4 things not carried over, or not as it was
`,
  );
  const strict = await folder.run(["import", "xstate", "parcel.json", "--strict"]);
  assert.equal(strict.code, 1);
});

test("writes a list where there are children, which the other commands take", async () => {
  const made = await folder.run([
    "import",
    "xstate",
    "nested.json",
    "--map",
    "map.json",
    "--out",
    "nested.def.json",
  ]);
  assert.deepEqual({ code: made.code, stdout: made.stdout }, { code: 0, stdout: "" });
  assert.match(made.stderr, /^\$\.states\.away\.invoke: actor `track` and its transitions$/m);
  const list = JSON.parse(readFileSync(join(folder.path, "nested.def.json"), "utf8")) as {
    machine_id: string;
  }[];
  assert.deepEqual(
    list.map(({ machine_id }) => machine_id),
    ["parcel", "parcel.away"],
  );
  const { stdout } = await folder.run(["simulate", "nested.def.json"], { input: "send paid=true\nstate" });
  assert.match(stdout, /parcel\.away e-1::sub::away: van \(version 1\)\n$/);
});

test("answers all of it in JSON", async () => {
  const { stdout, stderr } = await folder.run(["import", "xstate", "nested.json", "--json"]);
  assert.equal(stderr, "");
  const answer = JSON.parse(stdout) as Record<string, unknown>;
  assert.deepEqual(Object.keys(answer), ["definition", "machines", "context", "notCarried"]);
  await folder.write("answer.json", stdout);
  assert.equal((await folder.run(["validate", "answer.json"])).code, 0, "`validate` takes it as it is");
});

test("says what is no machine, and what is wrong with a map", async () => {
  const order = await folder.run(["import", "xstate", "order.json"]);
  assert.equal(order.code, 1);
  assert.match(
    order.stderr,
    /no machine of XState v5: its `states` is a list, as in a definition of Statewright/,
  );
  folder.write("odd.json", { gaurds: {} });
  const odd = await folder.run(["import", "xstate", "parcel.json", "--map", "odd.json"]);
  assert.equal(odd.code, 2);
  assert.match(odd.stderr, /`gaurds` of `odd\.json` is not known/);
});

test("tells the faults of what came out, where it comes to any", async () => {
  folder.write("bad-map.json", {
    guards: { isPaid: { field: "paid", op: "is", value: true } },
    actions: MAP.actions,
  });
  const { code, stderr } = await folder.run(["import", "xstate", "parcel.json", "--map", "bad-map.json"]);
  assert.equal(code, 1);
  assert.match(stderr, /fault \$\.transitions\[0\]\.guard/);
});
