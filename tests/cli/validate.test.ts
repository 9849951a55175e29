// `validate`, `diagram`, `types` and `explain` of files.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { Folder, ORDER, TRIP } from "./support.ts";

const FAULTY = `{
  "machine_id": "door", "states": ["open", "shut"], "initial_state": "opne",
  "transitions": [ { "from": "open", "to": "shut", "on": "push", "gaurd": true } ]
}`;

const folder = new Folder({
  "order.json": ORDER,
  "trip.json": TRIP,
  "door.json": FAULTY,
  "ajar.json": { ...ORDER, states: [...ORDER.states, "ajar"] },
  "order.mjs": `export default ${JSON.stringify(ORDER)};`,
  "both.mjs": `export const a = ${JSON.stringify(ORDER)}; export const b = ${JSON.stringify(TRIP[1])}; export const c = 5;`,
  "broken.mjs": "export default {",
  "five.json": "5",
  "astray.json": [
    { ...TRIP[0], sub_machines: { away: { ...TRIP[0]?.sub_machines?.away, on_final: { lost: "home" } } } },
    TRIP[1],
  ],
});
folder.install();
after(() => folder.remove());

test("says that a file is valid", async () => {
  const { code, stdout, stderr } = await folder.run([
    "validate",
    "order.json",
    "trip.json",
    "order.mjs",
    "both.mjs",
  ]);
  assert.equal(stderr, "");
  assert.equal(
    stdout,
    "order.json: `order` is valid\ntrip.json: `trip`, `leg` is valid\norder.mjs: `order` is valid\nboth.mjs: `order`, `leg` is valid\n",
  );
  assert.equal(code, 0);
});

test("shows each fault with its line, its column and the line itself, and ends with 1", async () => {
  const { code, stdout } = await folder.run(["validate", "door.json"]);
  assert.equal(code, 1);
  assert.equal(
    stdout,
    `door.json:3:66 fault $.transitions[0].gaurd
  \`gaurd\` is no key here
  expected one of \`region\`, \`from\`, \`to\`, \`on\`, \`guard\`, \`description\` (did you mean \`guard\`?)
  3 |   "transitions": [ { "from": "open", "to": "shut", "on": "push", "gaurd": true } ]
    |                                                                  ^
door.json:2:53 fault $.initial_state
  \`opne\` is no state of this machine
  expected one of \`open\`, \`shut\` (did you mean \`open\`?)
  2 |   "machine_id": "door", "states": ["open", "shut"], "initial_state": "opne",
    |                                                     ^
door.json: 2 faults
`,
  );
});

test("tells warnings, which --strict takes for faults", async () => {
  const loose = await folder.run(["validate", "ajar.json"]);
  assert.equal(loose.code, 0);
  assert.match(loose.stdout, /^ajar\.json:\d+:\d+ warning \$\.states\[4\]\n.*`ajar` \(unreachable_state\)/);
  assert.match(loose.stdout, /ajar\.json: 1 warning\n$/);
  assert.equal((await folder.run(["validate", "ajar.json", "--strict"])).code, 1);
});

test("checks what the definitions of a file say of each other", async () => {
  const { code, stdout } = await folder.run(["validate", "astray.json"]);
  assert.equal(code, 1);
  assert.match(stdout, /astray\.json:\d+:\d+ fault \$\[0\]\.sub_machines\.away\.on_final/);
});

test("two machines of one file have two ids", async () => {
  folder.write("twice.json", [ORDER, ORDER]);
  const { code, stdout } = await folder.run(["validate", "twice.json"]);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /fault \$\[1\]\.machine_id\n {2}the file has another machine `order`\n {2}expected an id of its own/,
  );
});

test("answers in JSON, with places", async () => {
  const { code, stdout } = await folder.run(["validate", "order.json", "door.json", "--json"]);
  assert.equal(code, 1);
  const [order, door] = JSON.parse(stdout) as {
    valid: boolean;
    faults: { path: string; line: number; column: number }[];
  }[];
  assert.deepEqual(order, { file: "order.json", valid: true, faults: [], warnings: [] });
  assert.equal(door?.valid, false);
  assert.deepEqual(
    door?.faults.map(({ path, line, column }) => [path, line, column]),
    [
      ["$.transitions[0].gaurd", 3, 66],
      ["$.initial_state", 2, 53],
    ],
  );
});

