// The table of rows in docs/operations.md: batches, and what D1 counts as read and as written, from its own answers.
// `BLESS=1` writes the table instead of checking it.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { order, serve, wheel } from "../http/support.ts";
import { SECRETS_KEY, Sink } from "../http/sink.ts";
import { read } from "./markdown.ts";

/** The Worker, with a database that adds up what D1 says of each batch. */
const AROUND = `
import Worker from "./statewright.js";
const log = { batches: 0, read: 0, written: 0 };
const counted = (database) => new Proxy(database, {
  get(target, name) {
    if (name !== "batch") {
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    }
    return async (statements) => {
      const answers = await target.batch(statements);
      log.batches += 1;
      for (const { meta } of answers) {
        log.read += meta.rows_read;
        log.written += meta.rows_written;
      }
      return answers;
    };
  },
});
const around = (env) => ({ ...env, DB: counted(env.DB) });
export default {
  async fetch(request, env, context) {
    if (new URL(request.url).pathname === "/counted") {
      const answer = Response.json(log);
      Object.assign(log, { batches: 0, read: 0, written: 0 });
      return answer;
    }
    return new Worker(context, around(env)).fetch(request);
  },
  scheduled(event, env, context) {
    return new Worker(context, around(env)).scheduled(event);
  },
};`;

/** Where effects go: it accepts all of them. */
const sink = await Sink.open();

const service = await serve({
  around: AROUND,
  settings: { WEBHOOK_ALLOW: "127.0.0.1", SECRETS_KEY },
});

interface Counted {
  batches: number;
  read: number;
  written: number;
}

async function counted(work: () => Promise<unknown>): Promise<Counted> {
  await service.call("GET", "/counted");
  await work();
  return (await service.call("GET", "/counted")).body as Counted;
}

const clock = {
  machine_id: "clock",
  states: ["here", "there"],
  initial_state: "here",
  transitions: [
    { from: "here", to: "there", on: "turn" },
    { from: "there", to: "here", on: "turn" },
    { from: "here", to: "there", on: "$timeout", guard: { timeout_seconds: 3600 } },
    { from: "there", to: "here", on: "$timeout", guard: { timeout_seconds: 3600 } },
  ],
};

const bell = {
  ...wheel,
  machine_id: "bell",
  actions: wheel.states.map((state) => ({
    on_enter: state,
    action: { type: "webhook", url: `${sink.url}/` },
  })),
};

const joined = {
  machine_id: "joined",
  regions: [
    { id: "a", states: ["x", "y"], initial_state: "x" },
    { id: "b", states: ["x", "y"], initial_state: "x" },
  ],
  transitions: [{ region: "a", from: "x", to: "y", on: "go" }],
  joins: [{ when: { a: "y" }, target_region: "b", target_state: "y" }],
};

/** A flat machine whose one compound state has a managed child of that machine. */
const above = (machine_id: string, child: string) => ({
  machine_id,
  states: ["idle", "busy", "fin"],
  initial_state: "idle",
  transitions: [
    { from: "idle", to: "busy", on: "go" },
    { from: "busy", to: "idle", on: "cancel" },
  ],
  sub_machines: { busy: { machine_id: child, lifecycle: "managed", on_final: { fin: "fin" } } },
});

const leaf = {
  machine_id: "leaf",
  states: ["on", "fin"],
  initial_state: "on",
  transitions: [
    { from: "on", to: "on", on: "note" },
    { from: "on", to: "fin", on: "finish" },
  ],
};

const WIDTH = 64;

/** Every region begins in a state with a child: no two have one of a name. */
const wide = {
  machine_id: "wide",
  regions: Array.from({ length: WIDTH }, (_, index) => ({
    id: `r${index}`,
    states: [`s${index}`, "fin"],
    initial_state: `s${index}`,
    sub_machines: { [`s${index}`]: { machine_id: "leaf", lifecycle: "managed", on_final: { fin: "fin" } } },
  })),
  transitions: [],
};

const broad = {
  ...above("broad", "wide"),
  sub_machines: { busy: { machine_id: "wide", lifecycle: "managed" } },
};

const chain = [leaf, above("third", "leaf"), above("second", "third"), above("first", "second")];
const DEEP = [{ state: "busy" }, { state: "busy" }, { state: "busy" }];

let timestamp = 0;

const event = (id: string, event_type: string) => ({
  event_type,
  entity_key: "id",
  params: { id, amount: 1 },
  timestamp: (timestamp += 1),
});

const send = (machine: string, id: string, type: string, target?: object[]) =>
  service.expect(200, "POST", `/api/machines/${machine}/evaluate`, {
    body: { ...event(id, type), ...(target === undefined ? {} : { target }) },
  });

/** An event whose effect is delivered. */
async function rung(): Promise<void> {
  await send("bell", "e", "turn");
  const late = Date.now() + 20_000;
  for (;;) {
    const [row] = await service.runtime.sql("SELECT count(*) AS left FROM outbox WHERE status = 'pending'");
    // What follows from its end counts as well.
    await new Promise((pause) => setTimeout(pause, 100));
    if (row?.["left"] === 0) return;
    assert.ok(Date.now() < late, "the effect is not delivered");
  }
}

