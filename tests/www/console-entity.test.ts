// One entity in the console, over the real service: what its operator does, and what he sees.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { KEY, wheel } from "../http/support.ts";
import { make, openBundle, park, send, stock } from "./console-entity-stock.ts";
import { goTo, type Opened, quiet, skip, type Stage, stage } from "./support.ts";

let on: Stage;
let opened: Opened;
let page: Page;

if (skip === false) {
  on = await stage();
  await stock(on.service);
  opened = await on.open("", { permissions: ["clipboard-read", "clipboard-write"] });
  page = opened.page;
  await on.signIn(page);
}

/** Goes to an entity, or to a section of its view. */
async function visit(machine: string, entity: string, section?: string): Promise<void> {
  const path = ["console", "entity", machine, entity, ...(section === undefined ? [] : [section])];
  await goTo(page, `#/${path.map(encodeURIComponent).join("/")}`);
  await page.getByRole("heading", { level: 1, name: entity, exact: true }).waitFor();
}

const panel = () => page.getByRole("region", { name: "Send an event" });
const button = (name: string | RegExp) => page.getByRole("button", { name });
const tab = (name: string) => page.getByRole("tab", { name, exact: true }).click();
const shows = (text: string | RegExp) => page.getByText(text).first().waitFor();
/** The question that is asked before something is done. */
const question = (name: string | RegExp) => page.getByRole("dialog", { name });

async function entityOf(machine: string, entity: string): Promise<any> {
  return on.service.expect(200, "GET", `/api/machines/${machine}/entities/${encodeURIComponent(entity)}`);
}

test("an entity shows where it is, how it came there, and what became of each event", { skip }, async () => {
  await make(on.service, "order", "o-1", { customer: "Ada", country: "PT" });
  await send(on.service, "order", "o-1", { event_type: "pack", timestamp: 1600 });
  await send(on.service, "order", "o-1", { event_type: "pay", params: { amount: 25 }, timestamp: 1700 });
  await visit("order", "o-1");
  await page.getByRole("img", { name: /^paid, region payment, current/ }).waitFor();
  await page.getByRole("img", { name: /^ready, region goods, current/ }).waitFor();
  await page.getByText("Version3", { exact: true }).waitFor();

  await tab("History");
  assert.match(page.url(), /\/entity\/order\/o-1\/history$/);
  const rows = page.getByRole("list", { name: "History, the newest first" });
  await rows.getByText("packed → ready").waitFor();
  const text = (await rows.innerText()).replaceAll(/\s+/g, " ");
  // The newest commit first; in it, what set it off before what came of that.
  assert.match(text, /open → paid event pay .*packed → ready join: .*picking → packed event pack/);
  assert.match(text, /Event order_paid to shipment/);
  await rows.getByText(/^Row/).first().click();
  await rows.getByText('["evt","pay",1700]').first().waitFor();
  await rows
    .getByRole("link", { name: /What became of it/ })
    .first()
    .click();

  const receipt = page.getByRole("article", { name: "Receipt" });
  await receipt.getByText("applied").waitFor();
  await receipt.getByRole("button").click();
  const effect = question("transition to shipment/s-o-1");
  await effect.getByText("there is no machine `shipment`").first().waitFor();
  await effect.getByRole("button", { name: "Close" }).click();

  await tab("Context");
  await page.getByRole("region", { name: "Context" }).getByText('"customer": "Ada"').waitFor();
});

test("an event that was applied before is told as such", { skip }, async () => {
  await make(on.service, "order", "o-6");
  const params = { amount: 25, country: "PT" };
  await send(on.service, "order", "o-6", { event_type: "pay", params, timestamp: 1700 });
  await visit("order", "o-6");
  await page.getByRole("radio", { name: "Another event" }).check();
  await page.getByLabel("Event type").fill("pay");
  await page.getByLabel("amount", { exact: true }).fill("25");
  await page.getByLabel("country", { exact: true }).fill("PT");
  await page.getByText("Version and timestamp").click();
  await page.getByLabel("Timestamp").fill("1700");
  await page.keyboard.press("Enter");
  await shows("would be a duplicate");
  await button("Send it all the same").click();
  await panel().getByText("duplicate", { exact: true }).waitFor();
  assert.equal((await entityOf("order", "o-6")).state_version, 2);
});

test("a tree leads from the root to its children and back, with their timers", { skip }, async () => {
  await openBundle(on.service, "run-1");
  await visit("bundle", "run-1", "tree");
  await shows("2 entities below it");
  await page.getByRole("tabpanel").getByRole("link", { name: "run-1::sub::ret_b1", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "run-1::sub::ret_b1" }).waitFor();
  await tab("Timers");
  await shows(/^in 13 d 23 h$/);
  await tab("Tree");
  await page.getByRole("region", { name: "Above it" }).getByText("bundle, in b1: ret_b1").waitFor();
  await page.getByRole("definition").getByRole("link", { name: "run-1", exact: true }).click();
  await tab("Timers");
  await page
    .getByRole("region", { name: "Timers below it" })
    .getByText(/^in 13 d/)
    .first()
    .waitFor();
});

