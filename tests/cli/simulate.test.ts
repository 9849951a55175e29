// `simulate` with its input from a pipe, and `check` of what it saves.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

import { defineMachine } from "statewright";

import { PACKAGE_DIR } from "../../scripts/paths.ts";
import { BIN, Folder, ORDER, TRIP } from "./support.ts";

type Conversations = typeof import("../../src/js/lib/cli/conversation.ts");
type Simulations = typeof import("../../src/js/lib/cli/simulation.ts");

const folder = new Folder({ "order.json": ORDER, "trip.json": TRIP });
after(() => folder.remove());

/** Says lines to a machine whose clock begins at 0. */
const say = (file: string, lines: readonly string[], ...more: string[]) =>
  folder.run(["simulate", file, "--now", "0", ...more], { input: lines.join("\n") });

test("sends events, with params in both forms, and says what they did", async () => {
  const { code, stdout, stderr } = await say("order.json", [
    "# a comment, and an empty line",
    "",
    "events",
    "pay amount=5",
    "pay amount=25 note='two words' gift=true",
    "context",
    'ship {"by": "post"}',
    "state",
    "events",
    "history",
    "effects",
  ]);
  assert.equal(stderr, "");
  assert.equal(code, 0);
  const [before = "", effects = ""] = stdout.split("> effects\n");
  assert.equal(
    before,
    `> # a comment, and an empty line
> events
pay?  placed → paid
> pay amount=5
no transition from 'placed' on 'pay'; \`why pay amount=5\` tells more
> pay amount=25 note='two words' gift=true
placed → paid  (version 2)
> context
{
  "amount": 25,
  "gift": true,
  "note": "two words"
}
> ship {"by": "post"}
paid → shipped  (version 3)
  calls for: event order.shipped
> state
order e-1: shipped (version 3)
> events
no event can be taken here
> history
1970-01-01T00:00:00Z  placed → paid  pay {"amount":25,"gift":true,"note":"two words"}
1970-01-01T00:00:00Z  paid → shipped  ship {"by":"post"}
`,
  );
  const [effect] = JSON.parse(effects) as { effect: unknown }[];
  assert.deepEqual(effect?.effect, {
    kind: "event",
    event_type: "order.shipped",
    params: { entity_id: "e-1" },
    ...(effect?.effect as object),
  });
});

test("says why not", async () => {
  const { stdout } = await say("order.json", ["why pay amount=5", "why ship"]);
  assert.equal(
    stdout,
    `> why pay amount=5
order e-1 is in placed. Event \`pay\`: no transition
  ✗ placed → paid (transitions[0]): its guard does not pass
      guard: amount gte 10 fails; the params have 5
  next timeout: placed → cancelled at 1970-01-02T00:00:00Z, in 1d
> why ship
order e-1 is in placed. Event \`ship\`: no transition
  ✗ paid → shipped (transitions[1]): not in \`paid\`
  next timeout: placed → cancelled at 1970-01-02T00:00:00Z, in 1d
`,
  );
});

test("turns the clock on by durations, to times, and to what is due", async () => {
  const { code, stdout } = await say("order.json", [
    "due",
    "advance 1h30m",
    "advance 1970-01-01T02:00:00Z",
    "advance due",
    "due",
    "state",
  ]);
  assert.equal(
    stdout,
    `> due
e-1 in placed: in 1d, at 1970-01-02T00:00:00Z
> advance 1h30m
it is 1970-01-01T01:30:00Z, 1h 30m later
> advance 1970-01-01T02:00:00Z
it is 1970-01-01T02:00:00Z, 30m later
> advance due
it is 1970-01-02T00:00:00Z, 22h later
  e-1: placed → cancelled at 1970-01-02T00:00:00Z
> due
no timeout is due
> state
order e-1: cancelled (version 2)
`,
  );
  assert.equal(code, 0);
  const back = await say("order.json", ["advance 1d", "advance 1970-01-01", "advance soon"]);
  assert.match(back.stderr, /the clock is at 1970-01-02T00:00:00Z and does not go back; `undo` does/);
  assert.match(back.stderr, /the time is `soon`; milliseconds since the epoch or a date/);
});

