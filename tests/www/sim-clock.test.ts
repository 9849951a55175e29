// The simulator's clock: stepped, set, jumped to the next timer, and run.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Locator, Page } from "playwright-core";

import { quiet, skip, stage } from "./support.ts";

const clock = (page: Page): Locator => page.getByRole("region", { name: "Clock" });
const state = (page: Page, name: string): Promise<void> =>
  page.getByRole("group", { name: "State" }).getByText(name, { exact: true }).waitFor();
const reads = (page: Page, text: string): Promise<void> => clock(page).getByText(text).first().waitFor();
const last = (page: Page, text: RegExp): Promise<void> =>
  page.getByRole("region", { name: "Entity" }).getByText(text).waitFor();
const press = (page: Page, name: string): Promise<void> =>
  clock(page).getByRole("button", { name, exact: true }).click();
const undo = (page: Page): Promise<void> => page.getByRole("button", { name: "Undo the last step" }).click();

/** The order of the first example, placed at 09:00 and not paid: its timer is due a day later. */
async function placed(page: Page): Promise<void> {
  for (let step = 5; step > 1; step -= 1) {
    await last(page, new RegExp(`^Step ${step}[ :]`));
    await undo(page);
  }
  await last(page, /^Step 1 of 5/);
  await state(page, "placed");
}

test("the clock of the simulator", { skip }, async (t) => {
  const on = await stage();
  const opened = await on.open();
  const { page } = opened;
  await placed(page);

  await t.test("it says what time it is, and what is due next with the time left", async () => {
    await reads(page, "2026-01-05 09:00:00 UTC");
    await reads(page, "Next in 1 d: the timer of placed (o-1001)");
  });

  await t.test("it is stepped by amounts, and by one's own", async () => {
    await press(page, "Step 1 s");
    await reads(page, "2026-01-05 09:00:01");
    await press(page, "Step 1 min");
    await press(page, "Step 1 h");
    await reads(page, "2026-01-05 10:01:01");
    await reads(page, "Next in 22 h 58 min");
    const own = clock(page).getByLabel("Step by, such as 2 h 30 min");
    await own.fill("soon");
    await own.press("Enter");
    assert.equal(await own.getAttribute("aria-invalid"), "true");
    await own.fill("2 h 58 min 59 s");
    await own.press("Enter");
    await reads(page, "2026-01-05 13:00:00");
    await press(page, "Step 1 day");
    await state(page, "cancelled");
    await last(page, /^Step 6: Clock to 2026-01-06 13:00:00 1 d later: placed → cancelled$/);
    await reads(page, "No timer is armed.");
    await undo(page);
    await state(page, "placed");
    await reads(page, "2026-01-05 13:00:00");
  });

  await t.test("it jumps to the next timer, by button and by key", async () => {
    await press(page, "Next timer");
    await state(page, "cancelled");
    await reads(page, "2026-01-06 09:00:00");
    assert.equal(await clock(page).getByRole("button", { name: "Next timer" }).isDisabled(), true);
    await undo(page);
    await state(page, "placed");
    await page.getByRole("heading", { name: "What can happen now" }).focus();
    await page.keyboard.press("Control+.");
    await state(page, "cancelled");
    await undo(page);
    await state(page, "placed");
  });

  await t.test("it is set to a date, and does not go back", async () => {
    await press(page, "Set the clock");
    const dialog = page.getByRole("dialog", { name: "Set the clock" });
    const field = dialog.getByLabel("Date and time (UTC)");
    await field.fill("2026-02-31");
    await dialog.getByText(/^A date and time such as/).waitFor();
    await field.fill("2026-01-05");
    await dialog.getByText("The clock does not go back. Undo does.").waitFor();
    await field.fill("2026-01-06 08:59");
    await field.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await reads(page, "2026-01-06 08:59:00");
    await reads(page, "Next in 1 min");
    await state(page, "placed");
  });

  await t.test(
    "it runs many times as fast, fires what is due at its time, and stops when nothing is left",
    async () => {
      await clock(page).getByLabel("Speed").selectOption({ label: "3,600×" });
      await press(page, "Run");
      await reads(page, "Nothing is left to wait for.");
      await state(page, "cancelled");
      await reads(page, "2026-01-06 09:00:00");
      await clock(page).getByRole("button", { name: "Run" }).waitFor();
      // All of the run is one step.
      await undo(page);
      await reads(page, "2026-01-06 08:59:00");
      await state(page, "placed");
    },
  );

  await t.test("it is paused, and goes on from there; an undo pauses it as well", async () => {
    await clock(page).getByLabel("Speed").selectOption({ label: "1×" });
    await press(page, "Run");
    await last(page, /^Step \d+: the clock runs$/);
    await press(page, "Pause");
    await last(page, /^Step \d+( of \d+)?: Clock to /);
    await page.getByRole("heading", { name: "What can happen now" }).focus();
    await page.keyboard.press("Control+Shift+Enter");
    await clock(page).getByRole("button", { name: "Pause" }).waitFor();
    await last(page, /^Step \d+: the clock runs$/);
    await undo(page);
    await clock(page).getByRole("button", { name: "Run" }).waitFor();
    await state(page, "placed");
  });

  await t.test("events are sent while it runs, and their timers are armed", async () => {
    await page.getByRole("button", { name: "Examples" }).click();
    await page.getByRole("menuitem", { name: "Approval with timeouts" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Load it" }).click();
    await state(page, "reminded");
    await press(page, "Next timer");
    await state(page, "escalated");
    await press(page, "Next timer");
    await state(page, "expired");
    await reads(page, "No timer is armed.");
    await press(page, "Run");
    await reads(page, "No timer is armed: there is nothing to wait for.");
  });

  quiet(opened);
});
