// What comes into the simulator and goes out of it: examples, files that the command checks, links, XState.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import type { Locator, Page } from "playwright-core";
import type { Scenario } from "statewright";

import { ROOT } from "../../scripts/paths.ts";
import { event, load, panels, payloadOf } from "./simulator-page.ts";
import { quiet, skip, stage } from "./support.ts";

const STATEWRIGHT = join(ROOT, "node_modules", ".bin", "statewright");

/** Plays a file with the built command. */
function check(file: string): { status: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [STATEWRIGHT, "check", file], {
    encoding: "utf8",
  });
  return { status, text: stdout + stderr };
}

const told = (page: Page, words: string): Promise<void> =>
  panels(page).getByText(words, { exact: true }).waitFor();
const button = (page: Page, name: string): Locator => page.getByRole("button", { name, exact: true });
const definition = (page: Page): Locator => page.locator(".cm-content").first();

const door = (id: string) =>
  JSON.stringify({
    machine_id: id,
    states: ["shut", "open"],
    initial_state: "shut",
    transitions: [
      { from: "shut", to: "open", on: "push" },
      { from: "open", to: "shut", on: "pull" },
    ],
  });

test("what comes into the simulator and goes out of it", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "statewright-share-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const on = await stage();
  const opened = await on.open("", {
    permissions: ["clipboard-read", "clipboard-write"],
    acceptDownloads: true,
  });
  const { page } = opened;
  await told(page, "5 of 5 steps done");

  await t.test("the menu of examples is gone through by keys", async () => {
    const menu = button(page, "Examples");
    await menu.focus();
    await page.keyboard.press("ArrowDown");
    const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? "");
    assert.match(await focused(), /^Order/);
    assert.equal(await menu.getAttribute("aria-expanded"), "true");
    await page.keyboard.press("End");
    assert.match(await focused(), /^Subscription/);
    await page.keyboard.press("ArrowDown");
    assert.match(await focused(), /^Order/);
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("menu").count(), 0);
    assert.match(await focused(), /^Examples/);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("a");
    assert.match(await focused(), /^Approval with timeouts.*Reminders/);
    await page.keyboard.press("Enter");
    await told(page, "4 of 4 steps done");
    assert.match(await definition(page).innerText(), /"machine_id": "approval"/);
    assert.match(await focused(), /^Examples/);
  });

  await t.test(
    "a saved scenario passes the command, and fails it where it expects something else",
    async () => {
      await event(page, "reject").click();
      await told(page, "5 of 5 steps done");
      await button(page, "Save scenario").click();
      await page.getByLabel("Name").fill("an expense / rejected");
      const download = page.waitForEvent("download");
      await button(page, "Download").click();
      const saved = await download;
      assert.equal(saved.suggestedFilename(), "an-expense-rejected.scenario.json");
      const file = join(folder, saved.suggestedFilename());
      await saved.saveAs(file);

      const passes = check(file);
      assert.equal(passes.status, 0, passes.text);
      const scenario = JSON.parse(readFileSync(file, "utf8")) as Scenario;
      assert.deepEqual(
        scenario.steps.map(({ op, expect }) => [op, expect?.outcome, expect?.state]),
        [
          ["create", undefined, "draft"],
          ["transition", "applied", "submitted"],
          ["transition", "no_transition", "submitted"],
          ["advance", undefined, undefined],
          ["entity", undefined, "reminded"],
          ["transition", "applied", "rejected"],
        ],
      );
      const other = join(folder, "other.json");
      writeFileSync(other, JSON.stringify(scenario).replace('"state":"rejected"', '"state":"approved"'));
      const fails = check(other);
      assert.equal(fails.status, 1, fails.text);
      assert.match(fails.text, /expected the state "approved", and it is "rejected"/);
    },
  );

  await t.test("a saved scenario is loaded again, with its history", async () => {
    await button(page, "Start over").click();
    const asks = page.getByRole("dialog", { name: "Start over?" });
    assert.match(await asks.innerText(), /4 steps are forgotten/);
    await asks.getByRole("button", { name: "Start over" }).click();
    await told(page, "1 of 1 step done");
    await event(page, "submit").waitFor();

    await load(page, [
      { name: "x.json", text: readFileSync(join(folder, "an-expense-rejected.scenario.json"), "utf8") },
    ]);
    await told(page, "5 of 5 steps done");
    await panels(page).getByText("reminded → rejected").waitFor();
  });

  await t.test("a scenario without what came of it passes as well", async () => {
    await button(page, "Save scenario").click();
    await page.getByLabel(/Record what came/).uncheck();
    const download = page.waitForEvent("download");
    await page.keyboard.press("Enter");
    const file = join(folder, "plain.json");
    await (await download).saveAs(file);
    assert.equal(check(file).status, 0);
    assert.doesNotMatch(readFileSync(file, "utf8"), /"expect"/);
  });

  await t.test("what was changed is not lost unasked", async () => {
    await panels(page).getByRole("button", { name: "Undo", exact: true }).click();
    await event(page, "reject").click();
    await button(page, "Start over").click();
    await page.getByRole("dialog").getByRole("button", { name: "Leave it" }).click();
    await told(page, "5 of 5 steps done");
    await panels(page).getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByRole("button", { name: "Step 1 day" }).click();
    await load(page, [{ name: "door.json", text: door("door") }]);
    const asks = page.getByRole("dialog", { name: "Load door.json?" });
    await asks.waitFor();
    await page.keyboard.press("Escape");
    await asks.waitFor({ state: "detached" });
    assert.match(await definition(page).innerText(), /"machine_id": "approval"/);
    await load(page, [{ name: "door.json", text: door("door") }]);
    await asks.getByRole("button", { name: "Load it" }).click();
    await event(page, "push").waitFor();
    assert.match(await definition(page).innerText(), /"machine_id": "door"/);
  });

  await t.test("definitions come in files, one or several, and dropped on the page", async () => {
    await load(page, [
      { name: "a.json", text: door("a") },
      { name: "b.json", text: door("b") },
    ]);
    await page.getByRole("tab", { name: "b", exact: true }).waitFor();

    const data = await page.evaluateHandle(
      (text) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([text], "list.json", { type: "application/json" }));
        return transfer;
      },
      `[${door("c")},${door("d")}]`,
    );
    const target = definition(page);
    await target.dispatchEvent("dragenter", { dataTransfer: data });
    await page.getByText("Drop a scenario or definitions to load them").waitFor();
    await target.dispatchEvent("drop", { dataTransfer: data });
    await page.getByRole("tab", { name: "d", exact: true }).waitFor();
    assert.equal(await page.getByText("Drop a scenario").count(), 0);
    assert.doesNotMatch(await definition(page).innerText(), /"machine_id": "[ab]"/);
  });

  await t.test("a file that cannot be read is told, and changes nothing", async () => {
    for (const [text, says] of [
      ["{", /x\.json: It is no JSON/],
      [
        '{"machine_id":"<img src=x onerror=alert(1)>","states":["a"],"initial_state":"b","transitions":[]}',
        /<img src=x onerror=alert\(1\)>.*initial_state/,
      ],
      ['{"statewright":"scenario/9"}', /scenario of this version/],
      [`{"statewright":"scenario/1","machines":[${door("c")}],"steps":[{"op":"explode"}]}`, /explode/],
    ] as const) {
      await load(page, [{ name: "x.json", text }]);
      const dialog = page.getByRole("dialog", { name: "Could not load x.json" });
      assert.match(await dialog.getByRole("alert").innerText(), says);
      await dialog.getByRole("button", { name: "Close" }).click();
    }
    await page.getByRole("tab", { name: "d", exact: true }).waitFor();
  });

  await t.test("a machine of XState is imported", async () => {
    await button(page, "Import from XState").click();
    const dialog = page.getByRole("dialog", { name: "Import from XState" });
    await dialog
      .getByLabel("Machine of XState v5")
      .fill(
        "createMachine({ id: 'light', initial: 'red', states: { red: { on: { GO: 'green' } }, green: {} } })",
      );
    await dialog.getByRole("button", { name: "Read" }).click();
    await dialog.getByRole("button", { name: "Import the machine" }).click();
    await event(page, "GO").click();
    await panels(page).getByText("red → green").waitFor();
  });

  await t.test("a link opens in another profile, with definition, history and state", async () => {
    await button(page, "Examples").click();
    await page.getByRole("menuitem", { name: /Bundle/ }).click();
    await button(page, "Load it").click();
    await event(page, "inspected").click();
    await told(page, "11 of 11 steps done");
    await button(page, "Share link").click();
    const dialog = page.getByRole("dialog", { name: "Share as a link" });
    const link = await dialog.getByLabel("Link").inputValue();
    await dialog.getByText(`${link.length.toLocaleString("en")} characters`).waitFor();
    await page.getByText("The link is copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
    await dialog.getByRole("button", { name: "Close" }).click();

    const other = await on.open(new URL(link).hash);
    await told(other.page, "11 of 11 steps done");
    assert.match(await definition(other.page).innerText(), /"machine_id": "bundle"/);
    await panels(other.page).getByText("refund: waiting → due").waitFor();
    await panels(other.page)
      .getByRole("tab", { name: /Entities/ })
      .click();
    await panels(other.page).getByText("b1: returned, b2: returned, refund: due").waitFor();
    await panels(other.page)
      .getByRole("tab", { name: /History/ })
      .click();
    await panels(other.page).getByRole("button", { name: "Undo", exact: true }).click();
    await event(other.page, "inspected").waitFor();
    quiet(other);
    await other.context.close();
  });

  await t.test("what is too long for a link is said, and saved instead", async () => {
    const noise = Array.from({ length: 35_000 }, (_, at) => ((at * 7919) % 99991).toString(36)).join("");
    await load(page, [{ name: "long.json", text: door("long").replace("{", `{"meta":"${noise}",`) }]);
    await button(page, "Load it").click();
    await event(page, "push").waitFor();
    await button(page, "Share link").click();
    const dialog = page.getByRole("dialog", { name: "Share as a link" });
    await dialog.getByText(/too long for a link/).waitFor();
    assert.equal(await dialog.getByLabel("Link").count(), 0);
    await dialog.getByRole("button", { name: "Save scenario instead" }).click();
    await page.getByRole("dialog", { name: "Save scenario" }).getByRole("button", { name: "Cancel" }).click();
  });

  await t.test("broken and hostile links are told for what they are, and the simulator stands", async () => {
    const hostile = {
      machine_id: "<script>x</script>",
      states: ["__proto__"],
      initial_state: "__proto__",
      transitions: [],
    };
    const other = await on.open();
    for (const [payload, says] of [
      ["1!!!", /characters that no link has/],
      [payloadOf(door("x")).slice(0, -9), /cut off/],
      [payloadOf(`"${"a".repeat(20_000_000)}"`), /more than 2 MB/],
      [
        payloadOf(JSON.stringify({ definitions: [{ ...hostile, initial_state: "no" }] })),
        /<script>x<\/script>/,
      ],
    ] as const) {
      await other.page.goto(`${on.url}/#/s/${payload}`);
      const alert = other.page.getByRole("alert").filter({ hasText: says });
      assert.match(await alert.innerText(), /The link cannot be opened/);
    }
    await told(other.page, "5 of 5 steps done");
    await other.page.goto(`${on.url}/#/s/${payloadOf(JSON.stringify({ definitions: [hostile] }))}`);
    await other.page.getByRole("tab", { name: "<script>x</script>" }).waitFor();
    await panels(other.page)
      .getByRole("tab", { name: /Entries/ })
      .click();
    await panels(other.page).getByRole("cell", { name: "__proto__" }).waitFor();
    assert.equal(await other.page.getByRole("alert").count(), 0);
    quiet(other);
    await other.context.close();
  });

  await t.test("the page had nothing to complain of", () => quiet(opened));
});
