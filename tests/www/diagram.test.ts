// The diagram in the simulator: what shows, by pointer, by keyboard and in words, and what it is saved as.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import type { Locator, Page } from "playwright-core";
import { PNG } from "pngjs";
import { defineMachine, simulate } from "statewright";

import { BUNDLE, FULFILMENT, HOSTILE, largeOf, linkTo, PURCHASE, sent } from "./diagram-machines.ts";
import { event } from "./simulator-page.ts";
import { quiet, skip, type Stage, stage, TENANT } from "./support.ts";

const drawing = (page: Page): Locator => page.getByRole("group", { name: /, drawing$/ });
/** A state of the drawing, by how it is said. */
const state = (page: Page, name: string | RegExp): Locator =>
  drawing(page).getByLabel(typeof name === "string" ? new RegExp(`^${name}[,.]|^${name}$`) : name);
const tool = (page: Page, name: string): Locator =>
  page.getByRole("toolbar", { name: "Diagram" }).getByRole("button", { name, exact: true });

/** Waits until all of a machine's newest drawing is there. */
async function drawn(page: Page, machine: string): Promise<void> {
  await page
    .locator(`[aria-busy="false"][aria-label=${JSON.stringify(`Diagram of ${machine}, drawing`)}]`)
    .waitFor();
}

/** The names of the states that are said to be current. */
async function current(page: Page): Promise<string[]> {
  const labels = await drawing(page)
    .locator('[aria-current="true"]')
    .evaluateAll((states) => states.map((one) => one.getAttribute("aria-label") ?? ""));
  return labels.map((label) => label.split(",")[0] ?? "").sort();
}

/** What is written in the drawing. */
async function written(page: Page): Promise<string[]> {
  return drawing(page).locator("text").allTextContents();
}

async function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
}

async function saved(page: Page, what: string): Promise<{ name: string; content: Buffer }> {
  await tool(page, "Export").click();
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: what }).click();
  const file = await download;
  return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
}

