// The scheduler in the console: what its last pass did, what is late, and what is parked until somebody looks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { concernsOf } from "../../www/src/console/scheduler/verdict.ts";
import { delivered } from "../http/sink.ts";
import { make, park, stock } from "./console-entity-stock.ts";
import { goTo, type Opened, quiet, skip, type Stage, stage } from "./support.ts";
import type { Page } from "playwright-core";

const pass = {
  at: 1_000_000,
  scanned: 0,
  due: 0,
  fired: 0,
  stale: 0,
  parked: 0,
  failed: 0,
  rearmed: 0,
  lag_ms: 0,
  more: false,
};
const well = { last_pass: pass, overdue: [], parked: [], failing: [] };

test("a scanner is well until it is silent for three minutes, or timers are late for one", () => {
  assert.deepEqual(concernsOf(well, pass.at + 180_000), []);
  // A browser's clock may be behind the service's.
  assert.deepEqual(concernsOf(well, 0), []);
  assert.deepEqual(concernsOf(well, pass.at + 180_001), [{ is: "silent", since: pass.at }]);
  assert.deepEqual(concernsOf({ ...well, last_pass: null }, 0), [{ is: "never" }]);
  const soon = { from_ms: 10_000, to_ms: 60_000, timers: 9 };
  const late = { from_ms: 60_000, to_ms: 600_000, timers: 2 };
  const lost = { from_ms: 86_400_000, to_ms: null, timers: 10_000 };
  assert.deepEqual(concernsOf({ ...well, overdue: [soon] }, pass.at), []);
  assert.deepEqual(concernsOf({ ...well, overdue: [soon, late] }, pass.at), [
    { is: "late", timers: 2, more: false },
  ]);
  assert.deepEqual(concernsOf({ ...well, overdue: [late, lost] }, pass.at), [
    { is: "late", timers: 10_002, more: true },
  ]);
});

let on: Stage;
let opened: Opened;
let page: Page;

/** A machine whose timeout is due at once. */
const brief = {
  machine_id: "brief",
  states: ["here", "gone"],
  initial_state: "here",
  transitions: [{ from: "here", to: "gone", on: "$timeout", guard: { after_ms: 1 } }],
};

if (skip === false) {
  on = await stage();
  await stock(on.service);
  await on.service.register(brief);
  opened = await on.open();
  page = opened.page;
  await on.signIn(page);
  await visit();
}

async function visit(): Promise<void> {
  await goTo(page, "#/console/scheduler");
  await page.getByRole("heading", { level: 1, name: "Scheduler" }).waitFor();
}

const refresh = () => page.getByRole("button", { name: "Refresh now" }).click();
const table = (name: string) => page.getByRole("region", { name });
const fact = (name: RegExp) => table("Last pass").getByRole("row", { name });

test("a scanner that never ran is told, and what that means", { skip }, async () => {
  await page.getByText("The scanner has made no pass yet.").waitFor();
  await page.getByText("There was none.").waitFor();
  await page.getByText(/cron trigger does not run\. A timeout is applied before any later event/).waitFor();
});

test("what is overdue is counted by its lateness, and gone after the next pass", { skip }, async () => {
  for (const id of ["b-1", "b-2", "b-3"]) await make(on.service, "brief", id);
  await on.service.runtime.sql(
    "UPDATE entries SET wake_at = wake_at - 120000 WHERE entity_id IN ('b-1', 'b-2')",
  );
  await refresh();
  const overdue = table("Overdue timers by how late they are");
  await overdue.getByRole("row", { name: /^1 min to 10 min 2/ }).waitFor();
  await overdue
    .getByRole("row", { name: /^up to 10 s 1/ })
    .or(overdue.getByRole("row", { name: /^10 s to 1 min 1/ }))
    .waitFor();
  await page.getByText("2 timers are more than a minute overdue.").waitFor();

  await on.service.runtime.scheduled();
  await refresh();
  await overdue.getByRole("row", { name: /^1 min to 10 min 0/ }).waitFor();
  await page.getByText("The scanner runs, and no timer of this tenant is late or in trouble.").waitFor();
  await fact(/^At .* ago/).waitFor();
});

test("the last pass says what it did", { skip }, async () => {
  const path = "/api/scheduler";
  await make(on.service, "brief", "b-4");
  await delivered(on.service, "b-4 is gone", async () => {
    const found = await on.service.expect(200, "GET", "/api/machines/brief/entities/b-4");
    return found.current_state === "gone";
  });
  const { last_pass } = await on.service.expect(200, "GET", path);
  await refresh();
  await fact(new RegExp(`^Scanned ${last_pass.scanned} due timers that it read`)).waitFor();
  await fact(new RegExp(`^Fired ${last_pass.fired}\\b`)).waitFor();
  await fact(/^Errors 0/).waitFor();
  await fact(/^Lag \d+ (ms|s|min)/).waitFor();
});

test("a scanner that has stopped is told in words", { skip }, async () => {
  await on.service.runtime.sql(
    "UPDATE scheduler SET report = json_set(report, '$.at', json_extract(report, '$.at') - 720000)",
  );
  await refresh();
  await page.getByText("The last pass was 12 min ago").waitFor();
  await page.getByText(/it seems that the cron trigger does not run/).waitFor();
  await on.service.runtime.scheduled();
  await refresh();
  await page.getByText(/it seems that the cron trigger does not run/).waitFor({ state: "detached" });
});

test(
  "a parked timer says why, leads to its entity, and is released once its reason is mended",
  { skip },
  async () => {
    await park(on.service, "p-1");
    await refresh();
    await page.getByText("1 timer is parked:").waitFor();
    const row = table("Parked timers").getByRole("row", { name: /p-1/ });
    await row.getByText(/NOT_FOUND: there is no machine `nowhere`/).waitFor();
    await on.service.register({
      machine_id: "nowhere",
      states: ["at"],
      initial_state: "at",
      transitions: [],
    });
    await row.getByRole("link", { name: "p-1" }).click();
    await page.getByRole("heading", { level: 1, name: "p-1" }).waitFor();
    assert.match(page.url(), /entity\/parking\/p-1\/timers$/);
    await visit();

    await row.getByRole("button", { name: "Release" }).click();
    const asked = page.getByRole("dialog", { name: "Release the timer?" });
    await asked.getByText(/tries 1 parked timer of p-1 again/).waitFor();
    await asked.getByRole("button", { name: "Leave it" }).click();
    await row.getByRole("button", { name: "Release" }).click();
    await asked.getByRole("button", { name: "Release", exact: true }).click();
    await page.getByText("Released 1 timer of p-1").waitFor();
    await page.getByText("No timer is parked.").waitFor();
    await delivered(on.service, "p-1 works", async () => {
      const found = await on.service.expect(200, "GET", "/api/machines/parking/entities/p-1");
      return found.current_state === "working";
    });
  },
);

test("a failing timer says why, how often, and when it is tried again", { skip }, async () => {
  await make(on.service, "brief", "b-9");
  await on.service.runtime.sql(
    "UPDATE entries SET failures = 3, error = 'STATE_STORE: <b>away</b>', wake_at = wake_at + 3600000 WHERE entity_id = 'b-9'",
  );
  await refresh();
  await page.getByText("1 timer is failing").waitFor();
  const row = table("Failing timers").getByRole("row", { name: /b-9/ });
  await row.getByText("STATE_STORE: <b>away</b>").waitFor();
  await row.getByRole("cell", { name: "3", exact: true }).waitFor();
  await row.getByText(/^in 59 min/).waitFor();
  quiet(opened);
});