test("a long history is read page by page, the newest first", { skip }, async () => {
  await on.service.register(wheel);
  const events = Array.from({ length: 120 }, (_, turn) => ({
    event_type: "turn",
    entity_key: "id",
    timestamp: turn,
    params: { id: "w-1" },
  }));
  await on.service.expect(200, "POST", "/api/machines/wheel/evaluate/batch", { body: { events } });
  await visit("wheel", "w-1", "history");
  const rows = page.getByRole("list", { name: "History, the newest first" }).getByText(/^Row \d+$/);
  await shows("50 rows.");
  assert.equal(await rows.count(), 50);
  const newest = Number((await rows.first().innerText()).slice(4));
  await button("Show older rows").click();
  await shows("100 rows.");
  await button("Show older rows").click();
  await shows("120 rows, to its beginning.");
  assert.equal(await button("Show older rows").count(), 0);
  assert.equal(Number((await rows.last().innerText()).slice(4)), newest - 119);
});

test("an event is explained with the values seen, foreseen, and then sent once", { skip }, async () => {
  await make(on.service, "order", "o-2");
  await visit("order", "o-2");
  await page.getByRole("radio", { name: /^pay/ }).check();
  assert.equal(await button(/^Send/).count(), 0);
  await page.getByLabel("amount", { exact: true }).fill("5");
  await button("Check what it would do").click();
  await shows("It would not move");
  const clauses = panel().getByRole("table");
  await clauses.getByRole("row", { name: "amount ≥ 10 5 in the params" }).waitFor();
  await clauses.getByRole("row", { name: 'country = "PT" nothing' }).waitFor();
  await button("Send it all the same").waitFor();

  await page.getByLabel("amount", { exact: true }).fill("12");
  await page.getByLabel("country", { exact: true }).fill("PT");
  // What was asked is not what stands there any more.
  await panel().getByText("It would not move").waitFor({ state: "detached" });
  await button("Check what it would do").click();
  await shows("It would move: payment: open → paid");
  await shows("would be applied");
  await panel().getByText("Event order_paid to shipment").waitFor();
  assert.equal((await entityOf("order", "o-2")).state_version, 1);

  await button("Copy send as curl").click();
  await shows("Copied.");
  const command = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(command, /\$STATEWRIGHT_KEY/);
  assert.doesNotMatch(command, new RegExp(KEY));
  const [, key] = /Idempotency-Key: (console-[0-9a-f]+)/.exec(command) ?? [];
  assert.match(command, /"event_type":"pay","params":\{"amount":12,"country":"PT"\},.*"expected_version":1/);

  await button("Send pay").dblclick();
  await shows("Sent: pay");
  await panel().getByText("applied", { exact: true }).waitFor();
  const history = await on.service.expect(200, "GET", "/api/machines/order/entities/o-2/history");
  assert.equal(history.length, 1);
  // The page has read the entity again by itself.
  await page.getByText("Version2", { exact: true }).waitFor();
  await panel()
    .getByRole("link", { name: key ?? "none" })
    .click();
  await page
    .getByRole("article", { name: "Receipt" })
    .getByText("applied, answered with 200, version 2")
    .waitFor();
});

test(
  "a child's event goes to it by its target, and an event that is typed to whom one likes",
  { skip },
  async () => {
    await openBundle(on.service, "run-2");
    await visit("bundle", "run-2");
    await page.getByRole("radio", { name: /^return\.buyer\.observed/ }).check();
    await button("Check what it would do").click();
    await panel()
      .getByText("settle run-2::sub::ret_b1::sub::settling completed; its parent went to returned")
      .waitFor();
    await button("Send return.buyer.observed").click();
    await shows("Sent: return.buyer.observed");
    assert.equal((await entityOf("return_case", "run-2::sub::ret_b1")).current_state.case, "returned");

    await page.getByRole("radio", { name: "Another event" }).check();
    await page.getByLabel("Event type").fill("decision.refuse");
    await page
      .getByLabel("For", { exact: true })
      .selectOption({ label: "b1/ret_b1 (return_case run-2::sub::ret_b1)" });
    await button("Explain only").click();
    await shows("only from opened; case is in returned");
    assert.equal(await button(/^Send/).count(), 0);
  },
);

test("a version that has passed refuses the event with the service's words", { skip }, async () => {
  await make(on.service, "order", "o-3");
  await visit("order", "o-3");
  await page.getByRole("radio", { name: /^pack/ }).check();
  await button("Check what it would do").click();
  await shows("would be applied");
  await button("Pause live refresh").click();
  await send(on.service, "order", "o-3", { event_type: "pay", params: { amount: 99, country: "PT" } });
  await button("Send pack").click();
  const alert = panel().getByRole("alert");
  await alert.getByText("VERSION_CONFLICT").waitFor();
  await alert.getByText("the entity is at version 2, not at 1").waitFor();
  await button("Resume live refresh").click();
  await page.getByText("Version2", { exact: true }).waitFor();
  await button("Check again").click();
  await button("Send pack").click();
  await shows("Sent: pack");
});

