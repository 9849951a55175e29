// Definitions that mean harm, in the simulator: everything that they name is shown as text, nothing of it runs, and the page stays usable.

import { test } from "node:test";

import type { Locator, Page } from "playwright-core";

import { visibleText } from "../../www/src/parts/visible-text.ts";
import { HOSTILE, harmless, machineOf, MARKUP } from "./hostile-names.ts";
import { events } from "./simulator-page.ts";
import { type Opened, quiet, skip, type Stage, stage } from "./support.ts";

let on: Stage;
let opened: Opened;
if (skip === false) {
  on = await stage();
  opened = await on.open();
  opened.page.on(
    "dialog",
    // That the browser asks before a page is left is no doing of a definition.
    (dialog) =>
      void (dialog.type() === "beforeunload"
        ? dialog.accept()
        : dialog.dismiss().then(() => opened.complaints.push("a dialog was opened"))),
  );
}

const editorOf = (page: Page): Locator => page.getByRole("textbox", { name: /^Definition of/ });

/** The simulator with that definition, as text. */
async function simulate(text: string): Promise<Page> {
  const { page } = opened;
  await page.goto("about:blank");
  await page.goto(`${on.url}/#/`);
  await editorOf(page).waitFor();
  await write(page, text);
  return page;
}

/** Puts a text into the editor as a paste does. */
async function write(page: Page, text: string): Promise<void> {
  const editor = editorOf(page);
  await editor.press("Control+a");
  await editor.evaluate((element, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", pasted);
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}

/** Looks at every panel, and at the diagram drawn and as text. */
async function lookAround(page: Page): Promise<void> {
  for (const panel of await page.getByRole("tablist", { name: "Panels" }).getByRole("tab").all()) {
    await panel.click();
    await harmless(page);
  }
  const asText = page.getByRole("button", { name: "Show as text" });
  await asText.click();
  await harmless(page);
  await asText.click();
}

/** A machine that is right in everything, to see that the page still does what it is asked. */
const LAMP = JSON.stringify({
  machine_id: "lamp",
  states: ["off", "on"],
  initial_state: "off",
  transitions: [
    { from: "off", to: "on", on: "switch" },
    { from: "on", to: "off", on: "switch" },
  ],
});

for (const [what, names] of Object.entries(HOSTILE)) {
  test(`a machine of ${what} is simulated, and shown as text`, { skip }, async () => {
    const page = await simulate(JSON.stringify(machineOf(names), undefined, 2));
    const [first = "", second = "", third = ""] = names.map(visibleText);
    const event = events(page).getByRole("button", { name: third, exact: true }).first();
    await event.waitFor();
    const state = page.getByRole("region", { name: "Entity" }).getByRole("group", { name: "State" });
    await state.getByText(first, { exact: true }).waitFor();
    await event.click();
    await state.getByText(second, { exact: true }).waitFor();
    await harmless(page);
    await lookAround(page);
    await page.setViewportSize({ width: 360, height: 700 });
    for (const pane of await page.getByRole("tablist", { name: "Panes" }).getByRole("tab").all()) {
      await pane.click();
      await harmless(page);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    quiet(opened);
  });
}

/** The guard `all: [all: […]]` so deep. */
function deepGuard(depth: number): string {
  const inner = '{ "field": "n", "op": "eq", "value": 1 }';
  return `${'{ "all": ['.repeat(depth - 1)}${inner}${"] }".repeat(depth - 1)}`;
}

const lampWith = (more: string): string => LAMP.replace('"machine_id"', `${more}, "machine_id"`);
const lampGuarded = (guard: string): string =>
  LAMP.replace('"on":"switch"', `"on":"switch","guard":${guard}`);
const HUGE = "x".repeat(100_000);

/** Texts, and what the editor counts in each of them. */
const TEXTS: readonly (readonly [what: string, text: string, counts: RegExp])[] = [
  ["a description of 100,000 characters", lampWith(`"description": "${HUGE}"`), /^No faults$/],
  ["names of 100,000 characters", LAMP.replaceAll('"off"', `"${HUGE}"`), /^\d+ faults?$/],
  ["a machine's id of 100,000 characters", LAMP.replace('"lamp"', `"${HUGE}"`), /^1 fault$/],
  ["guards 32 deep", lampGuarded(deepGuard(32)), /^No faults$/],
  ["guards 40 deep", lampGuarded(deepGuard(40)), /^1 fault$/],
  ["10,000 brackets", lampWith(`"meta": ${"[".repeat(10_000)}${"]".repeat(10_000)}`), /^\d+ faults?$/],
  ["10,000 brackets that are not closed", lampWith(`"meta": ${"[".repeat(10_000)}`), /^\d+ faults?$/],
  [
    "keys that stand twice",
    lampWith('"label": "<b>", "label": "a", "__proto__": {"harmed": 1}'),
    /^1 fault, 1 warning$/,
  ],
  [
    "huge numbers",
    lampGuarded('{"field":"n","op":"gt","value":123456789012345678901234567890123456789}'),
    /^(No faults|1 warning)$/,
  ],
  [
    "a number beyond all",
    lampGuarded('{"field":"n","op":"gt","value":1e999}'),
    /^(No faults|\d+ (fault|warning)s?)$/,
  ],
  ["half of a surrogate pair", lampWith('"description": "\\ud83d"'), /^1 fault$/],
  ["control characters", LAMP.replaceAll('"off"', '"\\u0000\\u001b[31m"'), /^\d+ faults?$/],
  ["nothing but null", "null", /^1 fault$/],
  ["a list", "[[], {}]", /^1 fault$/],
  ["markup in place of JSON", MARKUP.join("\n"), /^\d+ faults?$/],
];

test("whatever text is written, its faults are shown and the page stays usable", { skip }, async (t) => {
  const page = await simulate(LAMP);
  for (const [what, text, counts] of TEXTS) {
    await t.test(what, async () => {
      await write(page, text);
      await page.getByRole("button", { name: counts }).waitFor();
      await harmless(page);
      await write(page, LAMP);
      await page.getByRole("button", { name: "No faults", exact: true }).waitFor();
      await events(page).getByRole("button", { name: "switch", exact: true }).click();
      await harmless(page);
    });
  }
  quiet(opened);
});

test("a document of 2 MB can be written in, and left again", { skip }, async () => {
  const page = await simulate(LAMP);
  const states = Array.from({ length: 100_000 }, (_, at) => `"state number ${at}"`).join(",\n");
  await write(page, LAMP.replace('"off","on"', `"off","on",\n${states}`));
  await page.getByRole("button", { name: /\d+ (fault|warning)s?$/ }).waitFor();
  await editorOf(page).press("Control+Home");
  await page.keyboard.type(" ");
  await harmless(page);
  await write(page, LAMP);
  await page.getByRole("button", { name: "No faults", exact: true }).waitFor();
  await events(page).getByRole("button", { name: "switch", exact: true }).click();
  quiet(opened);
});

test("links that mean harm, or nothing, are told and lead on", { skip }, async () => {
  const { page } = opened;
  for (const fragment of [
    "#/s/AAAA",
    `#/s/${"A".repeat(5000)}`,
    "#/s/%E0%A4%A",
    `#/${encodeURIComponent(MARKUP[0])}`,
    "#/fork",
  ]) {
    await page.goto("about:blank");
    await page.goto(`${on.url}/${fragment}`);
    await editorOf(page).waitFor();
    await harmless(page);
  }
  quiet(opened);
});
