// schemathesis makes requests of all kinds from /openapi.json; nothing may fail inside, and every answer must be as
// the document says (I10).

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { KEY, order, serve } from "./support.ts";

const VENV = join(ROOT, "target", "venv", "bin");
const skip = existsSync(join(VENV, "schemathesis")) ? false : "there is no Python to run it with";

function run(command: string, args: string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((done, failed) => {
    const child = spawn(command, args, { cwd: join(ROOT, "target"), stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (part: Buffer) => (output += part.toString()));
    child.stderr.on("data", (part: Buffer) => (output += part.toString()));
    child.once("error", failed);
    child.once("close", (code) => done({ code, output }));
  });
}

test("the document is valid", { skip }, async () => {
  const service = await serve();
  const document = await service.call("GET", "/openapi.json");
  const file = join(ROOT, "target", "openapi.json");
  writeFileSync(file, document.text);
  const { code, output } = await run(join(VENV, "openapi-spec-validator"), [file]);
  assert.equal(code, 0, output);
});

/** Without it, keeping secrets is refused with 503, as it should be. */
const settings = { SECRETS_KEY: Buffer.alloc(32, 7).toString("base64") };

const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
].join(",");

function schemathesis(url: string, args: string[]): Promise<{ code: number | null; output: string }> {
  const key = `Authorization: Bearer ${KEY}`;
  const common = [
    "--header",
    key,
    "--checks",
    CHECKS,
    "--no-color",
    "--generation-deterministic",
    "--max-examples",
    "60",
  ];
  return run(join(VENV, "schemathesis"), [...args, "run", `${url}/openapi.json`, ...common]);
}

/** The part of the report that says how much was tried. */
function summary(output: string): string {
  return output.slice(Math.max(0, output.indexOf("= SUMMARY ="))).replaceAll(/^/gm, "# ");
}

test(
  "no request made from the document fails inside, and answers are as it says",
  { skip, timeout: 300_000 },
  async () => {
    const service = await serve({ settings });
    await service.register(order);
    await service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "o-1" } });
    const { code, output } = await schemathesis(service.runtime.url, []);
    console.log(summary(output));
    assert.equal(code, 0, output);
  },
);

test("nor do requests for a machine and an entity that are there", { skip, timeout: 300_000 }, async () => {
  const service = await serve({ settings });
  // With a child, so that answers tell of one.
  await service.register({
    machine_id: "item",
    states: ["open", "closed"],
    initial_state: "open",
    transitions: [{ from: "open", to: "closed", on: "close" }],
  });
  const sub_machines = {
    pending: { machine_id: "item", lifecycle: "managed", on_final: { closed: "paid" } },
  };
  await service.register({ ...order, sub_machines });
  await service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "o-1" } });
  const config = join(ROOT, "tests", "http", "schemathesis.toml");
  const { code, output } = await schemathesis(service.runtime.url, ["--config-file", config]);
  console.log(summary(output));
  assert.equal(code, 0, output);
});
