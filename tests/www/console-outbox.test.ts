// The outbox in the console, over the real service and a receiver that refuses: what its operator does, and what he sees.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ANY,
  type Filters,
  queryOf,
  readFilters,
  writeFilters,
} from "../../www/src/console/outbox/filters.ts";
import { sweep, tally } from "../../www/src/console/outbox/sweep.ts";
import { delivered, outbox, type Sink } from "../http/sink.ts";
import { KEY } from "../http/support.ts";
import { refusedWith } from "./console-complaints.ts";
import { receiver, settingsFor, stock, turned } from "./console-outbox-stock.ts";
import { goTo, type Opened, quiet, skip, type Stage, stage } from "./support.ts";
import type { Page } from "playwright-core";

test("filters are what a fragment says, and what the service is asked", () => {
  const filters: Filters = {
    status: "dead",
    machine: "a/b?c&d=%",
    entity: "__proto__",
    age: { is: "older", seconds: 60 },
  };
  assert.deepEqual(readFilters(new URLSearchParams(writeFilters(filters).toString())), filters);
  assert.deepEqual(queryOf(filters, 100_000), {
    status: "dead",
    machine: "a/b?c&d=%",
    entity: "__proto__",
    older_than: 40_000,
  });
  const newer = readFilters(new URLSearchParams("newer=3600"));
  assert.deepEqual(queryOf(newer, 3_600_001), { newer_than: 1 });
  for (const nonsense of [
    "",
    "status=constructor",
    "older=-1",
    "newer=1e999",
    "older=1.5&newer=x",
    "machine=",
  ])
    assert.deepEqual(readFilters(new URLSearchParams(nonsense)), ANY, nonsense);
});

test("many are counted over all pages, empty ones too, and no further than a bound", async () => {
  const item = { created_at: 5, phase: null };
  async function* pages(...sizes: number[]) {
    for (const size of sizes) yield { items: Array.from({ length: size }, () => item) };
  }
  assert.deepEqual(await tally(pages()), { count: 0, more: false, claimed: 0, newest: undefined });
  assert.deepEqual(await tally(pages(0, 2, 0, 1)), { count: 3, more: false, claimed: 0, newest: 5 });
  const exact = await tally(pages(...Array<number>(10).fill(1000)));
  assert.deepEqual([exact.count, exact.more], [10_000, false]);
  const over = await tally(pages(...Array<number>(11).fill(1000)));
  assert.deepEqual([over.count, over.more, over.newest], [10_000, true, undefined]);
  assert.equal((await tally(pages(...Array<number>(100).fill(0)))).more, true);
  async function* mixed() {
    yield { items: [item, { created_at: 9, phase: "claimed" }, { created_at: 7, phase: "due" }] };
  }
  assert.deepEqual(await tally(mixed()), { count: 3, more: false, claimed: 1, newest: 9 });
});

test("many are changed call by call; what was done before a failure is known", async () => {
  const asked: (string | undefined)[] = [];
  const told: number[] = [];
  const answers = [
    { changed: 1000, cursor: "one" },
    { changed: 0, cursor: "two" },
    { changed: 7, cursor: undefined },
  ];
  const changed = await sweep(
    async (cursor) => {
      asked.push(cursor);
      return answers[asked.length - 1] ?? assert.fail("it goes on");
    },
    (so) => told.push(so),
  );
  assert.deepEqual([changed, asked, told], [1007, [undefined, "one", "two"], [1000, 1000, 1007]]);
  told.length = 0;
  const failing = sweep(
    async (cursor) => {
      if (cursor !== undefined) throw new Error("away");
      return { changed: 5, cursor: "on" };
    },
    (so) => told.push(so),
  );
  await assert.rejects(failing, /away/);
  assert.deepEqual(told, [5]);
});

let sink: Sink;
let on: Stage;
let opened: Opened;
let page: Page;

if (skip === false) {
  sink = await receiver();
  on = await stage({ settings: settingsFor(sink) });
  await stock(on.service, sink);
  await turned(on.service, "fine-1", "done");
  for (const id of ["refused-1", "refused-2", "refused-3"]) await turned(on.service, id, "dead");
  await turned(on.service, "later-1", "pending");
  opened = await on.open("", { permissions: ["clipboard-read", "clipboard-write"] });
  page = opened.page;
  await on.signIn(page);
}

async function visit(filters = ""): Promise<void> {
  await goTo(page, `#/console/outbox${filters}`);
  await page.getByRole("heading", { level: 1, name: "Outbox" }).waitFor();
}

const effects = () => page.getByRole("region", { name: "Effects" }).getByRole("row");
/** The row of an entity's effect. */
const effectOf = (entity: string) =>
  effects().filter({ has: page.getByRole("link", { name: entity, exact: true }) });
