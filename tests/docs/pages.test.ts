// The pages under docs/ and the other Markdown files: their commands work when pasted, their examples are what they
// say, and their tables are those of the code.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { open, serve } from "../http/support.ts";
import { blocks, pages, paste, printed, read, steps } from "./markdown.ts";

const service = await serve();

const source = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** The rows of the table under a heading, cells without backticks. */
function table(page: string, heading: string): string[][] {
  const text = read(page);
  const from = text.indexOf(`${heading}\n`);
  assert.notEqual(from, -1, `${page} has a heading ${heading}`);
  const section = text.slice(from + heading.length).split(/^#+ /m)[0] ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.replaceAll("`", "").trim()),
  );
}

/** What `make run` sets. */
const settings = {
  API_KEY: "dev_secret",
  WEBHOOK_ALLOW: "localhost,127.0.0.1,[::1]",
  SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
};

for (const page of pages()) {
  const toPaste = page === "README.md" ? [] : steps(read(page));
  if (toPaste.length === 0) continue;
  test(`${page} works when it is pasted`, { timeout: 120_000 }, async () => {
    const fresh = await open({ settings });
    try {
      const outputs = await paste(page, toPaste, fresh.runtime.url);
      toPaste.forEach((step, index) => printed(step, outputs[index] ?? "", page));
    } finally {
      await fresh.runtime.stop();
    }
  });
}

test("every JSON example is JSON, and every definition among them is valid without warnings", async () => {
  let definitions = 0;
  for (const page of pages()) {
    for (const block of blocks(read(page)).filter(({ language }) => language === "json")) {
      const place = `${page}:${block.line}`;
      let value: unknown;
      assert.doesNotThrow(() => (value = JSON.parse(block.text)), `${place} is no JSON`);
      if (!block.marks.includes("definition")) continue;
      definitions += 1;
      const found = await service.expect(200, "POST", "/api/machines/validate", { body: value });
      assert.deepEqual(found, { valid: true, faults: [], warnings: [] }, place);
      const stored = await service.call("POST", "/api/machines", { body: value, tenant: place });
      assert.equal(stored.status, 201, `${place}: ${stored.text}`);
    }
  }
  assert.ok(definitions >= 5, `${definitions} definitions`);
});

test("docs/http-api.md names every error code, with its status and whether to retry", () => {
  const codes = [...source("src/core/src/code.rs").matchAll(/= "([A-Z_]+)", (\d+), (true|false);/g)];
  assert.ok(codes.length > 10);
  const expected = codes.map(([, code, status, retry]) => [code, status, retry]);
  assert.deepEqual(
    table("docs/http-api.md", "## Errors").map((row) => row.slice(0, 3)),
    expected,
  );
});

test("docs/children.md tells what to do about every error of children", () => {
  const told = new Set(table("docs/children.md", "## Errors").map(([code]) => code));
  for (const code of [
    "TARGET_NOT_ACTIVE",
    "INSTANCE_NOT_ACTIVE",
    "INSTANCE_CONFLICT",
    "INSTANCE_ACTIVE",
    "UNCORRELATED_CHILD_FINAL",
    "NESTING_DEPTH_EXCEEDED",
    "CASCADE_LIMIT",
  ]) {
    assert.ok(told.has(code), code);
  }
});

test("docs/records.md names every error of records, with its status and whether to retry", () => {
  const codes = [...source("src/core/src/code.rs").matchAll(/= "(STATE_[A-Z_]+)", (\d+), (true|false);/g)];
  assert.deepEqual(
    table("docs/records.md", "## Errors").map((row) => row.slice(0, 3)),
    codes.map(([, code, status, retry]) => [code, status, retry]),
  );
});

test("docs/effects.md tells the tries, and operations.md the pauses, that are the code's", () => {
  const settings = source("src/engine/src/settings.rs");
  const listed = /action_retries_ms: vec!\[([^\]]*)\]/.exec(settings)?.[1] ?? "";
  const pauses = [...listed.matchAll(/[\d_]+/g)].map(([text]) => Number(text.replaceAll("_", "")));
  const shown = (ms: number) =>
    ms < 60_000 ? `${ms / 1000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`;
  const [actions, events, presentations] = table("docs/effects.md", "### Tries");
  assert.deepEqual(actions?.slice(3, 5), [`${pauses.length + 1}`, pauses.map(shown).join(", ")]);
  assert.equal(events?.[3], `${pauses.length + 1}`);
  const mark = source("src/engine/src/outbox/mark.rs");
  const between = /PRESENTATION_RETRIES_MS: \[i64; 4\] = \[([^\]]*)\]/.exec(mark)?.[1] ?? "";
  const waits = between.split(",").map((text) => shown(Number(text.replaceAll("_", ""))));
  assert.deepEqual(presentations?.slice(3, 5), ["5, STATE_MAX_ATTEMPTS", waits.join(", ")]);
  const retries = table("docs/operations.md", "## Settings").find(([name]) => name === "ACTION_RETRIES");
  assert.equal(retries?.[1], pauses.map((ms) => ms / 1000).join(","));
});

