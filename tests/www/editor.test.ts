// The editor of definitions, used in the simulator as its user would.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Locator, Page } from "playwright-core";

import { type Opened, quiet, skip, type Stage, stage, writeOver } from "./support.ts";

const TICKET = `{
  "machine_id": "ticket",
  "states": ["open", "closed"],
  "initial_state": "open",
  "transitions": [
    { "from": "open", "to": "closed", "on": "close" }
  ]
}`;

const editorOf = (page: Page): Locator => page.getByRole("textbox", { name: /^Definition of/ });
const options = (page: Page): Locator =>
  page.getByRole("listbox", { name: "Completions" }).getByRole("option");

/** What the editor holds: its lines as they are shown. */
const textOf = async (page: Page): Promise<string> =>
  (await editorOf(page).locator(".cm-line").allInnerTexts()).join("\n");

/** The text of a whole line that has a marker of a fault or a warning beside it. */
async function markedLines(page: Page, kind: "error" | "warning"): Promise<string[]> {
  const lines = await editorOf(page).locator(`.cm-line:has(.cm-lintRange-${kind})`).allInnerTexts();
  return lines.map((line) => line.trim());
}

/** Chooses from what is offered, once it is. */
async function choose(page: Page, name: string): Promise<void> {
  const option = options(page).filter({ hasText: name }).first();
  await option.click();
}

let on: Stage;
let opened: Opened;
if (skip === false) {
  on = await stage();
  opened = await on.open();
}

/** The page of all of these, with that text in its editor. */
async function withText(text: string): Promise<Page> {
  const { page } = opened;
  await page.goto(`${on.url}/#/`);
  await writeOver(editorOf(page), text);
  return page;
}

test("completion leads from an empty object to a machine that runs", { skip }, async () => {
  const page = await withText("{}");
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Control+Space");
  await choose(page, "machine_id");
  await page.keyboard.type("lamp");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type(', "states');
  await choose(page, "states");
  await page.keyboard.type('"off", "on"');
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type(', "init');
  await choose(page, "initial_state");
  await choose(page, "off");
  await page.keyboard.type(', "tra');
  await choose(page, "transitions");
  await choose(page, "{ from, to, on }");
  await choose(page, "off");
  await page.keyboard.press("Tab");
  await choose(page, "on");
  await page.keyboard.press("Tab");
  await page.keyboard.type("switch");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type(', "gu');
  await choose(page, "guard");
  await choose(page, "{ field, op, value }");
  await page.keyboard.type("bright");
  await page.keyboard.press("Tab");
  await choose(page, "gte");
  await page.keyboard.press("Tab");
  await page.keyboard.type("5");
  assert.deepEqual(JSON.parse(await textOf(page)), {
    machine_id: "lamp",
    states: ["off", "on"],
    initial_state: "off",
    transitions: [{ from: "off", to: "on", on: "switch", guard: { field: "bright", op: "gte", value: 5 } }],
  });
  await page.getByRole("button", { name: "No faults" }).waitFor();
  quiet(opened);
});

test(
  "faults and warnings stand at their lines, are counted, and are listed by keyboard",
  { skip },
  async () => {
    const page = await withText(
      TICKET.replace('"closed"]', '"closed", "lost"]').replace('"to": "closed"', '"to": "clsoed"'),
    );
    await page.getByRole("button", { name: "1 fault" }).waitFor();
    assert.deepEqual(await markedLines(page, "error"), ['{ "from": "open", "to": "clsoed", "on": "close" }']);
    assert.equal(await editorOf(page).locator(".cm-lintRange-error").innerText(), '"clsoed"');
    await page.locator(".cm-lint-marker-error").waitFor();
    await editorOf(page).press("Control+Shift+M");
    const fault = page.getByRole("listbox", { name: "Faults and warnings" }).getByRole("option");
    assert.match(await fault.innerText(), /^Fault: .*clsoed/);
    await page.keyboard.press("Escape");
    await fault.waitFor({ state: "detached" });
    assert.ok(await editorOf(page).evaluate((element) => element === document.activeElement));
    await page.keyboard.press("F8");
    await page
      .locator(".cm-announced", { hasText: /^Line 6\. Fault: .*clsoed/ })
      .waitFor({ state: "attached" });
    await writeOver(editorOf(page), TICKET.replace('"closed"]', '"closed", "lost"]'));
    await page.getByRole("button", { name: "1 warning" }).waitFor();
    assert.deepEqual(await markedLines(page, "error"), []);
    assert.deepEqual(await markedLines(page, "warning"), ['"states": ["open", "closed", "lost"],']);
    quiet(opened);
  },
);

test("broken JSON says where and what, and is not formatted", { skip }, async () => {
  const page = await withText(TICKET.replace('"open",\n', '"open"\n'));
  await page.getByRole("button", { name: "1 fault" }).waitFor();
  await page.getByRole("button", { name: /^Format/ }).click();
  await page.getByText("Not formatted: the JSON is broken").waitFor();
  quiet(opened);
});

test("formatting lays the text out, and undo takes it back", { skip }, async () => {
  const dense = TICKET.replaceAll(/\s+/g, "");
  const page = await withText(dense);
  await editorOf(page).press("Control+Shift+F");
  await page.waitForFunction(() => document.querySelectorAll(".cm-content .cm-line").length > 5);
  assert.equal(
    (await textOf(page)).trim(),
    TICKET.replace(
      '[\n    { "from": "open", "to": "closed", "on": "close" }\n  ]',
      '[{ "from": "open", "to": "closed", "on": "close" }]',
    ),
  );
  await page.keyboard.press("Control+z");
  assert.equal(await textOf(page), dense);
  quiet(opened);
});

