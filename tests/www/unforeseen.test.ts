// Exceptions that nobody foresaw: what throws says so in its place, and the rest of the page goes on.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { order } from "../http/support.ts";
import { goTo, type Opened, quiet, skip, type Stage, stage } from "./support.ts";

let on: Stage;
let opened: Opened;

if (skip === false) {
  on = await stage();
  await on.service.register(order);
  await on.service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "o-1" } });
  await on.service.expect(200, "POST", "/api/machines/order/entities/o-1/transition", {
    body: { event_type: "pay", params: { amount: 1 } },
  });
  opened = await on.open();
  // From `break(tag)` on, whatever makes such an element throws.
  await opened.context.addInitScript(() => {
    const make = Document.prototype.createElementNS;
    Document.prototype.createElementNS = function (this: Document, ...args: Parameters<typeof make>) {
      if (args[1] === document.documentElement.dataset["broken"]) throw new TypeError(`no ${args[1]} today`);
      return make.apply(this, args);
    } as typeof make;
  });
  await opened.page.reload();
}

/** Has everything throw that makes such an element; nothing where it is empty. */
async function breaks(page: Page, tag: string): Promise<void> {
  await page.evaluate((to) => (document.documentElement.dataset["broken"] = to), tag);
}

/** Takes out what the page's console says of these exceptions; there must be some. */
function thrown({ complaints }: Opened, tag: string): void {
  const others = complaints.filter((text) => !text.includes(`no ${tag} today`));
  assert(others.length < complaints.length, JSON.stringify(complaints));
  // Each is thrown once, not again and again.
  assert(complaints.length - others.length < 10, `${complaints.length} complaints`);
  complaints.splice(0, complaints.length, ...others);
}

test("a panel of the simulator that fails says so; the others and the events go on", { skip }, async () => {
  const { page } = opened;
  const panels = page.getByRole("region", { name: "What happened and what stands" });
  await breaks(page, "table");
  await panels.getByRole("tab", { name: "Entries and timers" }).click();
  await panels.getByRole("alert").getByText("no table today").waitFor();
  await panels.getByText("Could not show this tab").waitFor();
  // The tabs beside it, and the panes beside them.
  await panels.getByRole("tab", { name: "Context" }).click();
  assert.equal(await page.getByRole("alert").count(), 0);
  const events = page.getByRole("region", { name: "What can happen now" });
  await panels.getByRole("tab", { name: "Entries and timers" }).click();
  await panels.getByRole("alert").waitFor();
  await events
    .getByRole("button")
    .filter({ hasText: /^[a-z_]+$/ })
    .first()
    .click();
  await breaks(page, "");
  await panels.getByRole("button", { name: "Show again" }).click();
  await panels.getByRole("table").first().waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  thrown(opened, "table");
  quiet(opened);
});

test("a pane that fails leaves the others where they are", { skip }, async () => {
  const { page } = opened;
  await breaks(page, "ol");
  const panels = page.getByRole("region", { name: "What happened and what stands" });
  await panels.getByRole("tab", { name: "History" }).click();
  await panels.getByRole("alert").getByText("no ol today").waitFor();
  await page
    .getByRole("textbox", { name: /Definition/i })
    .first()
    .waitFor();
  await breaks(page, "");
  // Another tab and back is another try.
  await panels.getByRole("tab", { name: "Context" }).click();
  await panels.getByRole("tab", { name: "History" }).click();
  await panels.getByRole("list").first().waitFor();
  thrown(opened, "ol");
  quiet(opened);
});

test("a dialog that fails can still be closed", { skip }, async () => {
  const { page } = opened;
  await breaks(page, "dl");
  await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("alert").getByText("no dl today").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("region", { name: "What can happen now" }).waitFor();
  await breaks(page, "");
  thrown(opened, "dl");
  quiet(opened);
});

test("what fails after a click or by itself is told", { skip }, async () => {
  const { page } = opened;
  const note = page.getByRole("status");
  await page.evaluate(() => {
    setTimeout(() => {
      throw new RangeError("nothing foresaw this");
    });
  });
  await note.getByText("That failed: nothing foresaw this").waitFor();
  await page.evaluate(() => void Promise.reject(new Error("nor this")));
  await note.getByText("That failed: nor this").waitFor();
  const rest = opened.complaints.filter((text) => !/nothing foresaw this|nor this/.test(text));
  assert.equal(opened.complaints.length - rest.length, 2);
  opened.complaints.splice(0, opened.complaints.length, ...rest);
  quiet(opened);
});

test(
  "a view of the console that fails says so, asks nothing more, and leaves the way to others",
  { skip },
  async () => {
    const { page } = opened;
    await on.signIn(page);
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().includes("/api/")) asked += 1;
    });
    await goTo(page, "#/console/nowhere");
    await page.getByRole("heading", { name: "Nothing here" }).waitFor();
    await page.clock.install();
    await breaks(page, "table");
    await page.getByRole("link", { name: "Machines" }).click();
    await page.getByText("Could not show Machines").waitFor();
    asked = 0;
    await page.clock.runFor(300_000);
    assert.equal(asked, 0);
    await page.clock.resume();
    await page.getByRole("link", { name: "Look up" }).click();
    await page.getByRole("heading", { name: "Look up" }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await breaks(page, "");
    await page.getByRole("link", { name: "Machines" }).click();
    await page.getByRole("link", { name: "order", exact: true }).waitFor();
    thrown(opened, "table");
    quiet(opened);
  },
);

test("a part of an entity's view that fails leaves its other parts", { skip }, async () => {
  const { page } = opened;
  await breaks(page, "ol");
  await goTo(page, "#/console/entity/order/o-1/history");
  await page.getByRole("tabpanel").getByRole("alert").getByText("no ol today").waitFor();
  await page.getByRole("heading", { name: "o-1" }).waitFor();
  await page.getByRole("tab", { name: "Context" }).click();
  assert.equal(await page.getByRole("alert").count(), 0);
  await breaks(page, "");
  await page.getByRole("tab", { name: "History" }).click();
  await page.getByRole("list", { name: "History, the newest first" }).waitFor();
  thrown(opened, "ol");
  quiet(opened);
});