test("docs/http-api.md names every route and method", async () => {
  const document = await service.expect(200, "GET", "/openapi.json");
  const expected = Object.entries(document.paths as Record<string, object>)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
    .sort();
  const listed = table("docs/http-api.md", "## Routes").map(([route]) => route ?? "");
  assert.deepEqual([...listed].sort(), expected);
  const headings = [...read("docs/http-api.md").matchAll(/^### `([A-Z]+ \/\S+)`$/gm)].map(
    ([, route]) => route,
  );
  assert.deepEqual([...new Set(headings)].sort(), expected, "each has a section of its own");
});

test("docs/http-api.md and docs/children.md say the bounds of the code", () => {
  const constants: [string, string, string][] = [
    ["a body", "src/core/src/request.rs", "MAX_BODY_BYTES: usize = 1024 * 1024;"],
    ["a definition", "src/core/src/definition/mod.rs", "MAX_DEFINITION_BYTES: usize = 256 * 1024;"],
    ["a context", "src/core/src/request.rs", "MAX_CONTEXT_BYTES: usize = 256 * 1024;"],
    ["params", "src/core/src/request.rs", "MAX_PARAMS_BYTES: usize = 64 * 1024;"],
    ["events of a batch", "src/core/src/request.rs", "MAX_BATCH_EVENTS: usize = 1000;"],
    ["guard depth", "src/core/src/definition/mod.rs", "MAX_GUARD_DEPTH: usize = 32;"],
    ["names", "src/core/src/ids.rs", "MAX_NAME_BYTES: usize = 128;"],
    ["an entity id", "src/core/src/ids.rs", "MAX_ENTITY_ID_BYTES: usize = 256;"],
    ["a timestamp", "src/core/src/ids.rs", "MAX_TIMESTAMP: i64 = 1 << 53;"],
    ["limit", "src/engine/src/page.rs", "MAX_LIMIT: u32 = 1000;"],
    ["joins of one step", "src/core/src/joins.rs", "CASCADE_LIMIT: usize = 10;"],
    ["timeouts before one event", "src/core/src/timeouts.rs", "CATCH_UP_LIMIT: usize = 64;"],
    ["the id of a child", "src/core/src/ids.rs", "MAX_CHILD_ID_BYTES: usize = 2048;"],
    ["managed levels below a root", "src/core/src/tree.rs", "DEEPEST_LEVEL: u32 = 8;"],
    ["entities of a tree", "src/core/src/tree.rs", "MOST_ENTITIES: usize = 512;"],
    ["regions of a tree", "src/core/src/tree.rs", "MOST_REGIONS: usize = 16_384;"],
    ["contexts of a tree", "src/engine/src/decide/mod.rs", "MAX_TREE_BYTES: usize = 8 * 1024 * 1024;"],
    ["steps of a target", "src/core/src/request.rs", "MOST_STEPS: usize = DEEPEST_LEVEL as usize;"],
    ["deciding again", "src/engine/src/retry.rs", "PATIENCE_MILLIS: u64 = 10_000;"],
    ["an Idempotency-Key", "src/engine/src/once.rs", "MOST_KEY: usize = 255;"],
    ["an answer that is kept for a key", "src/engine/src/once.rs", "MOST_ANSWER_BYTES: usize = 1_500_000;"],
    ["an address", "src/core/src/address.rs", "MAX_ADDRESS_BYTES: usize = 2048;"],
    ["headers of a webhook", "src/core/src/definition/action.rs", "MAX_HEADERS: usize = 32;"],
    ["headers of a webhook", "src/core/src/definition/action.rs", "MAX_HEADER_BYTES: usize = 8 * 1024;"],
    ["a template", "src/core/src/definition/action.rs", "MAX_TEMPLATE_BYTES: usize = 16 * 1024;"],
    ["what a template comes to", "src/core/src/effect.rs", "MAX_BODY_BYTES: usize = 256 * 1024;"],
    ["events by effects that lead to one another", "src/core/src/effect.rs", "MOST_HOPS: u32 = 16;"],
    ["data of a record", "src/engine/src/settings.rs", 'seconds("STATE_MAX_DATA_BYTES", 65_536, 262_144)'],
    ["a secret", "src/engine/src/secrets.rs", "MAX_SECRET_BYTES: usize = 4096;"],
    ["a source", "src/engine/src/sources.rs", "MAX_SOURCE_BYTES: usize = 64 * 1024;"],
    [
      "secrets, subscriptions and sources of a tenant",
      "src/engine/src/secrets.rs",
      "MOST_SECRETS: usize = 100;",
    ],
    [
      "secrets, subscriptions and sources of a tenant",
      "src/engine/src/subscriptions.rs",
      "MOST_SUBSCRIPTIONS: usize = 100;",
    ],
    [
      "secrets, subscriptions and sources of a tenant",
      "src/engine/src/sources.rs",
      "MOST_SOURCES: usize = 100;",
    ],
    ["a webhook that comes in", "src/core/src/request.rs", "MAX_BODY_BYTES: usize = 1024 * 1024;"],
  ];
  const listed = new Map(table("docs/http-api.md", "## Bounds").map(([what, bound]) => [what, bound]));
  const bounds: Record<string, string> = {
    "a body": "1 MiB",
    "a definition": "256 KiB",
    "a context": "256 KiB",
    params: "64 KiB",
    "events of a batch": "1 to 1,000",
    "guard depth": "32",
    names: "1 to 128 bytes",
    "an entity id": "1 to 256 bytes",
    "a timestamp": "±2^53",
    limit: "1 to 1,000",
    "joins of one step": "10",
    "timeouts before one event": "64",
    "the id of a child": "2,048 bytes",
    "managed levels below a root": "8",
    "entities of a tree": "512",
    "regions of a tree": "16,384",
    "contexts of a tree": "about 8 MiB",
    "steps of a target": "8",
    "deciding again": "10 s",
    "an Idempotency-Key": "1 to 255 printable ASCII characters",
    "an answer that is kept for a key": "1.5 MB",
    "an address": "2,048 bytes",
    "headers of a webhook": "32, and 8 KiB together",
    "a template": "16 KiB",
    "what a template comes to": "256 KiB",
    "events by effects that lead to one another": "16",
    "data of a record": "65,536 bytes, STATE_MAX_DATA_BYTES",
    "a secret": "1 to 4,096 bytes",
    "a source": "64 KiB",
    "secrets, subscriptions and sources of a tenant": "100 each",
    "a webhook that comes in": "1 MiB",
  };
  const ofTrees = new Map(table("docs/children.md", "## Limits").map(([what, bound]) => [what, bound]));
  for (const [what, file, constant] of constants) {
    assert.ok(source(file).includes(constant), `${file}: ${constant}`);
    assert.equal(listed.get(what), bounds[what], what);
    if (ofTrees.has(what)) assert.equal(ofTrees.get(what), bounds[what], `docs/children.md: ${what}`);
  }
});

test("docs/definitions.md names every kind of warning and every operator", () => {
  const kinds = /pub enum WarningKind \{([^}]*)\}/.exec(source("src/core/src/fault.rs"))?.[1] ?? "";
  const expected = [...kinds.matchAll(/^ {4}([A-Z]\w+),$/gm)].map(([, kind = ""]) =>
    kind.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase(),
  );
  assert.ok(expected.length > 5);
  assert.deepEqual(
    table("docs/definitions.md", "## Warnings").map(([kind]) => kind),
    expected,
  );
  const names = /NAMES: \[&'static str; 8\] = \[([^\]]*)\]/.exec(
    source("src/core/src/definition/mod.rs"),
  )?.[1];
  const operators = [...(names ?? "").matchAll(/"(\w+)"/g)].map(([, name]) => name);
  const listed = table("docs/definitions.md", "### Operators").flatMap(([name]) => (name ?? "").split(", "));
  assert.deepEqual(listed.sort(), operators.sort());
});