const counts = () => page.getByRole("group", { name: "Status" });
const count = (name: RegExp) => counts().getByRole("button", { name });
const question = (name: string | RegExp) => page.getByRole("dialog", { name });
const button = (name: string | RegExp) => page.getByRole("button", { name });
const shown = (entities: number) =>
  page
    .getByRole("status")
    .getByText(new RegExp(`^${entities} effects?\\b`))
    .waitFor();

/** Lets the scanner send what is due, until an effect is done; the page reads it again. */
async function sent(entity: string): Promise<void> {
  await delivered(
    on.service,
    `the effect of ${entity} is done`,
    async () => (await statusOf(entity)) === "done",
  );
  await button("Refresh now").click();
  await effectOf(entity).getByText("done").waitFor();
}

async function statusOf(entity: string): Promise<string | undefined> {
  return (await outbox(on.service, `&entity=${entity}`))[0]?.status;
}

test("the outbox counts by status, and says why effects are dead", { skip }, async () => {
  await visit();
  await count(/^1 pending/).waitFor();
  await count(/^3 dead/).waitFor();
  await count(/^1 done/).waitFor();
  await count(/^0 cancelled/).waitFor();
  await page.getByText(/^The oldest pending effect was made .* ago\.$/).waitFor();
  await effectOf("refused-1").getByText("the receiver answered 422").waitFor();
  await effectOf("later-1").getByText("waiting").waitFor();
  await effectOf("later-1")
    .getByText(/^in 4\d min/)
    .waitFor();
  await effectOf("fine-1").getByText("done").waitFor();
  assert.equal(
    await effectOf("fine-1")
      .getByRole("button", { name: /Redrive|Cancel/ })
      .count(),
    0,
  );
});

