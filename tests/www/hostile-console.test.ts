// A service that means harm, in the console: all that it names is shown as text, and nothing of it runs.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { visibleText } from "../../www/src/parts/visible-text.ts";
import { HOSTILE, harmless, machineOf } from "./hostile-names.ts";
import { type Opened, skip, type Stage, stage } from "./support.ts";

let on: Stage;
let opened: Opened;
if (skip === false) {
  on = await stage();
  opened = await on.open();
}

/** Waits until nothing of the console's view is still being read. */
async function read(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const main = document.querySelector("main");
    return (
      main !== null &&
      main.innerText.trim() !== "" &&
      main.querySelector(".loading, [aria-busy=true]") === null
    );
  });
}

for (const [what, names] of Object.entries(HOSTILE)) {
  test(`a service of ${what} is shown in the console as text`, { skip }, async () => {
    const { service } = on;
    const { page } = opened;
    const [machine = "", entity = "", first = "", second = ""] = names;
    await service.register(machineOf(names));
    const path = `/api/machines/${encodeURIComponent(machine)}/entities`;
    const context = Object.fromEntries([
      ...names.map((name) => [name, names]),
      ["deep", { [entity]: { [first]: second } }],
    ]);
    await service.expect(201, "POST", path, { body: { entity_id: entity, context } });
    for (const event_type of [first, second]) {
      const params = Object.fromEntries(names.map((name) => [name, name]));
      await service.expect(200, "POST", `${path}/${encodeURIComponent(entity)}/transition`, {
        body: { event_type, params, idempotency_key: `${entity} ${event_type}` },
      });
    }
    await page.goto("about:blank");
    await on.signIn(page);
    await page
      .getByRole("link", { name: visibleText(machine), exact: true })
      .first()
      .waitFor();
    const visit = async (...to: string[]) => {
      await page.goto(`${on.url}/#/${["console", ...to].map(encodeURIComponent).join("/")}`);
      await read(page);
      await harmless(page);
    };
    await visit("machines");
    await visit("machines", machine);
    await page.getByRole("heading", { level: 1, name: visibleText(machine), exact: true }).waitFor();
    for (const tab of await page.getByRole("main").getByRole("tab").all()) {
      await tab.click();
      await read(page);
      await harmless(page);
    }
    await visit("machines", machine, "entities");
    await page
      .getByRole("link", { name: visibleText(entity), exact: true })
      .first()
      .waitFor();
    await visit("entity", machine, entity);
    await page.getByRole("heading", { level: 1, name: visibleText(entity), exact: true }).waitFor();
    for (const tab of await page.getByRole("main").getByRole("tab").all()) {
      await tab.click();
      await read(page);
      await harmless(page);
    }
    for (const view of ["outbox", "scheduler", "sources"]) await visit(view);
    await visit("entity", second, first);
    await visit("machines", `${second}?`);
    await page.getByRole("alert").first().waitFor();
    // Each view that there is not is one refused answer, of which the browser tells as well.
    const others = opened.complaints.splice(0).filter((line) => !/status of 404/.test(line));
    assert.deepEqual(others, []);
  });
}