test("looks at the other files where one cannot be read, and answers in JSON all the same", async () => {
  folder.write("comma.json", "[1,]");
  const text = await folder.run(["validate", "comma.json", "order.json"]);
  assert.equal(text.code, 2);
  assert.match(
    text.stderr,
    /^statewright: comma\.json:1:3: a comma before `\]`\n {2}1 \| \[1,\]\n {4}\| {3}\^\n$/,
  );
  assert.equal(text.stdout, "order.json: `order` is valid\n");
  const json = await folder.run(["validate", "comma.json", "order.json", "--json"]);
  assert.equal(json.code, 2);
  assert.deepEqual(JSON.parse(json.stdout), [
    {
      file: "comma.json",
      valid: false,
      faults: [{ path: "$", problem: "comma.json:1:3: a comma before `]`" }],
      warnings: [],
    },
    { file: "order.json", valid: true, faults: [], warnings: [] },
  ]);
  const missing = await folder.run(["explain", "gone.json", "pay", "--json"]);
  assert.equal(missing.code, 2);
  assert.deepEqual(JSON.parse(missing.stdout), {
    error: { message: "there is no file `gone.json`", hints: [] },
  });
});

test("reads standard input", async () => {
  const { code, stdout } = await folder.run(["validate", "-"], { input: JSON.stringify(ORDER) });
  assert.deepEqual({ code, stdout }, { code: 0, stdout: "-: `order` is valid\n" });
});

test("says what is no definition, and what cannot be loaded", async () => {
  const five = await folder.run(["validate", "five.json"]);
  assert.equal(five.code, 2);
  assert.match(five.stderr, /`five\.json` holds no definition\n {2}A definition is an object/);
  const broken = await folder.run(["validate", "broken.mjs"]);
  assert.equal(broken.code, 2);
  assert.match(broken.stderr, /`broken\.mjs` cannot be loaded: /);
});

test("draws a machine, in both languages, and with the states of an entity", async () => {
  const mermaid = await folder.run(["diagram", "order.json"]);
  assert.equal(mermaid.code, 0);
  assert.match(mermaid.stdout, /^stateDiagram-v2\n[^]*pay \[amount ≥ 10\]/);
  const dot = await folder.run(["diagram", "trip.json", "--machine", "leg", "-f", "dot", "--out", "leg.dot"]);
  assert.deepEqual(dot, { code: 0, stdout: "", stderr: "" });
  assert.match(readFileSync(join(folder.path, "leg.dot"), "utf8"), /^digraph[^]*train/);
  const { stdout } = await folder.run(["simulate", "order.json"], { input: "pay amount=10\nsnapshot" });
  folder.write("paid.json", stdout.slice(stdout.indexOf("{")));
  const marked = await folder.run(["diagram", "order.json", "--snapshot", "paid.json"]);
  assert.equal(marked.code, 0);
  assert.notEqual(marked.stdout, mermaid.stdout);
});

test("a machine with faults is told of, and is neither drawn nor typed nor explained", async () => {
  for (const args of [["diagram"], ["types"], ["explain", "push"], ["simulate"]]) {
    const { code, stdout, stderr } = await folder.run([args[0] ?? "", "door.json", ...args.slice(1)]);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: "" }, args[0]);
    assert.match(stderr, /door\.json:3:66 fault/);
    assert.match(stderr, /statewright: `door\.json` has 2 faults/);
  }
});

test("writes TypeScript that compiles, and that `defineMachine` takes", async () => {
  const { code, stderr } = await folder.run(["types", "order.json", "trip.json", "--out", "machines.ts"]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  const text = readFileSync(join(folder.path, "machines.ts"), "utf8");
  assert.match(text, /^\/\/ Made by `statewright types` from order\.json, trip\.json\. Do not edit\.\n/);
  assert.match(text, /export type OrderState = "placed" \| "paid" \| "shipped" \| "cancelled";/);
  assert.match(text, /export type OrderEvent = "pay" \| "ship";/);
  assert.match(text, /readonly pay: \{ readonly amount\?: number \};/);
  assert.match(text, /export const order = \{\n {2}machine_id: "order",/);
  folder.write(
    "use.ts",
    `import { defineMachine } from "statewright";
import { leg, order, trip, type LegEvent, type OrderState } from "./machines.ts";
const state: OrderState = defineMachine(order).create("o-1", {}).current_state;
const event: LegEvent = "arrive";
// @ts-expect-error there is no such state
const none: OrderState = "gone";
defineMachine(trip, { machines: [defineMachine(leg)] });
export { event, none, state };
`,
  );
  folder.write("package.json", { type: "module" });
  folder.write("tsconfig.json", {
    compilerOptions: {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2024",
      lib: ["es2024", "dom", "esnext.disposable"],
      types: [],
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    },
    files: ["use.ts"],
  });
  execFileSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder.path], {
    encoding: "utf8",
    stdio: "pipe",
  });
});

