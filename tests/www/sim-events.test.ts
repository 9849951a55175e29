// What can happen in the simulator, and why the rest cannot: as somebody would use it.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Locator, Page } from "playwright-core";

import { event, events, payloadOf } from "./simulator-page.ts";
import { quiet, skip, stage, writeOver } from "./support.ts";

const LIGHT = {
  machine_id: "light",
  states: ["red", "green"],
  initial_state: "red",
  transitions: [{ from: "red", to: "green", on: "go" }],
};

/** The line of an event: its button with all that is said of it. */
const item = (page: Page, name: string): Locator =>
  events(page)
    .getByRole("listitem")
    .filter({ has: page.getByRole("button", { name, exact: true }) });
const entity = (page: Page): Locator => page.getByRole("region", { name: "Entity" });

/** Loads an example over what was done, which is asked about. */
async function example(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Examples" }).click();
  await page.getByRole("menuitem", { name: new RegExp(`^${name}`) }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Load it" }).click();
}

/** Waits for the states that the chosen entity is in. */
async function inStates(page: Page, ...states: readonly string[]): Promise<void> {
  for (const state of states) {
    await entity(page).getByRole("group", { name: "State" }).getByText(state, { exact: true }).waitFor();
  }
}

/** Waits for an event to be one that cannot happen, and why. */
async function closed(page: Page, name: string, why: string): Promise<void> {
  await item(page, name).getByText(why, { exact: true }).first().waitFor();
  assert.equal(await event(page, name).getAttribute("aria-disabled"), "true");
}

const undoTo = async (page: Page, step: number): Promise<void> => {
  for (;;) {
    const text = await entity(page).getByRole("status").innerText();
    const [, done] = /^Step (\d+)/.exec(text) ?? [];
    if (Number(done ?? 0) <= step) return;
    await page.getByRole("button", { name: "Undo the last step" }).click();
    await entity(page)
      .getByText(`Step ${Number(done) - 1} of`)
      .waitFor();
  }
};

/** Writes a definition into the editor, instead of what is there. */
async function write(page: Page, definition: object): Promise<void> {
  const editor = page.getByRole("region", { name: "Definition" }).getByRole("textbox");
  await writeOver(editor, JSON.stringify(definition, undefined, 2));
}

test("events of the simulator", { skip }, async (t) => {
  const on = await stage();
  const opened = await on.open();
  const { page } = opened;
  await event(page, "ship").waitFor();

  await t.test("an order is taken through, with its guard tested as it is typed", async () => {
    await undoTo(page, 1);
    await inStates(page, "placed");
    await closed(page, "pay", "amount ≥ 25 fails: amount is missing");
    const amount = item(page, "pay").getByLabel("amount");
    await amount.fill("20");
    await closed(page, "pay", "amount ≥ 25 fails: it is 20 in the params");
    // It is greyed, and takes the click without doing anything.
    await event(page, "pay").click({ force: true });
    await inStates(page, "placed");
    await amount.fill("a lot");
    await item(page, "pay").getByText("It is no number.").waitFor();
    await amount.fill("49.5");
    await page.waitForFunction(() => document.querySelector('.sim-events [aria-disabled="false"]') !== null);
    await amount.press("Enter");
    await inStates(page, "paid");
    await entity(page).getByText("Step 2: Sent pay to o-1001: placed → paid, and 1 more").waitFor();
    await closed(page, "pay", "Only from placed; it is in paid");
    for (const [name, state] of [
      ["pack", "packed"],
      ["ship", "shipped"],
      ["deliver", "delivered"],
    ] as const) {
      await event(page, name).click();
      await inStates(page, state);
    }
    await events(page).getByText("No event moves it any more.").waitFor();
    await closed(page, "cancel", "Only from placed or paid; it is in delivered");
  });

  await t.test("by the keyboard alone", async () => {
    await undoTo(page, 2);
    await page.getByRole("button", { name: "Undo the last step" }).focus();
    await page.keyboard.press("Control+Enter");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "pack");
    await page.keyboard.press("Enter");
    await inStates(page, "packed");
    // The button went with the state; the keyboard goes on from the heading.
    await page.waitForFunction(() => document.activeElement?.textContent === "What can happen now");
    await page.keyboard.press("Control+z");
    await inStates(page, "paid");
    await page.keyboard.press("Control+Shift+Z");
    await inStates(page, "packed");
    await page.keyboard.press("Control+/");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await help.getByText("Jump to the next timer").waitFor();
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    // Events that cannot happen take the focus, and say why.
    const pay = event(page, "pay");
    await pay.focus();
    const reason = await pay.evaluate((button) =>
      (button.getAttribute("aria-describedby") ?? "")
        .split(" ")
        .map((id) => document.getElementById(id)?.textContent ?? "")
        .join(" "),
    );
    assert.match(reason, /Only from placed; it is in packed/);
  });

  await t.test("an expected version, other params, and a time of its own", async () => {
    await undoTo(page, 1);
    await item(page, "cancel").getByRole("button", { name: "More of cancel" }).click();
    await item(page, "cancel").getByLabel("Expected version").fill("7");
    await item(page, "cancel")
      .getByText(/^Refused with VERSION_CONFLICT: /)
      .waitFor();
    await item(page, "cancel").getByLabel("Expected version").fill("1");
    const other = item(page, "cancel").getByLabel("Other params (JSON)");
    await other.fill("{");
    await item(page, "cancel").getByText("It is no JSON object.").waitFor();
    await other.fill('{"__proto__": "<b>x</b>"}');
    await event(page, "cancel").click();
    await inStates(page, "cancelled");
    await page.getByText('{"__proto__":"<b>x</b>"}').first().waitFor();
  });

  await t.test("fields are of the kind that guards compare, and the context fills in", async () => {
    await example(page, "Approval with timeouts");
    await inStates(page, "reminded");
    const approve = item(page, "approve");
    assert.equal(await approve.getByLabel("amount").getAttribute("placeholder"), "800 (context)");
    await approve.getByText(/amount ≤ 500 fails: it is 800 in the context/).waitFor();
    await approve.getByLabel("role").fill("lead");
    await approve.getByLabel("amount").fill("400");
    await approve.getByLabel("role").press("Enter");
    await inStates(page, "approved");
  });

  await t.test("regions side by side, with the joins that wait", async () => {
    await example(page, "Parallel order with a join");
    await inStates(page, "goods: picking", "payment: captured");
    const joins = events(page).getByText("goods → sent waits for goods to be packed (it is picking)");
    await joins.waitFor();
    await event(page, "pack").click();
    await inStates(page, "goods: sent");
    await joins.waitFor({ state: "detached" });
    await closed(page, "authorise", "Only from pending; payment is in captured");
  });

  await t.test("an event of a child three deep goes to it by its target", async () => {
    await example(page, "Bundle with returns, three deep");
    await events(page).getByText("in ret_b2 › settling").waitFor();
    await event(page, "inspected").click();
    await inStates(page, "b2: returned", "refund: due");
    await entity(page)
      .getByText(/^Step 11: Sent inspected to run-7, at ret_b2, settling/)
      .waitFor();
  });

  await t.test("any event to anyone", async () => {
    await undoTo(page, 10);
    await events(page).getByText("Send another event").click();
    const form = events(page).locator("form");
    await form.getByLabel("Event type").fill("shout");
    await form.getByText("No transition of bundle is on shout").waitFor();
    await form.getByLabel("To").selectOption({ label: "settle run-7::sub::ret_b2::sub::settling" });
    await form.getByText("No transition of settle is on shout").waitFor();
    await form.getByLabel("Event type").fill("inspected");
    await form.getByText(/shout/).waitFor({ state: "detached" });
    await form.getByRole("button", { name: "Send" }).click();
    await inStates(page, "b2: returned");
  });

  await t.test("a new entity, and one that cannot be", async () => {
    await page.getByRole("button", { name: "New entity" }).click();
    const dialog = page.getByRole("dialog", { name: "New entity" });
    await dialog.getByLabel("Id").fill("run-7");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByText(/has an entity run-7 already/).waitFor();
    await dialog.getByLabel("Machine").selectOption("settle");
    await dialog.getByLabel("Id").fill("alone");
    await dialog.getByLabel("Context").fill('{"by": "<i>me</i>"}');
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.waitFor({ state: "detached" });
    await inStates(page, "awaited");
    await event(page, "parcel_arrived").click();
    await inStates(page, "arrived");
    await entity(page).getByRole("combobox", { name: "Entity" }).selectOption({ index: 0 });
  });

  await t.test("a definition is edited while it runs", async () => {
    const door = {
      machine_id: "door",
      states: ["open", "shut"],
      initial_state: "open",
      transitions: [{ from: "open", to: "shut", on: "push" }],
    };
    await example(page, "Subscription");
    await write(page, door);
    // It goes by its new name, and is where it begins: what was sent to it is no event of it.
    await event(page, "push").click();
    await inStates(page, "shut");
    await write(page, { ...door, initial_state: "ajar" });
    await page.getByText("Faults: the simulation runs by what was before.").waitFor();
    await page.getByRole("tab", { name: /door.*1 fault/ }).waitFor();
    await inStates(page, "shut");
    await write(page, {
      ...door,
      transitions: [...door.transitions, { from: "shut", to: "open", on: "pull" }],
    });
    await event(page, "pull").click();
    await inStates(page, "open");
    await entity(page)
      .getByText(/^Step \d+: Sent pull to .*: shut → open$/)
      .waitFor();
  });

  await t.test("a state of the diagram leads to its place in the definition", async () => {
    await page.getByRole("button", { name: /^shut[,.]/ }).press("Enter");
    await page
      .getByRole("region", { name: "Definition" })
      .locator(".cm-activeLine", { hasText: "shut" })
      .waitFor();
  });

  await t.test("machines are added and taken away", async () => {
    await page.getByRole("button", { name: "Add a machine" }).click();
    await page.getByRole("tab", { name: "machine-1" }).waitFor();
    for (const name of ["machine-1", "dunning"]) {
      await page.getByRole("button", { name: `Remove ${name}` }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await page.getByRole("tab", { name }).waitFor({ state: "detached" });
    }
    assert.equal(await page.getByRole("button", { name: "Remove door" }).isDisabled(), true);
  });

  await t.test("names are text, whatever stands in them", async () => {
    const image = "<img src=x onerror=alert(1)>";
    const long = "x".repeat(120);
    await write(page, {
      machine_id: "door",
      regions: [
        { id: "__proto__", states: ["constructor", long], initial_state: "constructor" },
        { id: image, states: ["a"], initial_state: "a" },
      ],
      transitions: [
        {
          region: "__proto__",
          from: "constructor",
          to: long,
          on: image,
          guard: { field: "__proto__", op: "eq", value: image },
        },
        { region: "__proto__", from: long, to: "constructor", on: "toString" },
      ],
    });
    await inStates(page, "__proto__: constructor", `${image}: a`);
    await closed(page, image, `__proto__ = ${JSON.stringify(image)} fails: __proto__ is missing`);
    await item(page, image).getByLabel("__proto__").fill(image);
    await item(page, image).getByLabel("__proto__").press("Enter");
    await inStates(page, `__proto__: ${long}`);
    await event(page, "toString").click();
    await inStates(page, "__proto__: constructor");
    assert.equal(await page.locator("img[src=x]").count(), 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 1440);
  });

  await t.test("what was done stays while the console is looked at", async () => {
    await page.getByRole("link", { name: "Console" }).click();
    await page.getByRole("link", { name: "Simulator" }).click();
    await entity(page)
      .getByText(/^Step \d+: Sent toString/)
      .waitFor();
  });

  await t.test("a fork that is gone says so, and nothing is broken", async () => {
    await page.goto(`${on.url}/#/fork`);
    await page.getByRole("alert").getByText("The fork cannot be opened").waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await inStates(page, "__proto__: constructor");
  });

  await t.test("a link does not replace what was done unasked", async () => {
    const payload = payloadOf(JSON.stringify({ definitions: [LIGHT] }));
    const link = `${on.url}/#/s/${payload}`;
    await page.goto(link);
    const question = page.getByRole("dialog", { name: "Load what the link holds?" });
    await question.getByRole("button", { name: "Leave it" }).click();
    await inStates(page, "__proto__: constructor");
    await page.goto(`${on.url}/#/`);
    await page.goto(link);
    await question.getByRole("button", { name: "Load it" }).click();
    await inStates(page, "red");
    await page.goto(`${on.url}/#/`);
  });

  await t.test("panes are sized by the keyboard, and stay so", async () => {
    const line = page.getByRole("separator", { name: "Width of the events" });
    const before = Number(await line.getAttribute("aria-valuenow"));
    await line.press("ArrowLeft");
    await line.press("ArrowLeft");
    assert.equal(Number(await line.getAttribute("aria-valuenow")), before + 4);
    await page.reload();
    await line.waitFor();
    assert.equal(Number(await line.getAttribute("aria-valuenow")), before + 4);
  });

  await t.test("on a narrow screen one pane is shown at a time", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(`${on.url}/#/`);
    await page.reload();
    const tabs = page.getByRole("tablist", { name: "Panes" });
    await tabs.waitFor();
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
    for (const [name, seen] of [
      ["Definition", page.getByRole("region", { name: "Definition" })],
      ["Diagram", page.locator(".diagram, .sim-pane-diagram").first()],
      ["History", page.getByRole("tablist", { name: "What happened and what stands" })],
      ["Events", events(page)],
    ] as const) {
      await tabs.getByRole("tab", { name }).click();
      await seen.waitFor();
      assert.equal(await wide(), 360, name);
    }
    await tabs.getByRole("tab", { name: "Events" }).press("Home");
    assert.equal(await events(page).isVisible(), false);
    await page.getByRole("tab", { name: "Definition" }).press("ArrowLeft");
    await page.getByRole("region", { name: "What happened and what stands" }).waitFor();
  });

  quiet(opened);
});
