// The entities of a machine in the console: searched, paged, made; and the ways to one that is known by name.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { type Filters, queryOf, readFilters, writeFilters } from "../../www/src/console/entities/filters.ts";
import { readPlace } from "../../www/src/console/place-reading.ts";
import { order } from "../http/support.ts";
import { refusedWith } from "./console-complaints.ts";
import { goTo, type Opened, quiet, skip, type Stage, stage, writeOver } from "./support.ts";

const lane = {
  machine_id: "lane",
  regions: [
    { id: "a/b", states: ["left", "right"], initial_state: "left" },
    { id: "lamp", states: ["off", "left"], initial_state: "off" },
  ],
  transitions: [
    { region: "a/b", from: "left", to: "right", on: "go" },
    { region: "lamp", from: "off", to: "left", on: "blink" },
  ],
};

let on: Stage;
let opened: Opened;
let page: Page;

if (skip === false) {
  on = await stage();
  const { service } = on;
  await service.register(order);
  await service.register(lane);
  const events = Array.from({ length: 120 }, (_, at) => {
    const id = `o-${String(at).padStart(3, "0")}`;
    return { event_type: at % 40 === 0 ? "pay" : "look", entity_key: "id", params: { id, amount: 1 } };
  });
  await service.expect(200, "POST", "/api/machines/order/evaluate/batch", { body: { events } });
  const go = [
    { event_type: "go", entity_key: "id", params: { id: "l-1" } },
    { event_type: "look", entity_key: "id", params: { id: "l-2" } },
  ];
  await service.expect(200, "POST", "/api/machines/lane/evaluate/batch", { body: { events: go } });
  opened = await on.open();
  page = opened.page;
  await on.signIn(page);
}

async function visit(fragment: string): Promise<void> {
  await goTo(page, `#/console/${fragment}`);
}

const links = () => page.getByRole("table").getByRole("link");
const shown = async () => (await links().allInnerTexts()).join(" ");
const tally = (text: string) => page.getByRole("status").filter({ hasText: text }).waitFor();

test("filters are what a fragment says, and what the service is asked", () => {
  const filters: Filters = {
    prefix: "a/b?c&d=%",
    place: { region: "x y", state: "#+☃" },
    age: { is: "within", seconds: 60 },
  };
  const fragment = `#/console/machines/m%3Fn/entities?${writeFilters(filters)}`;
  const place = readPlace(fragment);
  assert.deepEqual(place.path, ["machines", "m?n", "entities"]);
  assert.deepEqual(readFilters(place.filters), filters);
  assert.deepEqual(queryOf(filters, 100_000), {
    prefix: "a/b?c&d=%",
    region: "x y",
    state: "#+☃",
    updated_since: 40_000,
  });
  const idle = readFilters(new URLSearchParams("state=open&idle=3600"));
  assert.deepEqual(queryOf(idle, 3_600_001), { state: "open", updated_before: 1 });
  for (const nonsense of ["", "within=", "within=-1", "idle=1e999", "within=a&idle=1.5"]) {
    assert.deepEqual(queryOf(readFilters(new URLSearchParams(nonsense)), 5), {}, nonsense);
  }
  assert.deepEqual(readPlace("#/console/%E0%A4%A/x").path, ["%E0%A4%A", "x"]);
});

test("a list goes on where its page ends", { skip }, async () => {
  await visit("machines/order/entities");
  await tally("The first 50 are shown.");
  assert.equal(await links().count(), 50);
  await page.getByRole("button", { name: "Load more" }).click();
  await tally("The first 100 are shown.");
  await page.getByRole("button", { name: "Load more" }).click();
  await tally("120 entities");
  assert.equal(await links().count(), 120);
  assert.equal(await page.getByRole("button", { name: "Load more" }).count(), 0);
  quiet(opened);
});

