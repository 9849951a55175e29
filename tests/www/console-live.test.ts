// The console's live views: how often they read, and when they do not.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  FIRST_WAIT,
  LONGEST_HELD,
  LONGEST_UNCHANGED,
  nextWait,
  type Outcome,
  retryAfter,
} from "../../www/src/console/live-schedule.ts";
import { order } from "../http/support.ts";
import { refusedWith, unreached } from "./console-complaints.ts";
import { type Opened, quiet, skip, type Stage, stage } from "./support.ts";

/** The waits after reads with these outcomes, in seconds. */
function waits(...outcomes: Outcome[]): number[] {
  let wait = FIRST_WAIT;
  return outcomes.map((outcome) => (wait = nextWait(wait, outcome)) / 1000);
}

test("reads come less often while nothing changes, and at most each minute", () => {
  const same = waits(...Array<Outcome>(10).fill("same"));
  assert.deepEqual(same.slice(0, 4), [6, 9, 13.5, 20.25]);
  assert.equal(same.at(-1), 60);
  assert.deepEqual(waits("same", "same", "changed", "same"), [6, 9, 4, 6]);
});

test("reads come still less often while they fail, and at most each two minutes", () => {
  assert.deepEqual(waits("failed", "failed", "failed"), [8, 16, 32]);
  assert.equal(waits(...Array<Outcome>(10).fill("failed")).at(-1), 120);
  assert.deepEqual(waits("failed", "failed", "changed"), [8, 16, 4]);
  assert.equal(nextWait(120_000, "same"), 60_000);
});

test("Retry-After is seconds or a date", () => {
  const now = Date.UTC(2026, 0, 1);
  assert.equal(retryAfter(null, now), 0);
  assert.equal(retryAfter("", now), 0);
  assert.equal(retryAfter("90", now), 90_000);
  assert.equal(retryAfter("Thu, 01 Jan 2026 00:02:00 GMT", now), 120_000);
  assert.equal(retryAfter("Wed, 31 Dec 2025 00:02:00 GMT", now), 0);
  assert.equal(retryAfter("soon", now), 0);
  // A service can say what it likes: thirty days, and the year 9999.
  assert.equal(retryAfter("2592000", now), LONGEST_HELD);
  assert.equal(retryAfter("Fri, 31 Dec 9999 23:59:59 GMT", now), LONGEST_HELD);
});

let on: Stage;
let opened: Opened;
/** How often the view of `order` read its machine. */
let reads = 0;

if (skip === false) {
  on = await stage();
  await on.service.register(order);
  opened = await on.open("#/console/machines/order/entities");
  const { page } = opened;
  await page.clock.install();
  await page.getByLabel("Keep for this session (this tab)").check();
  await page.getByLabel("Address").fill(on.url);
  await page.getByLabel("Tenant").fill("t1");
  await page.getByLabel("API key").fill("test-key");
  page.on("request", (request) => {
    if (request.method() === "GET" && request.url().endsWith("/api/machines/order")) reads += 1;
  });
  await page.keyboard.press("Enter");
  await page.getByText("This machine has no entities yet.").waitFor();
  // From here on the page's clock stands, but where a test moves it.
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000));
}

const bar = () => opened.page.getByRole("group", { name: "Live refresh" });
const says = (text: string | RegExp) => bar().getByText(text, { exact: true }).waitFor();
const pass = (milliseconds: number) => opened.page.clock.runFor(milliseconds);

let made = 0;

/** Changes something and refreshes by hand: the next wait is the first one again, and nothing was read since. */
async function afresh(): Promise<void> {
  const entity_id = `e-${(made += 1)}`;
  await on.service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id } });
  await opened.page.getByRole("button", { name: "Refresh now" }).click();
  await opened.page.getByRole("link", { name: entity_id, exact: true }).waitFor();
  await says("Live, every 4 s");
  reads = 0;
}

test("what happens in the service shows by itself", { skip }, async () => {
  const { page } = opened;
  await afresh();
  await on.service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "by-itself" } });
  assert.equal(await page.getByRole("link", { name: "by-itself" }).count(), 0);
  await pass(4000);
  await page.getByRole("link", { name: "by-itself" }).waitFor();
  assert.equal(reads, 1);
  quiet(opened);
});

test("what does not change is read less and less often", { skip }, async () => {
  await afresh();
  for (const [wait, next] of [
    [4000, "6 s"],
    [6000, "9 s"],
    [9000, "14 s"],
  ] as const) {
    reads = 0;
    await pass(wait - 1);
    assert.equal(reads, 0);
    await pass(1);
    await says(`Live, every ${next}`);
    assert.equal(reads, 1);
  }
  quiet(opened);
});

