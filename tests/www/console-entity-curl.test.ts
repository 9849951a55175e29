// A request as a command: a shell must send exactly what the page would.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { apiPath, curl } from "../../www/src/console/curl.ts";

/** The words that a shell makes of a command. */
function words(command: string, key: string): string[] {
  const script = command.replace(/^curl /, "printf '%s\\0' ");
  const env = { ...process.env, STATEWRIGHT_KEY: key };
  return execFileSync("sh", ["-c", script], { env, encoding: "utf8" }).split("\0").slice(0, -1);
}

const connection = { url: "https://flows.example/at/", tenant: 'it\'s "mine" $HOME `id`' };

test("a shell sends what the page would, whatever stands in it", () => {
  const body = { event_type: "pay", params: { note: "it's $5; rm -rf / `id` \\ \n 🦆", "'": "'\\''" } };
  const command = curl({
    method: "POST",
    path: apiPath("machines", "a/b?c", "entities", "o'1 [2]", "transition"),
    headers: { "Idempotency-Key": "k 'x'" },
    body,
    connection,
  });
  assert.deepEqual(words(command, "s3 'cret'"), [
    "-sS",
    "-X",
    "POST",
    "https://flows.example/at/api/machines/a%2Fb%3Fc/entities/o'1%20%5B2%5D/transition",
    "-H",
    "Authorization: Bearer s3 'cret'",
    "-H",
    `X-Tenant-Id: ${connection.tenant}`,
    "-H",
    "Idempotency-Key: k 'x'",
    "-H",
    "Content-Type: application/json",
    "--data-raw",
    JSON.stringify(body),
  ]);
});

test("a question has its query, and no body; the key is named and never told", () => {
  const command = curl({
    method: "GET",
    path: apiPath("outbox"),
    query: { machine: "a&b", status: undefined, limit: 5 },
    connection: { url: "http://localhost:3050", tenant: "demo" },
  });
  assert.deepEqual(words(command, "secret"), [
    "-sS",
    "http://localhost:3050/api/outbox?machine=a%26b&limit=5",
    "-H",
    "Authorization: Bearer secret",
    "-H",
    "X-Tenant-Id: demo",
  ]);
  assert.match(command, /\$STATEWRIGHT_KEY/);
});