test("filters stand in the address, and the address sets them", { skip }, async () => {
  await visit();
  await count(/dead/).click();
  await shown(3);
  assert.match(page.url(), /#\/console\/outbox\?status=dead$/);
  assert.equal(await count(/dead/).getAttribute("aria-pressed"), "true");
  await page.getByLabel("Entity").fill("refused-2");
  await shown(1);
  assert.match(page.url(), /status=dead&entity=refused-2$/);
  await page.getByLabel("Made").selectOption("More than 1 h ago");
  await page.getByText("No effect fits these filters.").waitFor();
  await button("Clear").click();
  await shown(5);
  assert.equal(await page.getByLabel("Entity").inputValue(), "");

  await visit("?status=done&machine=parcel&newer=900");
  await shown(1);
  assert.equal(await page.getByLabel("Machine").inputValue(), "parcel");
  assert.equal(await page.getByLabel("Made").locator("option:checked").innerText(), "In the last 15 min");
});

test("an effect shows what was sent, each try, and its entity; its address opens it", { skip }, async () => {
  await visit("?status=dead&entity=refused-1");
  await effectOf("refused-1")
    .getByRole("button", { name: /^webhook to/ })
    .click();
  const dialog = question(`webhook to ${sink.url}/parcels`);
  await dialog.getByRole("row", { name: /^2 .* 422 .*no such address/ }).waitFor();
  await dialog
    .getByRole("region", { name: "What is sent" })
    .getByText(/refused-1/)
    .waitFor();
  await dialog.getByText("the receiver answered 422").first().waitFor();
  const address = page.url();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await goTo(page, new URL(address).hash);
  await dialog.getByRole("link", { name: "refused-1" }).click();
  await page.getByRole("heading", { level: 1, name: "refused-1" }).waitFor();
});

test("the list is copied as a command that asks the same, without the key", { skip }, async () => {
  await visit("?status=dead&machine=parcel");
  await button("Copy as curl").click();
  await page.getByText("Copied.").waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(command, /\/api\/outbox\?status=dead&machine=parcel&limit=50'/);
  assert.equal(command.includes(KEY), false);
});

test("one effect is redriven, and one is cancelled, after a question", { skip }, async () => {
  await visit();
  // The receiver has been mended.
  const { reply } = sink;
  sink.reply = () => ({ status: 204 });
  await effectOf("refused-1").getByRole("button", { name: "Redrive" }).click();
  await question("Redrive the effect?").getByRole("button", { name: "Redrive" }).click();
  await effectOf("refused-1").getByText("pending").waitFor();
  await sent("refused-1");
  sink.reply = reply;

  await effectOf("later-1").getByRole("button", { name: "Cancel" }).click();
  const asked = question("Cancel the effect?");
  await asked.getByText("The entity stays where it is.").waitFor();
  await asked.getByRole("button", { name: "Leave it" }).click();
  assert.equal(await statusOf("later-1"), "pending");
  await effectOf("later-1").getByRole("button", { name: "Cancel" }).click();
  await asked.getByRole("button", { name: "Cancel the effect" }).click();
  await effectOf("later-1").getByText("cancelled").waitFor();
  await count(/^1 cancelled/).waitFor();
  await page.getByText("Nothing is pending.").waitFor();
});

test("an effect that changed meanwhile is refused in the service's words", { skip }, async () => {
  await turned(on.service, "later-2", "pending");
  await visit("?entity=later-2");
  const row = effectOf("later-2");
  await row.getByRole("button", { name: "Cancel" }).click();
  const [item] = await outbox(on.service, "&entity=later-2");
  await on.service.expect(200, "POST", `/api/outbox/${item?.id}/cancel`);
  await question("Cancel the effect?").getByRole("button", { name: "Cancel the effect" }).click();
  await row.getByRole("alert").getByText("OUTBOX_STATUS").waitFor();
  refusedWith(opened, 409);
});

test(
  "those that fit the filters are redriven together: counted, asked about once, and told",
  { skip },
  async () => {
    await turned(on.service, "refused-4", "dead");
    await visit("?machine=parcel");
    await count(/^3 dead/).waitFor();
    const { reply } = sink;
    sink.reply = () => ({ status: 204 });
    await button("Redrive dead effects…").click();
    const asked = question("Redrive 3 dead effects?");
    await asked.getByText(/^Those of machine parcel\./).waitFor();
    await asked.getByRole("button", { name: "Copy redrive as curl" }).click();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(command, /-X POST '[^']*\/api\/outbox\/redrive'/);
    assert.match(
      command,
      /"machine":"parcel","status":"dead","older_than":\d+|"status":"dead","machine":"parcel","older_than":\d+/,
    );
    await asked.getByRole("button", { name: "Redrive", exact: true }).click();
    await page.getByText("Redriven: 3 dead effects.", { exact: true }).waitFor();
    await count(/^0 dead/).waitFor();
    await sent("refused-4");
    sink.reply = reply;
    assert.equal(await button("Redrive dead effects…").isDisabled(), true);
  },
);

test("what is made after the count is left alone; a danger is told as one", { skip }, async () => {
  await turned(on.service, "later-3", "pending");
  await turned(on.service, "later-4", "pending");
  await visit("?status=pending");
  await shown(2);
  await button("Cancel pending effects…").click();
  const asked = question("Cancel 2 pending effects?");
  await asked.getByText(/^All of this tenant\. Effects that were made since/).waitFor();
  await turned(on.service, "later-5", "pending");
  await asked.getByRole("button", { name: "Cancel the effects" }).click();
  await page.getByText("Cancelled 2 pending effects.", { exact: true }).waitFor();
  assert.deepEqual(await Promise.all(["later-3", "later-4", "later-5"].map(statusOf)), [
    "cancelled",
    "cancelled",
    "pending",
  ]);
  // What waits can be sent now.
  await shown(1);
  const { reply } = sink;
  sink.reply = () => ({ status: 204 });
  await effectOf("later-5").getByRole("button", { name: "Send now" }).click();
  await page.getByText("The effect is due now").waitFor();
  await delivered(on.service, "it is sent", async () => (await statusOf("later-5")) === "done");
  sink.reply = reply;
});

test(
  "a refusal of many is told in the service's words, and a question gives the focus back",
  { skip },
  async () => {
    await turned(on.service, "refused-5", "dead");
    await visit();
    await count(/^1 dead/).waitFor();
    await button("Redrive dead effects…").focus();
    await page.keyboard.press("Enter");
    await question("Redrive 1 dead effect?").waitFor();
    await page.keyboard.press("Escape");
    await question("Redrive 1 dead effect?").waitFor({ state: "detached" });
    assert.match(await page.evaluate(() => document.activeElement?.textContent ?? ""), /^Redrive dead/);

    const error = { code: "STATE_STORE", message: "the database is away", retry: true };
    await page.route("**/api/outbox/redrive", (route) => route.fulfill({ status: 503, json: { error } }));
    await page.keyboard.press("Enter");
    await question("Redrive 1 dead effect?").getByRole("button", { name: "Redrive", exact: true }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("STATE_STORE").waitFor();
    await alert.getByText("the database is away").waitFor();
    await alert.getByText("Could not go on: no effect is known to have changed").waitFor();
    await page.unroute("**/api/outbox/redrive");
    refusedWith(opened, 503);
  },
);

test("a long list comes in parts", { skip }, async () => {
  const events = Array.from({ length: 60 }, (_, at) => ({
    event_type: "turn",
    entity_key: "id",
    timestamp: at,
    params: { id: "later-long" },
  }));
  await on.service.expect(200, "POST", "/api/machines/parcel/evaluate/batch", { body: { events } });
  await visit("?entity=later-long");
  await page.getByText("The newest 50 are shown.").waitFor();
  await button("Load more").click();
  await shown(60);
  await effects().getByText("queued").first().waitFor();
  assert.equal(await button("Load more").count(), 0);
  quiet(opened);
});