const keyed = { headers: { "idempotency-key": "cost" }, body: event("e", "turn") };
const move = (version: number) =>
  service.expect(200, "POST", "/api/state/transition", {
    body: { machine: "task", id: "t", from: "open", to: "open", expected_version: version },
  });

const WHEEL = "/api/machines/wheel/evaluate";

let deliveries = 0;

/** A webhook of the source `scale`. */
async function weighed(): Promise<void> {
  const raw = JSON.stringify({ wheel: "e", delivery: (deliveries += 1) });
  const signature = createHmac("sha256", "weigh").update(raw).digest("hex");
  const headers = { "x-signature": signature };
  const { outcome } = await service.expect(200, "POST", "/hooks/t1/scale", { raw, headers, key: null });
  assert.equal(outcome, "applied");
}

for (const definition of [order, wheel, clock, joined, bell]) await service.register(definition);
for (const definition of [...chain, wide, broad]) await service.register(definition);
for (const machine of ["wheel", "clock"]) {
  await send(machine, "warm", "turn");
  await send(machine, "e", "turn");
}
await rung();
await service.expect(201, "POST", "/api/state/create", { body: { machine: "task", id: "t", state: "open" } });
await move(1);
await service.expect(201, "PUT", "/api/secrets/scale", { body: { value: "weigh" } });
await service.expect(201, "PUT", "/api/sources/scale", {
  body: {
    machine: "wheel",
    scheme: { type: "hmac-sha256" },
    secret: "scale",
    mapping: { entity_id: "/wheel", event_type: { text: "turn" } },
  },
});
await weighed();
await send("joined", "warm", "go");
await service.expect(201, "POST", "/api/machines/joined/entities", { body: { entity_id: "e" } });
await send("third", "warm", "go");
await service.expect(201, "POST", "/api/machines/third/entities", { body: { entity_id: "e" } });
for (const depth of DEEP.keys()) await send("first", "e", "go", DEEP.slice(0, depth));
await send("broad", "e", "go");
const batch = Array.from({ length: 100 }, (_, index) => `batch-${index}`);
await service.expect(200, "POST", "/api/machines/wheel/evaluate/batch", {
  body: { events: batch.map((id) => event(id, "turn")) },
});

/** An event that must do that many things to children. */
async function lives(count: number, sent: Promise<{ instances?: object[] }>): Promise<void> {
  const { instances = [] } = await sent;
  assert.equal(instances.length, count, JSON.stringify(instances));
}

const rows: [string, () => Promise<unknown>][] = [
  ["an event of a flat machine", () => send("wheel", "e", "turn")],
  ["an event that makes its entity", () => send("wheel", "new", "turn")],
  ["an event where the state left and the state entered have a timeout", () => send("clock", "e", "turn")],
  ["an event with a join", () => send("joined", "e", "go")],
  ["an event that matches nothing", () => send("joined", "e", "go")],
  ["an event with an `Idempotency-Key`", () => service.expect(200, "POST", WHEEL, keyed)],
  ["the same again", () => service.expect(200, "POST", WHEEL, keyed)],
  ["an event with a webhook, and its delivery", rung],
  ["a webhook that comes in", weighed],
  ["a transition of a state record", () => move(2)],
  ["an event that starts a managed child", () => lives(1, send("third", "e", "go"))],
  ["an event of a managed child at depth 3", () => send("first", "e", "note", DEEP)],
  ["an event at depth 3 that completes all to the root", () => lives(3, send("first", "e", "finish", DEEP))],
  [
    `an event that cancels a tree of ${WIDTH + 1} children`,
    () => lives(WIDTH + 1, send("broad", "e", "cancel")),
  ],
  [
    "a batch of 100 events of 100 entities",
    () =>
      service.expect(200, "POST", "/api/machines/wheel/evaluate/batch", {
        body: { events: batch.map((id) => event(id, "turn")) },
      }),
  ],
  ["reading an entity", () => service.expect(200, "GET", "/api/machines/wheel/entities/e")],
  ["a pass of the scanner with nothing due", () => service.runtime.scheduled()],
];

const TABLE = /\| \| batches \|[^]*?\n(?=\n)/;
const HEAD = ["| | batches | rows read, some | rows written |", "| --- | --: | --: | --: |"];

/** Two digits of a number: how many rows are read depends a little on the order of random ids. */
function some(count: number): number {
  return Number(count.toPrecision(2));
}

test("docs/operations.md says what D1 counts", async () => {
  const page = read("docs/operations.md");
  const told = (TABLE.exec(page)?.[0] ?? "").trimEnd().split("\n");
  const lines = [...HEAD];
  for (const [name, work] of rows) {
    const { batches, read, written } = await counted(work);
    const line = (read: number) => `| ${name} | ${batches} | ${read} | ${written} |`;
    const said = Number(told[lines.length]?.split(" | ").at(-2));
    const near = Math.abs(said - read) <= Math.max(1, 0.1 * read);
    lines.push(line(near && process.env["BLESS"] === undefined ? said : some(read)));
  }
  if (process.env["BLESS"] === undefined) assert.deepEqual(told, lines);
  else
    writeFileSync(
      join(ROOT, "docs", "operations.md"),
      page.replace(TABLE, () => `${lines.join("\n")}\n`),
    );
});
