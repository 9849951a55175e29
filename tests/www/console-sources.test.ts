// Sources of webhooks in the console: made, tried, watched, replaced and deleted, over the real service.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { SECRETS_KEY } from "../http/sink.ts";
import { order } from "../http/support.ts";
import { refusedWith } from "./console-complaints.ts";
import { goTo, type Opened, quiet, skip, type Stage, stage, writeOver } from "./support.ts";

const SECRET = "it-is-a-secret";

let on: Stage;
let opened: Opened;
let page: Page;

if (skip === false) {
  on = await stage({ settings: { SECRETS_KEY } });
  await on.service.register(order);
  await on.service.expect(201, "PUT", "/api/secrets/shop", { body: { value: SECRET } });
  opened = await on.open("", { permissions: ["clipboard-read", "clipboard-write"] });
  page = opened.page;
  await on.signIn(page);
}

async function visit(path: string): Promise<void> {
  await goTo(page, `#/console/${path}`);
}

const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
const heading = (name: string) => page.getByRole("heading", { level: 1, name, exact: true });
const editor = (name: string) => page.getByRole("textbox", { name });
const verdict = () => page.getByRole("article", { name: "What it would become" });
const sources = () => page.getByRole("region", { name: "Sources" });

/** Writes over what stands in an editor. */
async function write(name: string, text: string): Promise<void> {
  await writeOver(editor(name), text);
}

/** What the editor of that name shows, however it is indented. */
async function written(name: string): Promise<string> {
  return (await editor(name).innerText()).replaceAll(/\s+/g, " ");
}

async function copied(): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText());
}

/** A source of orders that sign as a shop does. */
const shop = {
  machine: "order",
  scheme: { type: "hmac-sha256" },
  secret: "shop",
  mapping: { entity_id: "/order", event_type: "/kind", params: { amount: "/amount" } },
};

test("a source is made from what the page begins with, or from what one writes", { skip }, async () => {
  await visit("sources");
  await page.getByText("This tenant has no sources yet.").waitFor();
  await page.getByRole("link", { name: "New source" }).press("Enter");
  await heading("New source").and(page.locator(":focus")).waitFor();
  await editor("Definition").waitFor();
  assert.match(
    await written("Definition"),
    /"machine": "order", "scheme": \{ "type": "standard-webhooks" \}/,
  );
  await page.getByLabel("Id").fill("shop");

  await write("Definition", '{ "machine": "order", "scheme": { "type": "smoke" } }');
  await button("Make the source").click();
  await page
    .getByRole("alert")
    .getByText(/`smoke` is no scheme/)
    .waitFor();
  await page.getByRole("alert").getByText("BAD_REQUEST").waitFor();
  refusedWith(opened, 400);
  await write("Definition", "[1, 2]");
  await button("Make the source").click();
  await page.getByRole("alert").getByText("this is no JSON object").waitFor();

  await write("Definition", JSON.stringify(shop));
  await button("Make the source").click();
  await heading("shop").waitFor();
  // Whether there was one of the name was asked.
  refusedWith(opened, 404);
  await page.getByText(`${on.url}/hooks/t1/shop`).waitFor();
  await button("Copy the address").click();
  await page.getByText("The address is copied").waitFor();
  assert.equal(await copied(), `${on.url}/hooks/t1/shop`);
});

test("a body is tried: what it would become, and whether its signature holds", { skip }, async () => {
  await visit("sources/shop");
  await editor("Body").waitFor();
  assert.equal(await written("Body"), '{ "kind": "pay", "order": "example-1", "amount": 25 }');
  await button("Try it").click();
  await verdict().getByText("It would become pay for example-1").waitFor();
  await verdict().getByRole("region", { name: "Params" }).getByText('"amount": 25').waitFor();
  await verdict().getByText("signature absent").waitFor();
  await verdict().getByText("the header `x-signature` is missing").waitFor();

  // As the shop sends it.
  const body = '{"kind":"pay","order":"o-7","amount":3}';
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  await write("Body", body);
  await page.getByText("The request or the source has changed since it was tried.").waitFor();
  await page.getByLabel("Headers").fill(`X-Signature: ${signature}`);
  await button("Try it").click();
  await verdict().getByText("signature valid").waitFor();
  assert.match(
    (await verdict().getByRole("link", { name: "o-7" }).getAttribute("href")) ?? "",
    /entity\/order\/o-7$/,
  );
  await button("Copy the try as curl").click();
  await page.getByText("Copied.").waitFor();
  assert.match(await copied(), /\/api\/sources\/shop\/try'/);

  await page.getByLabel("Headers").fill("X-Signature: 00");
  await button("Try it").click();
  await verdict().getByText("signature invalid").waitFor();
  await verdict()
    .getByText(/the request itself would be answered 401/)
    .waitFor();
  // Nothing was applied.
  await on.service.expect(404, "GET", "/api/machines/order/entities/o-7");
  refusedWith(opened, 404);
});

test("what the event would do to its entity is told with it", { skip }, async () => {
  await visit("sources/shop");
  await button("A sample again").click();
  await page.getByText("example-1", { exact: false }).first().waitFor();
  await button("Try it").click();
  const meeting = page.getByRole("region", { name: "If it came now" });
  await meeting.getByText(/There is no such entity: it would be made first/).waitFor();
  refusedWith(opened, 404);
  await on.service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "example-1" } });
  await button("Try it").click();
  await meeting.getByText("It would move: pending → paid").waitFor();
  await write("Body", '{"kind":"pay","order":"example-1","amount":-1}');
  await button("Try it").click();
  await meeting.getByText("It would not move").waitFor();
  await meeting.getByRole("row", { name: /amount > 0 -1 in the params/ }).waitFor();
  await on.service.expect(204, "DELETE", "/api/machines/order/entities/example-1");
});