test("names what TypeScript would not take as it is", async () => {
  folder.write("odd.json", [
    {
      machine_id: "2nd.work-order",
      description: "ends a comment: */",
      regions: [
        { id: "a b", states: ['say "x"', "y"], initial_state: "y" },
        { id: "many", states: ["1", "2", "3", "4", "5", "6", "7"], initial_state: "1" },
      ],
      transitions: [
        {
          region: "a b",
          from: "y",
          to: 'say "x"',
          on: "go.now",
          guard: {
            all: [
              { field: "the sum", op: "gt", value: 1 },
              {
                any: [
                  { field: "kind", op: "eq", value: "a" },
                  { field: "kind", op: "eq", value: null },
                ],
              },
            ],
          },
        },
      ],
    },
    { machine_id: "2nd work order", states: ["only"], initial_state: "only", transitions: [] },
  ]);
  const { code, stdout, stderr } = await folder.run(["types", "odd.json"]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.match(
    stdout,
    /export interface Machine2ndWorkOrderState \{\n {2}readonly "a b": "say \\"x\\"" \| "y";\n/,
  );
  assert.match(stdout, /readonly many:\s+\| "1"\n/);
  assert.match(
    stdout,
    /readonly "go\.now": \{ readonly "the sum"\?: number; readonly kind\?: null \| string \};/,
  );
  assert.match(stdout, /export type Machine2ndWorkOrder2Event = never;/);
  assert.ok(stdout.includes("/** ends a comment: *\\/ `2nd.work-order`"));
  folder.write("odd.ts", stdout);
  folder.write("tsconfig.json", {
    compilerOptions: { strict: true, noEmit: true, target: "es2024", types: [] },
    files: ["odd.ts"],
  });
  execFileSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder.path], {
    stdio: "pipe",
  });
});

test("leaves the definitions out where only types are asked for", async () => {
  const { stdout } = await folder.run(["types", "order.json", "--types-only"]);
  assert.ok(!stdout.includes("export const"));
});

test("explains why an event moves nothing, and ends with 1", async () => {
  const { code, stdout } = await folder.run(["explain", "order.json", "pay", "--params", '{"amount": 5}']);
  assert.equal(code, 1);
  const lines = stdout.split("\n");
  assert.deepEqual(lines.slice(0, 3), [
    "order entity is in placed. Event `pay`: no transition",
    "  ✗ placed → paid (transitions[0]): its guard does not pass",
    "      guard: amount gte 10 fails; the params have 5",
  ]);
  assert.match(lines[3] ?? "", /^ {2}next timeout: placed → cancelled at .*, in 1d$/);
});

test("explains after other events, with a context, of a snapshot, and in JSON", async () => {
  const later = await folder.run(["explain", "order.json", "ship", "--after", "pay amount=25"]);
  assert.equal(later.code, 0);
  assert.match(later.stdout, /✓ paid → shipped \(transitions\[1\]\): taken/);
  const context = await folder.run(["explain", "order.json", "pay", "-c", '{"amount": 10}', "--json"]);
  assert.equal(context.code, 0);
  assert.equal((JSON.parse(context.stdout) as { would: string }).would, "transition");
  const { stdout } = await folder.run(["simulate", "order.json"], { input: "pay amount=10\nsnapshot" });
  folder.write("paid.json", stdout.slice(stdout.indexOf("{")));
  const snapshot = await folder.run(["explain", "order.json", "ship", "--snapshot", "paid.json"]);
  assert.equal(snapshot.code, 0, snapshot.stderr);
  const unknown = await folder.run(["explain", "order.json", "fly"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stdout, /no transition of `order` is on `fly`/);
});
