// The keyboard goes on from where it was, also where what was pressed has nothing more to do; and what no tab has is not drawn.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Locator, Page } from "playwright-core";

import { load, panels } from "./simulator-page.ts";
import { type Opened, quiet, skip, type Stage, stage } from "./support.ts";

const door = {
  machine_id: "door",
  states: ["shut", "open"],
  initial_state: "shut",
  transitions: [{ from: "shut", to: "open", on: "push" }],
};
const gate = { ...door, machine_id: "gate", states: ["shut", "open", "broken"] };

let on: Stage;
let opened: Opened;
let page: Page;

if (skip === false) {
  on = await stage();
  opened = await on.open();
  page = opened.page;
}

const button = (name: string) => page.getByRole("button", { name, exact: true });

/** Presses Enter on something that is gone to by keyboard. */
async function presses(on: Locator): Promise<void> {
  await on.focus();
  await page.keyboard.press("Enter");
}

async function hasFocus(on: Locator): Promise<void> {
  await on.and(page.locator(":focus")).waitFor();
}

test("undo, redo and remove keep the focus where nothing is left to do", { skip }, async () => {
  const scenario = {
    statewright: "scenario/1",
    machines: [door],
    steps: [{ op: "create", at: 0, args: { machine_id: "door", body: { entity_id: "d-1" } } }],
  };
  await load(page, [{ name: "door.json", text: JSON.stringify(scenario) }]);
  const history = panels(page);
  await history.getByText("1 of 1 step done").waitFor();
  for (const [undo, redo] of [
    [button("Undo the last step"), button("Redo the next step")],
    [history.getByRole("button", { name: "Undo" }), history.getByRole("button", { name: "Redo" })],
  ] as const) {
    await presses(undo);
    await history.getByText("0 of 1 step done").waitFor();
    await page.getByText("The one step is undone.").waitFor();
    await hasFocus(undo);
    // Nothing more happens by it.
    await page.keyboard.press("Enter");
    await history.getByText("0 of 1 step done").waitFor();
    await presses(redo);
    await history.getByText("1 of 1 step done").waitFor();
    await hasFocus(redo);
  }

  await button("Add a machine").click();
  const tabs = page.getByRole("tablist", { name: "Machines" }).getByRole("tab");
  await tabs.nth(1).waitFor();
  const remove = page.getByRole("button", { name: /^Remove / });
  await presses(remove);
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await tabs.nth(1).waitFor({ state: "detached" });
  await hasFocus(remove);
  assert.equal(await remove.getAttribute("aria-disabled"), "true");
  quiet(opened);
});

test("an entity of a machine that no tab has is not shown on another's diagram", { skip }, async () => {
  const scenario = {
    statewright: "scenario/1",
    machines: [door],
    steps: [
      { op: "register", at: 0, args: { body: gate } },
      { op: "create", at: 0, args: { machine_id: "gate", body: { entity_id: "g-1" } } },
    ],
  };
  await load(page, [{ name: "gate.json", text: JSON.stringify(scenario) }]);
  const sure = page.getByRole("dialog").getByRole("button", { name: "Load it" });
  await page.getByText("No tab has the machine gate: a step registered it.").or(sure).first().waitFor();
  if (await sure.isVisible()) await sure.click();
  await page.getByText("No tab has the machine gate: a step registered it.").waitFor();
  assert.equal(await page.getByRole("region", { name: "Diagram of door" }).count(), 0);
  quiet(opened);
});