test("a body that becomes no event is told why, and where the source says so", { skip }, async () => {
  await visit("sources/shop");
  await write("Body", '{"kind":"pay"}');
  await button("Try it").click();
  await verdict().getByText("It would become no event").waitFor();
  await verdict()
    .getByText(/`\/order` leads to nothing in the body/)
    .waitFor();
  await verdict().getByText("mapping.entity_id").waitFor();
  await write("Body", "amount=3&kind=pay");
  await button("Try it").click();
  await verdict()
    .getByText(/not JSON|no JSON|expected/)
    .first()
    .waitFor();
  await page.getByLabel("Headers").fill("no header");
  await button("Try it").click();
  await page.getByRole("alert").getByText("`no header` is no header").waitFor();
  await button("A sample again").click();
  await button("Try it").click();
  await verdict().getByText("It would become pay for example-1").waitFor();
  await page.getByText(/There is no such entity/).waitFor();
  refusedWith(opened, 404);
});

test("what comes is counted, and a wrong signature is told as what it mostly is", { skip }, async () => {
  const raw = '{"kind":"pay","order":"o-8","amount":3}';
  const signature = createHmac("sha256", SECRET).update(raw).digest("hex");
  const hook = (headers: Record<string, string>) =>
    on.service.call("POST", "/hooks/t1/shop", { raw, headers, key: null, tenant: null });
  assert.equal((await hook({ "x-signature": signature })).status, 200);
  assert.equal((await hook({ "x-signature": signature })).status, 200);
  assert.equal((await hook({ "x-signature": "00" })).status, 401);
  await visit("sources/shop");
  await button("Refresh now").click();
  const came = page.getByRole("region", { name: "What came" });
  await came.getByRole("row", { name: /^applied 1/ }).waitFor();
  await came.getByRole("row", { name: /^duplicate 1/ }).waitFor();
  await came.getByRole("row", { name: /^bad_signature 1/ }).waitFor();
  await page.getByText(/the provider has another secret, or a proxy changes bodies/).waitFor();
  await page.getByRole("link", { name: "All sources" }).click();
  const row = sources().getByRole("row", { name: /^shop/ });
  await row.getByText("1 with a bad signature").waitFor();
  await row.getByRole("cell", { name: "3", exact: true }).waitFor();
  await row.getByText("hmac-sha256").waitFor();
});

test(
  "a source is replaced, and a new one does not silently take the place of another",
  { skip },
  async () => {
    await visit("sources/shop");
    await page.getByRole("link", { name: "Edit" }).click();
    await heading("Edit shop").waitFor();
    assert.match(await written("Definition"), /^\{ "machine": "order", "scheme"/);
    await write("Definition", JSON.stringify({ ...shop, active: false }));
    await button("Replace the source").click();
    await heading("shop").waitFor();
    await page.getByText("nothing", { exact: true }).waitFor();

    await visit("sources?new=1");
    await heading("New source").waitFor();
    await page.getByLabel("Id").fill("shop");
    await write("Definition", JSON.stringify({ ...shop, active: true }));
    await button("Make the source").click();
    const asked = page.getByRole("dialog", { name: "Replace the source that is there?" });
    await asked.getByRole("button", { name: "Leave it" }).click();
    const { active } = await on.service.expect(200, "GET", "/api/sources/shop");
    assert.equal(active, false);
    await button("Leave it").click();
    await page
      .getByRole("dialog", { name: "Leave what you wrote?" })
      .getByRole("button", { name: "Drop it" })
      .click();
    await heading("Sources").waitFor();
  },
);

test("a source is deleted after a question that says what is lost", { skip }, async () => {
  await visit("sources/shop");
  await heading("shop").waitFor();
  await button("Delete").click();
  const asked = page.getByRole("dialog", { name: "Delete this source?" });
  await asked.getByText(/with its counts: 3 requests came/).waitFor();
  await asked.getByRole("button", { name: "Delete the source" }).click();
  await page.getByText("This tenant has no sources yet.").waitFor();
  await on.service.expect(404, "GET", "/api/sources/shop");
  quiet(opened);

  await visit("sources/nowhere");
  await page.getByRole("alert").getByText("NOT_FOUND").waitFor();
  refusedWith(opened, 404);
  quiet(opened);
});
