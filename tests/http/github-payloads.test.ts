// Every example payload that GitHub's own collection has, signed and posted to one source.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { sign } from "@octokit/webhooks-methods";

import { SECRETS_KEY } from "./sink.ts";
import { type Answer, serve } from "./support.ts";

/** An event and its examples, as far as they are looked at here. */
interface Definition {
  name: string;
  examples: { action?: string; repository?: { full_name?: string } }[];
}

const definitions = createRequire(import.meta.url)("@octokit/webhooks-examples") as Definition[];
const payloads = definitions.flatMap(({ name, examples }) =>
  examples.map((body) => ({ name, body, type: body.action === undefined ? name : `${name}.${body.action}` })),
);
const SECRET = "It's a Secret to Everybody";

const service = await serve({ settings: { SECRETS_KEY } });
await service.expect(201, "PUT", "/api/secrets/github", { body: { value: SECRET } });

/** Posts all payloads to a source, some at a time; gives the answers in the order of the payloads. */
async function post(source: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  const queue = [...payloads.entries()];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, { name, body }] = next;
      const raw = JSON.stringify(body);
      answers[index] = await service.call("POST", `/hooks/t1/${source}`, {
        raw,
        headers: {
          "x-github-event": name,
          "x-github-delivery": `${source}-${index}`,
          "x-hub-signature-256": await sign(SECRET, raw),
          "user-agent": "GitHub-Hookshot/044aadd",
        },
        key: null,
        tenant: null,
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return answers;
}

/** How often each outcome is among answers. */
function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { body } of answers) counts[body.outcome] = (counts[body.outcome] ?? 0) + 1;
  return counts;
}

async function counts(source: string): Promise<Record<string, number>> {
  const all = (await service.expect(200, "GET", `/api/sources/${source}`)).counts as Record<string, number>;
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0));
}

test("all 329 payloads of GitHub are mapped, by event and action", async () => {
  assert.equal(payloads.length, 329);
  const types = [...new Set(payloads.map(({ type }) => type))];
  await service.register({
    machine_id: "event",
    states: ["seen"],
    initial_state: "seen",
    transitions: types.map((on) => ({ from: "seen", to: "seen", on })),
  });
  await service.expect(201, "PUT", "/api/sources/all", {
    body: {
      machine: "event",
      scheme: { type: "github" },
      secret: "github",
      mapping: {
        entity_id: { header: "x-github-event" },
        params: { action: "/action", sender: "/sender", repository: "/repository" },
      },
    },
  });
  const answers = await post("all");
  for (const [index, answer] of answers.entries()) {
    const { name, type } = payloads[index]!;
    assert.equal(answer.status, 200, `${type}: ${answer.text}`);
    assert.equal(answer.body.outcome, name === "ping" ? "handshake" : "applied", `${type}: ${answer.text}`);
  }
  const pings = payloads.filter(({ name }) => name === "ping").length;
  assert.deepEqual(await counts("all"), { applied: payloads.length - pings, handshake: pings });
  for (const { name, examples } of definitions) {
    if (name === "ping") continue;
    const path = `/api/machines/event/entities/${name}`;
    const entity = await service.expect(200, "GET", path);
    assert.equal(entity.state_version, examples.length + 1, name);
    const history = await service.expect(200, "GET", `${path}/history`);
    assert.deepEqual(
      history.map((row: { event_type: string }) => row.event_type).sort(),
      examples.map(({ action }) => (action === undefined ? name : `${name}.${action}`)).sort(),
    );
  }
});

test("all 329 payloads again are duplicates", async () => {
  const answers = await post("all");
  assert.deepEqual(tally(answers), { duplicate: 325, handshake: 4 });
});

test("of all 329 payloads, a source takes what its table names, and leaves the others unmapped", async () => {
  const rename = {
    "issues.opened": "raise",
    "issues.closed": "settle",
    "pull_request.opened": "raise",
    push: "push",
  };
  await service.register({
    machine_id: "work",
    states: ["open", "closed"],
    initial_state: "open",
    transitions: [
      { from: "open", to: "open", on: "raise" },
      { from: "open", to: "open", on: "push" },
    ],
  });
  await service.expect(201, "PUT", "/api/sources/some", {
    body: {
      machine: "work",
      scheme: { type: "github" },
      secret: "github",
      mapping: { entity_id: "/repository/full_name", rename, only: true },
    },
  });
  const answers = await post("some");
  const expected = payloads.map(({ name, type, body }) => {
    if (name === "ping") return "handshake";
    if (!(type in rename) || body.repository?.full_name === undefined) return "unmapped";
    return type === "issues.closed" ? "no_transition" : "applied";
  });
  for (const [index, answer] of answers.entries()) {
    const wanted = expected[index]!;
    assert.equal(answer.body?.outcome, wanted, `${payloads[index]!.type}: ${answer.text}`);
    assert.equal(answer.status, wanted === "unmapped" ? 202 : 200);
  }
  assert.deepEqual(await counts("some"), tally(answers));
  assert.equal(
    Object.values(await counts("some")).reduce((sum, count) => sum + count, 0),
    329,
  );
});
