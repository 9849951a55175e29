// What a service answers that is not what the API says: each view of the console says so, and none breaks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { answerTo } from "../../www/src/console/answers/answers.ts";
import { order } from "../http/support.ts";
import { refusedWith } from "./console-complaints.ts";
import { goTo, type Opened, quiet, skip, type Stage, stage } from "./support.ts";

/** Why a body is not the answer to a request. */
function misfit(method: string, path: string, body: unknown): string | undefined {
  const known = answerTo(method, path);
  assert(known !== undefined, `${method} ${path} is not known`);
  return known.misfit(body);
}

const machine = {
  ...order,
  content_hash: "h",
  created_at: 1,
  revision: 1,
  tenant_id: "t",
  updated_at: 1,
};
const entity = {
  machine_id: "order",
  entity_id: "o-1",
  tenant_id: "t",
  current_state: "pending",
  region_entries: { _: { state: "pending", seq: 1, entered_at: 1, basis: "created", key: null, row: null } },
  context: {},
  state_version: 1,
  revision: 1,
  created_at: 1,
  updated_at: 1,
};

test("what the API says fits; more than it says does too", () => {
  assert.equal(misfit("GET", "/api/machines", [machine, { ...machine, new_in_some_year: {} }]), undefined);
  const child = { ...entity, parent: { region: "_", state: "pending", seq: 1 } };
  const instance = { depth: 0, path: [], started: 1, status: "active" };
  const tree = { ...entity, current_state: { a: "x", b: "y" }, instance, children: [child] };
  assert.equal(misfit("GET", "/api/machines/order/entities/o-1", tree), undefined);
  const corrupt = { machine_id: "order", entity_id: "o-2", tenant_id: "t" };
  const error = { code: "CORRUPT_INSTANCE", message: "no state", retry: false };
  assert.equal(misfit("GET", "/api/machines/order/entities", [entity, { ...corrupt, error }]), undefined);
});

test("what does not fit is told with its place", () => {
  const says = "The service answered something else than";
  assert.equal(misfit("GET", "/api/machines", {}), `${says} a list of machines: it is not a list`);
  assert.equal(misfit("GET", "/api/machines", [null]), `${says} a list of machines: $[0] is not an object`);
  assert.equal(
    misfit("GET", "/api/machines/order", { ...machine, states: ["a", { id: "b" }] }),
    `${says} a machine: $.states[1] is not a text`,
  );
  const entries = { "main line": { ...entity.region_entries._, seq: "1" } };
  assert.equal(
    misfit("GET", "/api/machines/order/entities/o-1", { ...entity, region_entries: entries }),
    `${says} an entity: $.region_entries["main line"].seq is not a number`,
  );
  const child = { ...entity, context: [] };
  assert.equal(
    misfit("GET", "/api/machines/order/entities/o-1", { ...entity, children: [child] }),
    `${says} an entity: $.children[0].context is not an object`,
  );
  // What every object has is not what the answer has.
  assert.match(
    misfit("GET", "/api/scheduler", Object.create({ failing: [] })) ?? "",
    /\$\.failing is not a list/,
  );
});

test("routes are told apart whatever their parts are called", () => {
  assert.match(misfit("POST", "/api/machines/validate", null) ?? "", /what it found in the definition/);
  assert.match(misfit("GET", "/api/machines/validate", null) ?? "", /a machine:/);
  assert.match(misfit("GET", "/api/machines/entities/entities", null) ?? "", /a list of entities/);
  assert.equal(answerTo("DELETE", "/api/machines/order"), undefined);
  assert.equal(answerTo("GET", "/api/machines/order/diagram"), undefined);
});

let on: Stage;
let opened: Opened;
/** What is answered in place of the service. */
let stranger: { readonly body: string; readonly type: string; readonly status: number } | undefined;
let asked = 0;

if (skip === false) {
  on = await stage();
  await on.service.register(order);
  await on.service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "o-1" } });
  opened = await on.open();
  await on.signIn(opened.page);
  await opened.page.route("**/api/**", (route) => {
    asked += 1;
    if (stranger === undefined) return route.continue();
    return route.fulfill({ status: stranger.status, contentType: stranger.type, body: stranger.body });
  });
}

const VIEWS = [
  "machines",
  "machines/order",
  "machines/order/definition",
  "machines/order/revisions",
  "machines/order/entities",
  "machines/order/edit",
  "entity/order/o-1",
  "entity/order/o-1/history",
  "entity/order/o-1/timers",
  "entity/order/o-1/tree",
  "entity/order/o-1/outbox",
  "entity/order/o-1/receipts?key=k",
  "outbox",
  "scheduler",
  "sources",
  "sources/s-1",
];

/** Every view says so, and asks no more than a view does. */
async function refusesAll(
  body: string,
  { code = "BAD_ANSWER", type = "application/json", status = 200, views = VIEWS } = {},
) {
  const { page } = opened;
  stranger = { body, type, status };
  for (const view of views) {
    asked = 0;
    await goTo(page, `#/console/${view}`);
    await page.getByRole("main").getByRole("alert").getByText(code, { exact: true }).first().waitFor();
    assert(asked <= 12, `${view} asked ${asked} times`);
    // Away, so that the next one begins without what was read before.
    await goTo(page, "#/console/nowhere");
    await page.getByRole("heading", { name: "Nothing here" }).waitFor();
  }
  stranger = undefined;
  await goTo(page, "#/console/entity/order/o-1");
  await page.getByRole("group", { name: "pending" }).or(page.getByText("pending")).first().waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  quiet(opened);
}

for (const body of ["null", "{}", "[[]]"]) {
  test(`a service that answers \`${body}\` is told of in every view, and breaks none`, { skip }, async () => {
    await refusesAll(body);
  });
}

test("texts, a proxy's page and answers without a body are told of as well", { skip }, async () => {
  const views = ["machines", "entity/order/o-1/history", "outbox"];
  await refusesAll("null, in words", { type: "text/plain", views });
  await refusesAll("<h1>It works</h1>", { code: "UNKNOWN_ANSWER", type: "text/html", views });
  await refusesAll("", { status: 204, views });
});

test("what was done by an answer that cannot be read is not taken for done", { skip }, async () => {
  const { page } = opened;
  await goTo(page, "#/console/look-up?key=k");
  stranger = { body: '[{"scope":"POST"}]', type: "application/json", status: 200 };
  await page.getByRole("button", { name: /receipts/i }).click();
  await page.getByRole("alert").getByText("$[0].at is not a number").waitFor();
  stranger = undefined;
  await page.getByRole("button", { name: /receipts/i }).click();
  await page.getByText("Nothing is kept").waitFor();
  refusedWith(opened, 404);
  quiet(opened);
});

test("who signs in to something else is told so", { skip }, async () => {
  const other = await on.open("#/console");
  const { page } = other;
  await page.route("**/api/machines?*", (route) => route.fulfill({ json: { hello: "world" } }));
  await page.getByLabel("Address").fill(on.url);
  await page.getByLabel("Tenant").fill("t1");
  await page.getByLabel("API key").fill("test-key");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("something else than a list of machines").waitFor();
  quiet(other);
  await other.context.close();
});