test("an event whose answer was lost is sent again, and applied once", { skip }, async () => {
  await make(on.service, "order", "o-7");
  await visit("order", "o-7");
  await page.getByRole("radio", { name: /^pack/ }).check();
  await page.getByLabel("Only if it is still at the version seen").uncheck();
  await button("Check what it would do").click();
  await shows("would be applied");
  await page.route("**/transition", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await button("Send pack").click();
  const alert = panel().getByRole("alert");
  await alert.getByText("NO_ANSWER").waitFor();
  await shows("Sending it again is safe");
  await page.unroute("**/transition");
  await button("Send again").click();
  await panel().getByText("applied", { exact: true }).waitFor();
  const history = await on.service.expect(200, "GET", "/api/machines/order/entities/o-7/history");
  assert.equal(history.length, 1);
});

test(
  "effects are called off and sent again, parked timers released, each after one question",
  { skip },
  async () => {
    await make(on.service, "order", "o-4");
    await send(on.service, "order", "o-4", { event_type: "pay", params: { amount: 99, country: "PT" } });
    await visit("order", "o-4", "outbox");
    const table = page.getByRole("region", { name: "Outbox rows of the entity" });
    await table.getByText("pending").waitFor();
    await table.getByRole("button", { name: "Cancel" }).click();
    await question("Cancel the effect?").getByRole("button", { name: "Leave it" }).click();
    await table.getByRole("button", { name: "Cancel" }).click();
    await question("Cancel the effect?").getByRole("button", { name: "Cancel the effect" }).click();
    await table.getByText("cancelled").waitFor();
    await page.getByLabel("Status").selectOption("pending");
    await shows("Nothing is pending.");
    await page.getByLabel("Status").selectOption("cancelled");
    await table.getByRole("button", { name: "Redrive" }).click();
    await question("Redrive the effect?").getByRole("button", { name: "Redrive" }).click();
    await shows("Nothing is cancelled.");

    await park(on.service, "p-1");
    await visit("parking", "p-1", "timers");
    await shows("NOT_FOUND: there is no machine `nowhere`");
    await button("Release parked timers").click();
    await question("Release 1 parked timer?").getByRole("button", { name: "Release" }).click();
    await shows("Released 1 timer");
  },
);

test("a deletion says what goes with the entity and what stays", { skip }, async () => {
  await openBundle(on.service, "run-3");
  await visit("bundle", "run-3");
  await button("Delete").click();
  const asked = question("Delete run-3?");
  await asked.getByText("and 2 entities below it with theirs").waitFor();
  await asked.getByText("Its outbox rows stay; none of them waits to be sent.").waitFor();
  await asked.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { level: 1, name: "bundle" }).waitFor();
  assert.equal((await on.service.call("GET", "/api/machines/bundle/entities/run-3")).status, 404);

  // A live child is refused, in the service's words.
  await openBundle(on.service, "run-4");
  await visit("return_case", "run-4::sub::ret_b1");
  await button("Delete").click();
  await question(/^Delete/)
    .getByRole("button", { name: "Delete" })
    .click();
  await shows("INSTANCE_ACTIVE");
});

test("what cannot be read says so, and what is still known of it shows", { skip }, async () => {
  await make(on.service, "order", "o-5");
  await send(on.service, "order", "o-5", { event_type: "pack" });
  await on.service.runtime.sql(
    "UPDATE entities SET context = 'no json', state_version = state_version + 1 WHERE entity_id = 'o-5'",
  );
  await visit("order", "o-5");
  await shows("What is stored of this entity cannot be read");
  await shows("CORRUPT_INSTANCE");
  await shows("picking → packed");
  assert.equal(await button("Open in simulator").isDisabled(), true);

  await visit("order", "nobody");
  await shows("There is no such entity");
  await shows("machine `order` has no entity `nobody`");
  assert.equal(await button("Delete").count(), 0);
});

test("hostile names and values are text", { skip }, async () => {
  const name = "<img src=x onerror=alert(1)>";
  const context = JSON.parse(
    `{"__proto__":{"a":"<script>alert(1)</script>"},"constructor":"${"x".repeat(5000)}"}`,
  ) as object;
  await make(on.service, "order", name, context);
  await visit("order", name, "context");
  await page.getByRole("region", { name: "Context" }).getByText("<script>alert(1)</script>").waitFor();
  assert.equal(await page.locator("main img").count(), 0);
  const long = "o::".repeat(80);
  await make(on.service, "order", long, { note: "x".repeat(3000) });
  await page.setViewportSize({ width: 360, height: 800 });
  for (const entity of [name, long]) {
    for (const section of ["diagram", "history", "timers", "context", "tree", "outbox", "receipts"]) {
      await visit("order", entity, section);
      const widths = await page.evaluate(() => {
        const view = globalThis.document.querySelector(".con-view");
        return [view?.scrollWidth, view?.clientWidth, globalThis.document.documentElement.scrollWidth];
      });
      assert.deepEqual(widths, [360, 360, 360], section);
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("the page had nothing to complain of", { skip }, () => {
  // The browser complains of refusals, which the tests asked for.
  const unasked = opened.complaints.filter((text) => !/status of (404|409|500)|net::ERR_FAILED/.test(text));
  quiet({ ...opened, complaints: unasked });
});