test("undoes and does again, but not what makes the entity", async () => {
  const { code, stdout, stderr } = await say("order.json", [
    "pay amount=10",
    "ship",
    "undo 2",
    "state",
    "redo",
    "redo",
    "state",
    "undo 3",
    "undo 9",
    "redo",
    "state",
    "undo 2",
    "pay amount=11",
    "redo",
    "steps",
  ]);
  const states = [...stdout.matchAll(/^order e-1: (.*)$/gm)].map(([, state]) => state);
  assert.deepEqual(states, ["placed (version 1)", "shipped (version 3)", "shipped (version 3)"]);
  assert.match(stderr, /^✗ that would take back `e-1` itself\n✗ .*a number of steps from 0 to 3/);
  assert.match(stdout, /> undo 2\n1 of 3 steps are done\n/);
  assert.match(stdout, /> steps\n {2}1 {2}create order\n {2}2 {2}transition pay [^\n]*\n$/);
  assert.equal(code, 1);
});

test("saves over no file but a scenario, and says why a file cannot be written", async () => {
  const before = readFileSync(join(folder.path, "order.json"), "utf8");
  const { code, stdout, stderr } = await say("order.json", [
    "save order.json",
    "save nowhere/s.json",
    "save twice.json",
    "save twice.json",
  ]);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    "✗ `order.json` is there and no scenario; it is not written over\n✗ `nowhere/s.json` cannot be written: there is no folder `nowhere`\n",
  );
  assert.equal(stdout.match(/written to twice\.json/g)?.length, 2);
  assert.equal(readFileSync(join(folder.path, "order.json"), "utf8"), before);
});

test("sends an event to the child that takes it, or that is named", async () => {
  const { code, stdout } = await say("trip.json", [
    "leave",
    "state",
    "events",
    "arrive",
    "state",
    "undo",
    "arrive@away",
    "entities",
  ]);
  assert.equal(code, 0);
  assert.equal(
    stdout,
    `> leave
booked → away  (version 2)
  child e-1::sub::away (leg) started
> state
trip e-1: away (version 2)
  leg e-1::sub::away: train (version 1)
> events
arrive  train → there  (e-1::sub::away)
> arrive
train → there  (version 2)
  child e-1::sub::away (leg) completed, e-1 goes to home
> state
trip e-1: home (version 3)
  leg e-1::sub::away: there (version 2, completed)
> undo
2 of 3 steps are done
> arrive@away
train → there  (version 2)
  child e-1::sub::away (leg) completed, e-1 goes to home
> entities
leg e-1::sub::away: there
trip e-1: home
`,
  );
});

test("makes other entities, and speaks of them", async () => {
  const { code, stdout } = await say("trip.json", [
    'new leg l-1 {"seat": 5}',
    "arrive",
    "use trip e-1",
    "use leg l-1",
    "context",
    "diagram dot",
    "quit",
    "state",
  ]);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^> new leg l-1 \{"seat": 5\}\nleg l-1: train \(version 1\)\n> arrive\ntrain → there {2}\(version 2\)\n/,
  );
  assert.match(stdout, /> context\n\{\n {2}"seat": 5\n\}\n> diagram dot\ndigraph/);
  assert.match(stdout, /> quit\n$/, "nothing is done after the end");
});

test("begins with the id, the context and the machine that are given", async () => {
  const { stdout } = await say(
    "trip.json",
    ["state", "context"],
    "--machine",
    "leg",
    "--entity",
    "l-9",
    "-c",
    '{"a": 1}',
  );
  assert.equal(stdout, '> state\nleg l-9: train (version 1)\n> context\n{\n  "a": 1\n}\n');
});

test("says what it does not understand, goes on, and ends with 1", async () => {
  const { code, stdout, stderr } = await say("order.json", [
    "fly",
    "sate",
    "payy",
    "pay amount",
    "undo x",
    "save",
    "state",
  ]);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `✗ \`fly\` is no command and no event of \`order\`
  \`help\` lists the commands, \`events\` the events.
✗ \`sate\` is no command and no event of \`order\`
  Did you mean \`state\`?
✗ \`payy\` is no command and no event of \`order\`
  Did you mean \`pay\`?
✗ \`amount\` is no param; write name=value, or a JSON object
✗ \`x\` is no number of steps
✗ a file is needed: \`save <file>\`
`,
  );
  assert.match(stdout, /> state\norder e-1: placed \(version 1\)\n$/);
});

test("`help` tells every command of the conversation", async () => {
  const { stdout } = await say("order.json", ["help"]);
  for (const word of [
    "events",
    "why",
    "send",
    "state",
    "advance",
    "history",
    "undo",
    "redo",
    "save",
    "quit",
  ]) {
    assert.match(stdout, new RegExp(`^ {2}${word}\\b`, "m"), word);
  }
});