test("search by id, state and age; the address keeps it", { skip }, async () => {
  await visit("machines");
  await page.getByRole("link", { name: "order", exact: true }).waitFor();
  await visit("machines/order/entities");
  await page.getByLabel("Id starts with").fill("o-04");
  await tally("10 entities");
  // Both at once: what is typed is not forgotten for what is chosen, nor the other way round.
  await page.getByLabel("Id starts with").pressSequentially("0");
  await page.getByLabel("State", { exact: true }).selectOption("paid");
  await page.waitForURL(/\?state=paid&prefix=o-040$/);
  await tally("1 entity");
  await page.getByLabel("Id starts with").fill("o-04");
  assert.equal(await shown(), "o-040");
  await page.getByLabel("Age").selectOption("Written in the last 1 h");
  await page.waitForURL(/\?state=paid&prefix=o-04&within=3600$/);
  await tally("1 entity");
  await page.getByLabel("Age").selectOption("Not written for 1 h");
  await page.getByText("No entity fits these filters.").waitFor();
  await page.getByRole("button", { name: "Clear" }).click();
  await tally("The first 50 are shown.");
  assert.equal(await page.getByLabel("Id starts with").inputValue(), "");
  // As a link that somebody sent.
  await visit("machines/order/entities?state=paid&within=1234");
  await tally("3 entities");
  assert.equal(await shown(), "o-000 o-040 o-080");
  assert.equal(
    await page.getByLabel("Age").locator("option:checked").innerText(),
    "Written in the last 20 min 34 s",
  );
  quiet(opened);
});

test("a parallel machine's entities by region and state", { skip }, async () => {
  await visit("machines/lane/entities");
  await tally("2 entities");
  const states = page
    .getByRole("row")
    .filter({ hasText: "l-1" })
    .getByTitle(/^(a\/b|lamp): /);
  assert.deepEqual(await states.evaluateAll((all) => all.map((one) => one.getAttribute("title"))), [
    "a/b: right",
    "lamp: off",
  ]);
  await page.getByLabel("Region and state").selectOption("a/b: left");
  await tally("1 entity");
  assert.equal(await shown(), "l-2");
  await page.reload();
  assert.match(page.url(), /\?region=a%2Fb&state=left$/);
  await on.signIn(page);
  quiet(opened);
});

test("an entity is made with a context, and shown", { skip }, async () => {
  await visit("machines/lane/entities");
  await page.getByRole("button", { name: "Create an entity" }).click();
  const dialog = page.getByRole("dialog", { name: "Create an entity" });
  await dialog.getByLabel("Id").fill("l-1");
  const write = async (text: string) => {
    await writeOver(dialog.getByRole("textbox", { name: "Context" }), text);
  };
  await write("[]");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.getByText("the context is no JSON object").waitFor();
  await write('{"who": "c-9"}');
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.getByText("CONFLICT").waitFor();
  refusedWith(opened, 409);
  await dialog.getByLabel("Id").fill("new/one");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "new/one" }).waitFor();
  const made = await on.service.expect(200, "GET", "/api/machines/lane/entities/new%2Fone");
  assert.deepEqual(made.context, { who: "c-9" });
  quiet(opened);
});

test("an entity that cannot be read hides no other, and says why", { skip }, async () => {
  await on.service.runtime.sql(
    "UPDATE entities SET context = 'no json', state_version = state_version + 1 WHERE entity_id = 'l-2'",
  );
  await visit("machines/lane/entities?prefix=l-");
  const row = page.getByRole("row").filter({ hasText: "l-2" });
  await row.getByText("CORRUPT_INSTANCE").waitFor();
  const { body } = await on.service.call("GET", "/api/machines/lane/entities/l-2");
  await row.getByText(body.error.message).waitFor();
  await page.getByRole("row").filter({ hasText: "l-1" }).getByText("right").waitFor();
  quiet(opened);
});

test("an entity and a request are looked up by their names", { skip }, async () => {
  const sent = { body: { event_type: "ship" }, headers: { "idempotency-key": "ship o-040" } };
  await on.service.expect(200, "POST", "/api/machines/order/entities/o-040/transition", sent);
  await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Look up" }).click();
  await page.getByLabel("Idempotency-Key").fill("ship o-040");
  await page.getByRole("button", { name: "Show its receipts" }).click();
  const receipt = page.getByRole("article", { name: "Receipt" });
  await receipt.getByText("applied").first().waitFor();
  assert.match(page.url(), /#\/console\/look-up\?key=ship\+o-040$/);
  await page.getByLabel("Idempotency-Key").fill("never sent");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing is kept for never sent").waitFor();
  refusedWith(opened, 404);
  await page.getByLabel("Machine", { exact: true }).selectOption("order");
  await page.getByLabel("Entity id").fill("o-040");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "o-040" }).waitFor();
  assert.match(page.url(), /#\/console\/entity\/order\/o-040$/);
  quiet(opened);
});
