// Whatever a caller puts into the records, a call comes to an end with an answer or an error: it never traps.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

import { buildComponent, canBuildComponent, COMPONENT } from "../../scripts/component.ts";
import { ROOT } from "../../scripts/paths.ts";

const skip = canBuildComponent() ? false : "there is no wasm-tools here (no Python)";
const folder = mkdtempSync(join(tmpdir(), "component-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A record, as jco has it. */
type Fields = { [name: string]: unknown };

interface Machine {
  create(id: string, context: string | undefined, now: bigint): { snapshot: Fields };
  send(of: unknown, event: unknown, now: bigint, history: unknown[]): { snapshot: Fields; outcome: Fields };
  why(of: unknown, event: unknown, now: bigint): unknown;
  events(of: unknown, now: bigint): unknown;
  due(of: unknown): unknown;
  advance(of: unknown, now: bigint): unknown;
  diagram(format: string, of: unknown): string;
}

interface Exports {
  machines: {
    Machine: { compile(definition: string, others: string[]): Machine };
    validate(text: string): unknown;
  };
  sessions: {
    Session: new (
      now: bigint,
      tenant: string,
      deliver: boolean,
    ) => {
      perform(operation: string, args: string): { status: number; body: string };
    };
  };
}

async function transpiled(): Promise<Exports> {
  await buildComponent();
  const jco = join(ROOT, "node_modules", ".bin", "jco");
  const args = ["transpile", COMPONENT, "--name", "statewright", "-o", folder, "--quiet"];
  const done = spawnSync(process.execPath, [jco, ...args], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  return (await import(pathToFileURL(join(folder, "statewright.js")).href)) as Exports;
}

const child = {
  machine_id: "part",
  states: ["one", "two", "done"],
  initial_state: "one",
  transitions: [
    { from: "one", to: "two", on: "$timeout", guard: { after_ms: 1000 } },
    { from: "two", to: "done", on: "finish" },
  ],
};
const parent = {
  machine_id: "job",
  regions: [
    {
      id: "work",
      states: ["idle", "busy", "done"],
      initial_state: "idle",
      sub_machines: { busy: { machine_id: "part", lifecycle: "managed", on_final: { done: "done" } } },
    },
    { id: "clock", states: ["on", "off"], initial_state: "on" },
  ],
  transitions: [
    { region: "work", from: "idle", to: "busy", on: "begin" },
    { region: "clock", from: "on", to: "off", on: "$timeout", guard: { after_ms: 5000 } },
  ],
};

const START = 1_700_000_000_000n;
const event = (eventType: string): Fields => ({ eventType });
const INTEGERS = [0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)];
const COUNTERS = [0n, 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];
const TEXTS = [
  "",
  "{}",
  "[]",
  "null",
  '{"a":',
  "\u0000",
  "x".repeat(3000),
  "::sub::",
  "job",
  "[".repeat(5000),
];

/** The same value with one part of it replaced, for every part and every hostile value of its kind. */
function* mutations(value: unknown): Generator<unknown> {
  if (typeof value === "bigint") {
    yield* value < 0n ? INTEGERS : [...COUNTERS, ...INTEGERS.filter((one) => one >= 0n)];
  } else if (typeof value === "number") {
    yield* [0, 1, 7, 2 ** 32 - 1];
  } else if (typeof value === "string") {
    yield* TEXTS;
  } else if (Array.isArray(value)) {
    yield [];
    yield [...value, ...value];
    yield [...value].reverse();
    for (const [place, item] of value.entries()) {
      for (const other of mutations(item)) yield value.with(place, other);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      // The case of a variant is none of its own; what stands in it is.
      if (name === "tag" || name === "status") continue;
      for (const other of mutations(item)) yield { ...value, [name]: other };
    }
  }
}

/** Calls; says whether it was refused. A trap is neither an answer nor an error of ours. */
function refused(call: () => unknown): boolean {
  try {
    call();
    return false;
  } catch (error) {
    const payload = (error as { payload?: { tag?: string } }).payload;
    assert.ok(payload?.tag !== undefined, `it trapped: ${String(error)}`);
    assert.notEqual(payload.tag, "internal-error");
    return true;
  }
}

test("hostile snapshots are answered or refused", { skip, timeout: 600_000 }, async () => {
  const { machines } = await transpiled();
  const job = machines.Machine.compile(JSON.stringify(parent), [JSON.stringify(child)]);
  const { snapshot } = job.send(job.create("j", undefined, START).snapshot, event("begin"), START, []);
  assert.equal((snapshot["instances"] as unknown[]).length, 2);
  let [tried, no] = [0, 0];
  for (const hostile of mutations(snapshot)) {
    tried += 1;
    const later = START + 10_000n;
    no += Number(refused(() => job.send(hostile, event("finish"), later, [])));
    refused(() => job.advance(hostile, later));
    refused(() => job.why(hostile, event("finish"), later));
    refused(() => job.events(hostile, later));
    refused(() => job.due(hostile));
    refused(() => job.diagram("dot", hostile));
  }
  assert.ok(tried > 300 && no > 100 && no < tried, `${no} of ${tried} were refused`);
});

test("hostile trees are answered or refused", { skip }, async () => {
  const { machines } = await transpiled();
  const job = machines.Machine.compile(JSON.stringify(parent), [JSON.stringify(child)]);
  const { snapshot } = job.send(job.create("j", undefined, START).snapshot, event("begin"), START, []);
  const [root, below] = snapshot["instances"] as [Fields, Fields];
  const at = (parent: number): Fields => ({ ...below, place: { ...(below["place"] as Fields), parent } });
  const chain = (length: number) => [root, ...Array.from({ length }, (_, index) => at(index))];
  const trees = [[below], [root, at(1)], [root, at(7)], [root, root], chain(100), chain(5000)];
  trees.push([root, ...Array.from({ length: 5000 }, () => at(0))]);
  for (const instances of trees) {
    assert.ok(refused(() => job.send({ instances }, event("finish"), START, [])));
    refused(() => job.due({ instances }));
  }
});

test("hostile texts and times are answered or refused", { skip }, async () => {
  const { machines, sessions } = await transpiled();
  const job = machines.Machine.compile(JSON.stringify(parent), [JSON.stringify(child)]);
  const { snapshot } = job.create("j", undefined, START);
  for (const text of TEXTS) {
    refused(() => machines.validate(text));
    refused(() => machines.Machine.compile(text, [text]));
    refused(() => job.create(text, text, START));
    refused(() => job.send(snapshot, { eventType: text, params: text }, START, []));
  }
  for (const time of INTEGERS) {
    refused(() => job.create("j", undefined, time));
    refused(() => job.send(snapshot, { eventType: "begin", timestamp: time }, time, []));
    refused(() => job.advance(snapshot, time));
    const session = new sessions.Session(time, "t", true);
    for (const text of [...TEXTS, `{"to":${time}}`, `{"at":${time}}`]) {
      for (const operation of ["register", "advance", "tick", "undo", "import", "machines"]) {
        const { status, body } = session.perform(operation, text);
        assert.ok(status >= 200 && status < 500, body);
        assert.doesNotThrow(() => void JSON.parse(body));
      }
    }
  }
});