test("docs/operations.md names every setting of the Worker and of make run", () => {
  const files = ["src/service/src/settings.rs", "src/engine/src/settings.rs", "scripts/run.ts"];
  const names = new Set(
    files.flatMap((file) =>
      [...source(file).matchAll(/(?:text|whole|seconds|variable)\("([A-Z_]+)"|env\["([A-Z_]+)"\]/g)].map(
        (match) => match[1] ?? match[2] ?? "",
      ),
    ),
  );
  assert.ok(names.size >= 20, [...names].join());
  const listed = table("docs/operations.md", "## Settings").map(([name]) => name);
  assert.deepEqual([...listed].sort(), [...names].sort());
});

test("every link to a file or a heading leads somewhere", () => {
  const anchors = (page: string): string[] =>
    [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    );
  for (const page of pages()) {
    const prose = read(page).replaceAll(/^```[^]*?^```$/gm, "");
    for (const [, target = ""] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      assert.ok(existsSync(join(ROOT, file)), `${page}: ${target}`);
      if (anchor !== undefined) assert.ok(anchors(file).includes(anchor), `${page}: ${target}`);
    }
  }
});

/** Every file below a folder. */
function files(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? files(path) : [path];
  });
}

test("ARCHITECTURE.md names files and tests that are there", () => {
  const text = read("ARCHITECTURE.md");
  const named = [...text.matchAll(/`((?:src|tests|scripts|docs)\/[\w./-]+)`/g)].map(([, path = ""]) => path);
  assert.ok(named.length > 20);
  for (const path of named) assert.ok(existsSync(join(ROOT, path)), path);
  const tests = ["src/core", "src/engine", "tests/http"]
    .flatMap(files)
    .filter((path) => /\.(rs|ts)$/.test(path));
  const all = tests.map(source).join("\n");
  const invariants = table("ARCHITECTURE.md", "## Invariants");
  assert.deepEqual(
    invariants.map(([name]) => name),
    ["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10"],
  );
  for (const [name, , where = ""] of invariants) {
    for (const [test] of where.matchAll(/\b[a-z]\w*_\w+\b(?!\.)/g)) {
      assert.ok(all.includes(`fn ${test}(`), `${name}: there is no test ${test}`);
    }
  }
});