test("the diagram", { skip }, async (t) => {
  const on = await stage();
  const opened = await on.open();
  const { page } = opened;
  /** Opens a link in the page that most of the tests share: afresh, since what was done there is not replaced unasked. */
  const open = async (link: string): Promise<void> => {
    await page.goto("about:blank");
    await page.goto(`${on.url}/${link}`);
  };
  /** The same, and waits for the drawing. */
  const go = async (link: string, machine: string): Promise<void> => {
    await open(link);
    await drawn(page, machine);
  };

  await t.test("shows states, transitions, guards and timeouts, and what was just taken", async () => {
    await go(await linkTo([PURCHASE]), "purchase");
    const texts = await written(page);
    for (const text of [
      "placed",
      "paid",
      "packed",
      "shipped",
      "cancelled",
      "pay [amount ≥ 10]",
      "cancel",
      "1 h",
      "relabel",
    ]) {
      assert.ok(texts.includes(text), `${text} in ${texts.join(", ")}`);
    }
    assert.deepEqual(await current(page), ["placed"]);
    assert.equal(await drawing(page).locator(".diagram-initial").count(), 1);
    assert.equal(await drawing(page).locator(".diagram-final").count(), 2);
    assert.deepEqual(await drawing(page).locator(".diagram-taken").count(), 0);

    const before = await state(page, "packed").boundingBox();
    await event(page, "cancel").click();
    await state(page, "cancelled, current").waitFor();
    assert.deepEqual(await current(page), ["cancelled"]);
    // The line of the event alone, of the two that lead there.
    assert.deepEqual(await drawing(page).locator(".diagram-line-taken").allTextContents(), ["cancelcancel"]);
    await page
      .getByRole("status")
      .filter({ hasText: "cancel: placed to cancelled" })
      .waitFor({ state: "attached" });
    assert.deepEqual(await state(page, "packed").boundingBox(), before);
    quiet(opened);
  });

  await t.test("shows regions side by side, broadcasts, and joins as they fire", async () => {
    await go(await linkTo([FULFILMENT], sent("fulfilment", "pay")), "fulfilment");
    const regions = await drawing(page).locator(".diagram-region-box").all();
    const [payment, goods] = await Promise.all(regions.map((region) => region.boundingBox()));
    assert.ok(payment && goods && payment.x + payment.width < goods.x);
    assert.equal(Math.round(payment.y), Math.round(goods.y));
    assert.deepEqual(await current(page), ["captured", "picking"]);
    assert.equal(await drawing(page).locator(".diagram-bar").count(), 2);
    assert.equal(await drawing(page).locator(".diagram-join.diagram-taken").count(), 0);
    const bar = await drawing(page).locator(".diagram-bar").first().boundingBox();
    assert.ok(bar && bar.y > goods.y + goods.height);

    await event(page, "pack").click();
    await state(page, "sent, region goods, current").waitFor();
    assert.equal(await drawing(page).locator(".diagram-join.diagram-taken").count(), 1);
    assert.deepEqual(await drawing(page).locator(".diagram-line-taken text").allTextContents(), ["pack"]);
    await page
      .getByRole("status")
      .filter({ hasText: "A join in goods: packed to sent" })
      .waitFor({ state: "attached" });
    quiet(opened);
  });

  await t.test("shows children inside of their states, open and closed, live and ended", async () => {
    const target = [{ state: "returning" }];
    const steps = [sent("bundle", "return"), sent("bundle", "approve", {}, target)];
    await go(await linkTo(BUNDLE, ...steps), "bundle");
    assert.deepEqual(await current(page), ["observing", "open", "returning", "settling"]);
    const [outer, inner] = [
      await state(page, "returning").boundingBox(),
      await state(page, "observing").boundingBox(),
    ];
    assert.ok(
      outer &&
        inner &&
        inner.x > outer.x &&
        inner.y > outer.y &&
        inner.y + inner.height < outer.y + outer.height,
    );

    await state(page, "settling").focus();
    await page.keyboard.press("Space");
    await state(page, "observing").waitFor({ state: "detached" });
    assert.match(await focused(page), /^settling, .*Child closed/);
    await page.keyboard.press("Space");
    await state(page, "observing").waitFor();
    await tool(page, "Show children").click();
    await state(page, "opened").waitFor({ state: "detached" });
    assert.deepEqual(await current(page), ["returning"]);
    await drawing(page).locator(".diagram-toggle").click();
    await state(page, "opened").waitFor();

    await event(page, "withdraw").click();
    await state(page, "sent, current").waitFor();
    assert.deepEqual(await current(page), ["sent"]);
    assert.ok((await written(page)).includes("return_case (cancelled)"));
    await state(page, /^open, region deadline, where it ended/).waitFor();
    quiet(opened);
  });

  await t.test("is walked through, moved and enlarged by keys, wheel and dragging", async () => {
    await go(await linkTo([{ ...PURCHASE, machine_id: "walked" }]), "walked");
    await drawing(page).focus();
    await page.keyboard.press("Tab");
    assert.equal(
      await focused(page),
      "placed, current, initial. on pay if amount ≥ 10 to paid; on cancel to cancelled; after 1 h to cancelled",
    );
    await page.keyboard.press("ArrowDown");
    const first = (await focused(page)).split(",")[0]?.split(".")[0];
    await page.keyboard.press("ArrowLeft");
    const second = (await focused(page)).split(",")[0]?.split(".")[0];
    assert.deepEqual([first, second], ["cancelled", "paid"]);
    await page.keyboard.press("Escape");
    assert.match(await focused(page), /, drawing$/);

    const at = async () => (await state(page, "placed").boundingBox()) ?? assert.fail();
    const start = await at();
    await page.keyboard.press("+");
    assert.ok((await at()).width > start.width);
    await page.keyboard.press("-");
    await page.keyboard.press("ArrowLeft");
    assert.ok((await at()).x > start.x);
    await page.keyboard.press("0");
    assert.ok(Math.abs((await at()).x - start.x) < 1);

    const box = (await drawing(page).boundingBox()) ?? assert.fail();
    await page.mouse.move(box.x + 20, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + 90, box.y + 60, { steps: 4 });
    await page.mouse.up();
    const moved = await at();
    assert.deepEqual([Math.round(moved.x - start.x), Math.round(moved.y - start.y)], [70, 40]);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await page.waitForFunction(
      (width) => (document.querySelector('[data-key="m.0.0"]')?.getBoundingClientRect().width ?? 0) > width,
      start.width,
    );
    await tool(page, "Show all of it").click();
    assert.ok(Math.abs((await at()).x - start.x) < 1);
    await tool(page, "Zoom in").click();
    assert.ok((await at()).width > start.width);
    quiet(opened);
  });

  await t.test("has a text twin, and says what it shows", async () => {
    const spoken = { ...FULFILMENT, machine_id: "said" };
    await go(await linkTo([spoken], sent("said", "pay"), sent("said", "pack")), "said");
    assert.match(
      await description(page, await drawing(page).getAttribute("aria-label")),
      /^said: 2 regions, 7 states, 5 transitions, 2 joins\. Current: payment captured; goods sent\. Taken: pack in goods: picking to packed\. Taken: A join in goods: packed to sent\./,
    );
    await tool(page, "Show as text").click();
    const read = await page.getByRole("region", { name: /, text$/ }).ariaSnapshot();
    const words = read.replace(/^[\s-]*(text:|strong:|listitem:?|list:|paragraph:|button|region)?/gm, " ");
    const said = words.replace(/[":]|\s+/g, (found) => (found.trim() === "" ? " " : "")).replace(/ +/g, " ");
    for (const line of [
      "Region payment pending (initial) on pay to captured on alarm, in all regions to pending",
      "captured (current, final) refunded (final)",
      "Region goods picking (initial) on pack to packed just taken on alarm, in all regions to picking packed",
      "sent (current) on return to back back (final)",
      "Joins When payment is captured and goods is packed goods to sent just taken",
      "While goods is back payment to refunded",
    ]) {
      assert.ok(said.includes(line), `${line} in ${said}`);
    }
    assert.equal(await drawing(page).count(), 0);
    await tool(page, "Show as text").click();
    await drawn(page, "said");
    quiet(opened);
  });

  await t.test("is saved as SVG, PNG and Mermaid", async () => {
    const opened = await on.open(await linkTo([PURCHASE], sent("purchase", "pay", { amount: 12 })), {
      colorScheme: "dark",
    });
    const { page } = opened;
    await drawn(page, "purchase");
    const svg = await saved(page, "SVG");
    assert.equal(svg.name, "purchase.svg");
    const text = svg.content.toString("utf8");
    const parsed = await page.evaluate((source) => {
      const file = new DOMParser().parseFromString(source, "image/svg+xml");
      const root = file.documentElement;
      return {
        faults: file.querySelectorAll("parsererror").length,
        size: [root.getAttribute("width"), root.getAttribute("height")].map(Number),
        texts: [...file.querySelectorAll("text")].map((one) => one.textContent),
        ground: file.querySelector("rect")?.getAttribute("fill"),
        // Nothing that needs the page.
        foreign: file.querySelectorAll("[class], [style], style, script, image, use, foreignObject").length,
      };
    }, text);
    assert.deepEqual([parsed.faults, parsed.foreign], [0, 0]);
    assert.ok(parsed.texts.includes("pay [amount ≥ 10]"));
    assert.equal(parsed.ground, "rgb(22, 29, 40)");
    assert.doesNotMatch(text, /var\(|url\(|https?:(?!\/\/www\.w3\.org)/);

    const png = await saved(page, "PNG");
    assert.equal(png.name, "purchase.png");
    const picture = PNG.sync.read(png.content);
    assert.deepEqual(
      [picture.width, picture.height],
      parsed.size.map((side) => side * 2),
    );
    const colours = new Set<number>();
    for (let at = 0; at < picture.data.length; at += 4) colours.add(picture.data.readUInt32BE(at));
    assert.ok(colours.has(0x161d28ff) && colours.size > 10, `${colours.size} colours`);

    const mermaid = await saved(page, "Mermaid");
    assert.equal(mermaid.name, "purchase.mmd");
    const session = simulate([defineMachine(PURCHASE)], { now: 0 });
    session.create("purchase", "e-1");
    session.send("purchase", "e-1", { type: "pay", params: { amount: 12 } });
    assert.equal(mermaid.content.toString("utf8"), session.diagram("purchase", "mermaid", "e-1"));
    quiet(opened);
    await opened.context.close();
  });

  await t.test("shows hostile names as text", async () => {
    await go(await linkTo([HOSTILE]), HOSTILE.machine_id);
    const texts = await written(page);
    for (const text of [
      "__proto__",
      "constructor",
      "<b>bold</b>",
      "</svg><script>alert(1)</script>",
      `${"x".repeat(39)}…`,
    ]) {
      assert.ok(texts.includes(text), text);
    }
    assert.ok(Math.max(...texts.map(({ length }) => length)) <= 48);
    assert.equal(await page.locator(".diagram :is(img, b, script)").count(), 0);
    const svg = await saved(page, "SVG");
    assert.equal(svg.name, "img-src-x-onerror-alert-1.svg");
    const faults = await page.evaluate(
      (source) =>
        new DOMParser().parseFromString(source, "image/svg+xml").querySelectorAll("parsererror, script, b")
          .length,
      svg.content.toString("utf8"),
    );
    assert.equal(faults, 0);
    await tool(page, "Show as text").click();
    await page.locator(".diagram-text").getByText("</svg><script>alert(1)</script>").first().waitFor();
    await tool(page, "Show as text").click();
    quiet(opened);
  });

  await t.test("says of too many states that they are not drawn, and gives the text", async () => {
    const link = await linkTo([largeOf(1100, 1200)]);
    await open(link);
    await page
      .getByRole("note")
      .getByText("1100 states are too many to draw. This is all of it as text.")
      .waitFor();
    const text = page.getByRole("region", { name: "Diagram of large, text" });
    await text.getByText("state_1", { exact: true }).first().waitFor();
    await text.getByRole("button", { name: "Show all 1100 states" }).click();
    await text.getByText("state_1099", { exact: true }).first().waitFor();
    quiet(opened);
  });

  await t.test("says that it cannot be drawn, gives the text, and tries again", async () => {
    const opened = await on.open("#/console");
    const { page } = opened;
    await page.route("**/elk-worker*", (route) => route.abort());
    await page.goto(`${on.url}/${await linkTo([PURCHASE])}`);
    const alert = page.getByRole("alert").filter({ hasText: "The diagram could not be drawn" });
    await alert.waitFor();
    await page.locator(".diagram-text").getByText("on pay if amount ≥ 10 to paid").waitFor();
    await page.unroute("**/elk-worker*");
    await alert.getByRole("button", { name: "Try again" }).click();
    await drawn(page, "purchase");
    await alert.waitFor({ state: "detached" });
    // The browser tells of the file that did not come.
    assert.deepEqual(
      opened.complaints.filter((complaint) => !complaint.includes("net::ERR_FAILED")),
      [],
    );
    await opened.context.close();
  });

  await t.test("brings what is entered into sight", async () => {
    await go(await linkTo([{ ...largeOf(60, 59), machine_id: "long" }]), "long");
    await drawing(page).focus();
    for (let presses = 0; presses < 12; presses += 1) await page.keyboard.press("+");
    const box = (await drawing(page).boundingBox()) ?? assert.fail();
    await event(page, "go_1").click();
    await state(page, "state_1, current").waitFor();
    const entered = (await state(page, "state_1").boundingBox()) ?? assert.fail();
    assert.ok(entered.x >= box.x && entered.y >= box.y && entered.y < box.y + box.height);
    quiet(opened);
  });

  await t.test("fits 360 pixels without a sideways scroll", async () => {
    const opened = await on.open(await linkTo([FULFILMENT]), { viewport: { width: 360, height: 640 } });
    const { page } = opened;
    await page.getByRole("tab", { name: "Diagram" }).click();
    await drawn(page, "fulfilment");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360));
    const size = (await state(page, "pending").boundingBox()) ?? assert.fail();
    // Text of 13 pixels in a box of 38 is no smaller than can be read.
    assert.ok(size.height >= 38 * 0.6, String(size.height));
    quiet(opened);
    await opened.context.close();
  });

  await t.test("has counts by state in the console, and a state leads to its entities", () => counts(on));
});

async function counts(on: Stage): Promise<void> {
  const { service } = on;
  const headers = { "X-Tenant-Id": TENANT };
  await service.call("POST", "/api/machines", { body: PURCHASE, headers });
  for (const entity_id of ["o-1", "o-2", "o-3"]) {
    await service.call("POST", "/api/machines/purchase/entities", { body: { entity_id }, headers });
  }
  const opened = await on.open();
  const { page } = opened;
  await on.signIn(page);
  await page.getByRole("link", { name: "purchase", exact: true }).click();
  await drawn(page, "purchase");
  await state(page, "placed, 3 entities, initial").waitFor();
  assert.deepEqual(await drawing(page).locator(".diagram-count text").allTextContents(), ["3"]);
  await state(page, "placed").focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/entities/);
  await page.getByText("o-2").first().waitFor();
  quiet(opened);
  await opened.context.close();
}

/** The description of something, as the browser gives it to a screen reader. */
async function description(page: Page, name: string | null): Promise<string> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const found = nodes.find((node) => node.name?.value === name);
  return String(found?.description?.value ?? "");
}