test(
  "a service that is away is asked less often; what was read stays; refresh asks at once",
  { skip },
  async () => {
    const { page } = opened;
    await afresh();
    await page.route("**/api/machines/order**", (route) => route.abort("connectionrefused"));
    await pass(4000);
    await says("NO_ANSWER: tries again in 8 s");
    await page.getByRole("alert").getByText("this is how it was").first().waitFor();
    await page.getByRole("link", { name: "by-itself" }).waitFor();
    await pass(8000);
    await says("NO_ANSWER: tries again in 16 s");
    await page.unroute("**/api/machines/order**");
    await page.getByRole("button", { name: "Refresh now" }).click();
    await says("Live, every 4 s");
    assert.equal(await page.getByRole("alert").count(), 0);
    unreached(opened);
    quiet(opened);
  },
);

test("a service that asks for time gets it", { skip }, async () => {
  const { page } = opened;
  await afresh();
  const body = JSON.stringify({ error: { code: "INTERNAL_ERROR", message: "too much to do", retry: true } });
  await page.route("**/api/machines/order", (route) => {
    return route.fulfill({
      status: 503,
      body,
      headers: { "retry-after": "100", "content-type": "application/json" },
    });
  });
  await pass(4000);
  await says("INTERNAL_ERROR: tries again in 1 min 40 s");
  await page.getByRole("alert").getByText("too much to do").waitFor();
  await page.unroute("**/api/machines/order");
  reads = 0;
  await pass(99_000);
  assert.equal(reads, 0);
  await pass(1000);
  await says(/^Live, every/);
  assert.equal(reads, 1);
  refusedWith(opened, 503);
  quiet(opened);
});

test("a service that asks for a month is asked in ten minutes", { skip }, async () => {
  const { page } = opened;
  await afresh();
  const body = JSON.stringify({
    error: { code: "INTERNAL_ERROR", message: "come next month", retry: true },
  });
  const headers = { "retry-after": "2592000", "content-type": "application/json" };
  await page.route("**/api/machines/order", (route) => route.fulfill({ status: 503, body, headers }));
  await pass(4000);
  await says("INTERNAL_ERROR: tries again in 10 min");
  await page.unroute("**/api/machines/order");
  reads = 0;
  await pass(599_000);
  assert.equal(reads, 0);
  await pass(1000);
  await says(/^Live, every/);
  assert.equal(reads, 1);
  refusedWith(opened, 503);
  quiet(opened);
});

test("a page that nobody sees does not read; it reads at once when it is seen again", { skip }, async () => {
  const { page } = opened;
  await afresh();
  const hide = (hidden: boolean) =>
    page.evaluate((to) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => to });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await hide(true);
  await pass(600_000);
  assert.equal(reads, 0);
  await hide(false);
  await says("Live, every 6 s");
  assert.equal(reads, 1);
  quiet(opened);
});

test("the user pauses it, refreshes by hand, and has it go on", { skip }, async () => {
  const { page } = opened;
  await afresh();
  await page.getByRole("button", { name: "Pause live refresh" }).click();
  await says("Paused");
  await pass(600_000);
  assert.equal(reads, 0);
  await on.service.expect(201, "POST", "/api/machines/order/entities", { body: { entity_id: "by-hand" } });
  await page.getByRole("button", { name: "Refresh now" }).click();
  await page.getByRole("link", { name: "by-hand" }).waitFor();
  await page.getByRole("button", { name: "Resume live refresh" }).click();
  await says(/^Live, every/);
  assert.equal(reads, 2);
  quiet(opened);
});

test("what the user changed himself is read at once", { skip }, async () => {
  const { page } = opened;
  await afresh();
  // Until the view would not read by itself for a minute.
  for (const next of ["6 s", "9 s", "14 s", "20 s", "30 s", "46 s", "1 min"]) {
    await pass(LONGEST_UNCHANGED);
    await says(`Live, every ${next}`);
  }
  await page.clock.resume();
  await page.getByRole("link", { name: "New revision" }).click();
  await page.getByText("The service would take this definition").waitFor();
  reads = 0;
  await page.getByRole("button", { name: "Put the revision" }).click();
  await page.getByRole("tab", { name: "Revisions" }).waitFor();
  await page.getByRole("definition").filter({ hasText: /^2$/ }).waitFor();
  // Once by what puts it, and once by the view.
  assert.equal(reads, 2);
  quiet(opened);
});

test("what one tenant's service asks for does not hold another's", { skip }, async () => {
  const { page } = opened;
  const body = JSON.stringify({ error: { code: "INTERNAL_ERROR", message: "later", retry: true } });
  const headers = { "retry-after": "3600", "content-type": "application/json" };
  await page.route("**/api/machines/order", (route) => route.fulfill({ status: 503, body, headers }));
  await page.getByRole("button", { name: "Refresh now" }).click();
  await says(/^INTERNAL_ERROR: tries again in (10 min|9 min 59 s)$/);
  await page.unroute("**/api/machines/order");
  await page.getByRole("button", { name: "Switch tenant" }).click();
  await page.getByLabel("Other tenant").fill("t2");
  await page.getByRole("button", { name: "Switch", exact: true }).click();
  await page.getByText("This tenant has no machines yet.", { exact: false }).waitFor();
  await says(/^Live, every \d+ s$/);
  refusedWith(opened, 503);
  quiet(opened);
});