test("Tab indents, and Escape before it leaves; both are said", { skip }, async () => {
  const page = await withText("{\n}");
  const editor = editorOf(page);
  await editor.press("Control+Home");
  await page.keyboard.press("Tab");
  assert.equal(await textOf(page), "  {\n}");
  const described = await editor.getAttribute("aria-describedby");
  assert.match(await page.locator(`[id="${described ?? ""}"]`).innerText(), /Escape, then Tab, to leave/);
  await page.keyboard.press("Escape");
  await page
    .locator(".cm-announced", { hasText: "Tab now leaves the editor" })
    .waitFor({ state: "attached" });
  await page.keyboard.press("Tab");
  assert.ok(await editor.evaluate((element) => element !== document.activeElement));
  assert.equal(await textOf(page), "  {\n}");
  quiet(opened);
});

test("what a key means is shown where the pointer rests", { skip }, async () => {
  const page = await withText(TICKET);
  await editorOf(page).locator(".editor-key", { hasText: '"on"' }).hover();
  await page
    .getByRole("tooltip")
    .or(page.locator(".editor-hover"))
    .getByText("The event type, or $timeout.")
    .waitFor();
  quiet(opened);
});

const PARCEL = `import { assign, setup } from "xstate";
// createMachine({ not: "this" })
export const parcel = setup({
  types: {} as { context: { n: number }; events: { type: "send" } | { type: "lose" } },
  delays: { week: 7 * 24 * 60 * 60 * 1000 },
}).createMachine({
  id: 'parcel',
  initial: "packed",
  context: { n: 0, },
  states: {
    packed: { on: { send: { target: 'away', actions: assign({ n: () => window.ran = true }) } } },
    away: { after: { week: \`lost\` }, on: { arrive: "here", lose: { target: "lost", guard: "isLost" } } },
    here: { type: 'final' as const },
    lost: {},
  },
});`;

test("a machine of XState is read without being run, listed and imported", { skip }, async () => {
  const page = await withText(TICKET);
  await page.getByRole("button", { name: "Import from XState" }).click();
  const dialog = page.getByRole("dialog", { name: "Import from XState" });
  await dialog.getByLabel("Machine of XState v5").fill(PARCEL.replace("'parcel',", "'parcel' !,;"));
  await dialog.getByRole("button", { name: "Read" }).click();
  await dialog
    .getByRole("alert")
    .getByText(/Line 7, column 1\d: /)
    .waitFor();
  await dialog.getByLabel("Machine of XState v5").fill(PARCEL);
  await dialog.getByRole("button", { name: "Read" }).click();
  const read = dialog.getByRole("region", { name: "What was read" });
  await read.getByText("Line 11, column 54: call of assign at actions").waitFor();
  await read.getByText(/guard isLost/).waitFor();
  await dialog.getByText("What names of guards, actions and delays mean").click();
  const map = { guards: { isLost: { field: "lost", op: "eq", value: true } } };
  await dialog.getByLabel("Map (JSON)").fill(JSON.stringify(map));
  await dialog.getByRole("button", { name: "Read" }).click();
  await read.waitFor();
  assert.equal(await read.getByText(/guard isLost/).count(), 0);
  await dialog.getByRole("button", { name: "Import the machine" }).click();
  const replace = page.getByRole("dialog").getByRole("button", { name: /Import|Load|Replace/ });
  if (await replace.isVisible()) await replace.click();
  await page.getByRole("textbox", { name: "Definition of parcel" }).waitFor();
  const imported: unknown = JSON.parse(await textOf(page));
  assert.deepEqual(Object(imported)["transitions"], [
    { from: "packed", to: "away", on: "send" },
    { from: "away", to: "here", on: "arrive" },
    { from: "away", to: "lost", on: "lose", guard: map.guards.isLost },
    { from: "away", to: "lost", on: "$timeout", guard: { after_ms: 604_800_000 } },
  ]);
  assert.equal(await page.evaluate(() => "ran" in window), false);
  quiet(opened);
});

test("what differs between two revisions is counted, and gone through by keyboard", { skip }, async () => {
  const { service } = on;
  const first: unknown = JSON.parse(TICKET);
  const second = { ...Object(first), description: "of a shop", initial_state: "closed" };
  await service.register(Object(first));
  await service.expect(200, "PUT", "/api/machines/ticket", { body: second });
  const { page } = opened;
  await on.signIn(page);
  await page.goto(`${on.url}/#/console/machines/ticket`);
  await page.getByRole("tab", { name: "Revisions" }).click();
  const diff = page.getByRole("region", { name: "Revision 1 and Revision 2" });
  await diff.getByText("2 changes").waitFor();
  await diff.locator(".cm-merge-b .cm-changedLine", { hasText: "of a shop" }).waitFor();
  await diff.getByRole("button", { name: /^Next change/ }).click();
  await diff.getByText("Change 1 of 2").waitFor();
  await page.keyboard.press("F7");
  await diff.getByText("Change 2 of 2").waitFor();
  await page.keyboard.press("Shift+F7");
  await diff.getByText("Change 1 of 2").waitFor();
  await page.setViewportSize({ width: 420, height: 800 });
  await diff.locator(".cm-deletedChunk", { hasText: "initial_state" }).waitFor();
  quiet(opened);
});