test("saves a scenario, which `check` plays, and `simulate` goes on from", async () => {
  const saved = await say("order.json", [
    "pay amount=5",
    "pay amount=10",
    "undo",
    "advance 1h",
    "pay amount=11",
    "save paid.json",
  ]);
  assert.equal(saved.code, 0, saved.stderr);
  const checked = await folder.run(["check", "paid.json"]);
  assert.deepEqual(checked, { code: 0, stdout: "✓ paid.json: 4 steps\n", stderr: "" });
  const on = await folder.run(["simulate", "paid.json"], { input: "state\nship" });
  assert.equal(
    on.stdout,
    "> state\norder e-1: paid (version 2)\n> ship\npaid → shipped  (version 3)\n  calls for: event order.shipped\n",
  );
});

test("`check` says which step came out otherwise, where it stands, and ends with 1", async () => {
  await say("order.json", ["pay amount=11", "ship", "save good.json"]);
  const text = readFileSync(join(folder.path, "good.json"), "utf8");
  const at = text.lastIndexOf('"state": "shipped"');
  folder.write(
    "bad.json",
    `${text.slice(0, at)}"state": "lost"${text.slice(at + '"state": "shipped"'.length)}`,
  );
  const { code, stdout } = await folder.run(["check", "good.json", "bad.json"]);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^✓ good\.json: 3 steps\n✗ bad\.json: 3 steps\n {2}bad\.json:\d+: steps\[2\]: expected the state "lost", and it is "shipped"\n[^]*1 of 2 fail\n$/,
  );
  const json = await folder.run(["check", "good.json", "bad.json", "--json"]);
  assert.deepEqual(JSON.parse(json.stdout), [
    { file: "good.json", passed: true, steps: 3, failures: [] },
    {
      file: "bad.json",
      passed: false,
      steps: 3,
      failures: [{ step: 2, problem: 'expected the state "lost", and it is "shipped"' }],
    },
  ]);
});

test("`check --with` plays scenarios with other definitions", async () => {
  await say("order.json", ["pay amount=11", "save kept.json"]);
  folder.write("dear.json", {
    ...ORDER,
    transitions: [
      { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 100 } },
    ],
  });
  const { code, stdout } = await folder.run(["check", "kept.json", "--with", "dear.json"]);
  assert.equal(code, 1);
  assert.match(stdout, /expected the (outcome "applied"|state "paid")/);
});

test("`check` says what is no scenario, and which cannot be played", async () => {
  const none = await folder.run(["check", "order.json"]);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /`order\.json` holds no scenario/);
  folder.write("odd.json", { statewright: "scenario/9", machines: [], steps: [] });
  const odd = await folder.run(["check", "odd.json"]);
  assert.equal(odd.code, 1);
  assert.match(odd.stderr, /`odd\.json` cannot be played: .*scenario/);
});

test(
  "in a terminal it prompts, in colours, and Ctrl-D ends it",
  { skip: process.platform === "win32" },
  (context) => {
    const run = `${process.execPath} ${BIN} simulate order.json --now 0`;
    const { status, stdout, error } = spawnSync("script", ["-qec", run, "/dev/null"], {
      cwd: folder.path,
      input: "pay amount=10\nfly\nundo 9\nevents\n\u0004",
      encoding: "utf8",
      timeout: 20_000,
      env: { ...process.env, TERM: "xterm" },
    });
    if (error !== undefined) return context.skip("there is no `script` here");
    assert.match(stdout, /`help` lists the commands/);
    assert.match(stdout, /\u001b\[1mplaced\u001b\[22m[^]*\u001b\[32mplaced → paid/);
    assert.match(stdout, /`fly` is no command/);
    assert.equal(status, 0, "who types may mistype");
  },
);

test("Tab completes commands and events", async () => {
  const at = (name: string) => pathToFileURL(join(PACKAGE_DIR, "esm", "cli", name)).href;
  const { Conversation } = (await import(at("conversation.js"))) as Conversations;
  const { Simulation } = (await import(at("simulation.js"))) as Simulations;
  const simulation = new Simulation(0, [defineMachine(ORDER as never) as never]);
  const subject = { machine_id: "order", entity_id: "e-1" };
  simulation.expect("create", { machine_id: "order", body: { entity_id: "e-1" } });
  const conversation = new Conversation(simulation, subject, undefined as never, folder.path);
  assert.deepEqual(conversation.completions("pa"), ["pay"]);
  assert.deepEqual(conversation.completions("s"), ["save", "send", "snapshot", "state", "steps"]);
  assert.deepEqual(conversation.completions("why "), ["pay"]);
  assert.deepEqual(conversation.completions("pay a"), []);
});
