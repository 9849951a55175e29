// The table of rows in docs/operations.md: batches, and what D1 counts as written, from its own
// answers. `BLESS=1` prints the lines instead of checking them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { order, serve, wheel } from "../http/support.ts";
import { read } from "./markdown.ts";

/** The Worker, with a database that adds up what D1 says of each batch. */
const AROUND = `
import Worker from "./statewright.js";
const log = { batches: 0, written: 0 };
const counted = (database) => new Proxy(database, {
  get(target, name) {
    if (name !== "batch") {
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    }
    return async (statements) => {
      const answers = await target.batch(statements);
      log.batches += 1;
      for (const { meta } of answers) log.written += meta.rows_written;
      return answers;
    };
  },
});
const around = (env) => ({ ...env, DB: counted(env.DB) });
export default {
  async fetch(request, env, context) {
    if (new URL(request.url).pathname === "/counted") {
      const answer = Response.json(log);
      Object.assign(log, { batches: 0, written: 0 });
      return answer;
    }
    return new Worker(context, around(env)).fetch(request);
  },
  scheduled(event, env, context) {
    return new Worker(context, around(env)).scheduled(event);
  },
};`;

const service = await serve({ around: AROUND });

interface Counted {
  batches: number;
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

const joined = {
  machine_id: "joined",
  regions: [
    { id: "a", states: ["x", "y"], initial_state: "x" },
    { id: "b", states: ["x", "y"], initial_state: "x" },
  ],
  transitions: [{ region: "a", from: "x", to: "y", on: "go" }],
  joins: [{ when: { a: "y" }, target_region: "b", target_state: "y" }],
};

let timestamp = 0;

const event = (id: string, event_type: string) => ({
  event_type,
  entity_key: "id",
  params: { id, amount: 1 },
  timestamp: (timestamp += 1),
});

const send = (machine: string, id: string, type: string) =>
  service.expect(200, "POST", `/api/machines/${machine}/evaluate`, { body: event(id, type) });

for (const definition of [order, wheel, clock, joined]) await service.register(definition);
for (const machine of ["wheel", "clock"]) {
  await send(machine, "warm", "turn");
  await send(machine, "e", "turn");
}
await send("joined", "warm", "go");
await service.expect(201, "POST", "/api/machines/joined/entities", { body: { entity_id: "e" } });
const batch = Array.from({ length: 100 }, (_, index) => `batch-${index}`);
await service.expect(200, "POST", "/api/machines/wheel/evaluate/batch", {
  body: { events: batch.map((id) => event(id, "turn")) },
});

const rows: [string, () => Promise<unknown>][] = [
  ["an event of a flat machine", () => send("wheel", "e", "turn")],
  ["an event that makes its entity", () => send("wheel", "new", "turn")],
  ["an event where the state left and the state entered have a timeout", () => send("clock", "e", "turn")],
  ["an event with a join", () => send("joined", "e", "go")],
  ["an event that matches nothing", () => send("joined", "e", "go")],
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

test("docs/operations.md says what D1 counts", async () => {
  const page = read("docs/operations.md");
  for (const [name, work] of rows) {
    const { batches, written } = await counted(work);
    const line = `| ${name} | ${batches} | ${written} |`;
    if (process.env["BLESS"] !== undefined) console.log(line);
    else assert.ok(page.includes(line), `docs/operations.md should say: ${line}`);
  }
});
