// Signing in to a service from the console, and out of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { addressNote, asAddress } from "../../www/src/console/sign-in-address.ts";
import { KEY, order, serve } from "../http/support.ts";
import { refusedWith, unreached } from "./console-complaints.ts";
import { quiet, skip, type Stage, stage, TENANT } from "./support.ts";

test("an address without a scheme gets one", () => {
  assert.equal(asAddress(" flows.example.com/api "), "https://flows.example.com/api");
  assert.equal(asAddress("localhost:3050"), "http://localhost:3050");
  assert.equal(asAddress("127.0.0.1:3050"), "http://127.0.0.1:3050");
  assert.equal(asAddress("http://flows.example.com"), "http://flows.example.com");
  assert.equal(asAddress(""), "");
});

test("an address that is not encrypted is warned of, and one that the browser would block", () => {
  assert.equal(addressNote("https://flows.example.com", "https:"), undefined);
  assert.equal(addressNote("http://localhost:3050", "https:"), undefined);
  assert.equal(addressNote("http://[::1]:3050", "http:"), undefined);
  assert.equal(addressNote("http://127.0.0.1.example.com", "http:")?.kind, "insecure");
  assert.equal(addressNote("http://flows.example.com", "https:")?.kind, "blocked");
  assert.equal(addressNote("http://", "https:"), undefined);
});

let on: Stage;
if (skip === false) on = await stage();

async function enter(page: Page, fields: { address?: string; tenant?: string; key?: string }): Promise<void> {
  const { address, tenant = TENANT, key = KEY } = fields;
  if (address !== undefined) await page.getByLabel("Address").fill(address);
  await page.getByLabel("Tenant").fill(tenant);
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
}

const signInForm = (page: Page) => page.getByRole("heading", { level: 1, name: "Sign in to a service" });
const machines = (page: Page) => page.getByRole("heading", { level: 1, name: "Machines" });

/** Everything that a page leaves behind or shows in its address. */
async function traces(page: Page): Promise<string> {
  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
  );
  return page.url() + kept;
}

test("signs in at the page's own address; the key is in memory alone", { skip }, async () => {
  const opened = await on.open("#/console");
  const { page } = opened;
  await signInForm(page).waitFor();
  await page.waitForFunction((url) => document.querySelector("input")?.value === url, on.url);
  await enter(page, {});
  await machines(page).waitFor();
  const who = page.getByRole("region", { name: "Signed in" });
  assert.match(await who.innerText(), new RegExp(`^${TENANT}\\n[^]*${new URL(on.url).host}`));
  assert.equal((await traces(page)).includes(KEY), false);
  // Another view and back: still signed in. Loaded again: no more.
  await page.getByRole("link", { name: "Simulator" }).click();
  await page.getByRole("link", { name: "Console" }).click();
  await machines(page).waitFor();
  await page.reload();
  await signInForm(page).waitFor();
  assert.equal(await page.getByLabel("API key").inputValue(), "");
  quiet(opened);
});

test("stays signed in for the session of the tab when asked to, until signed out", { skip }, async () => {
  const opened = await on.open("#/console/outbox");
  const { page, context } = opened;
  await page.getByLabel("Keep for this session (this tab)").check();
  await enter(page, { address: on.url });
  await page.getByRole("heading", { level: 1, name: "Outbox" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Outbox" }).waitFor();
  assert.equal(page.url().includes(KEY), false);
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  const other = await context.newPage();
  await other.goto(`${on.url}/#/console`);
  await signInForm(other).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await signInForm(page).waitFor();
  assert.equal((await traces(page)).includes(KEY), false);
  await page.reload();
  await signInForm(page).waitFor();
  quiet(opened);
});

test("says in the service's own words why it lets nobody in", { skip }, async () => {
  const opened = await on.open("#/console");
  const { page } = opened;
  const alert = page.getByRole("alert");
  const wrongKey = await on.service.call("GET", "/api/machines", { key: "wrong" });
  await enter(page, { address: on.url, key: "wrong" });
  await alert.getByText(wrongKey.body.error.message).waitFor();
  await alert.getByText("UNAUTHORIZED").waitFor();
  refusedWith(opened, 401);

  const long = "x".repeat(129);
  const wrongTenant = await on.service.call("GET", "/api/machines", { tenant: long });
  await enter(page, { tenant: long });
  await alert.getByText(wrongTenant.body.error.message).waitFor();
  await alert.getByText("BAD_REQUEST").waitFor();
  refusedWith(opened, 400);

  // What is wrong with it is told; what was typed is still there, and can be put right.
  await enter(page, {});
  await machines(page).waitFor();
  quiet(opened);
});

test("another origin has to let the page call it", { skip }, async () => {
  const [closed, open] = await Promise.all([
    serve({ settings: { CORS_ORIGINS: "https://console.example" } }),
    serve({ settings: { CORS_ORIGINS: on.url } }),
  ]);
  await open.register({ ...order, machine_id: "elsewhere" });
  const opened = await on.open("#/console");
  const { page } = opened;
  await enter(page, { address: closed.runtime.url });
  await page.getByRole("alert").getByText("NO_ANSWER").waitFor();
  await page.getByText(`its setting CORS_ORIGINS has to list ${on.url}`).waitFor();
  unreached(opened);
  await enter(page, { address: open.runtime.url });
  await page.getByRole("link", { name: "elsewhere" }).waitFor();
  quiet(opened);
});

test("warns of an address that is not encrypted before anything is sent there", { skip }, async () => {
  const opened = await on.open("#/console");
  const { page } = opened;
  const note = page.getByText("This address is not encrypted");
  await page.getByLabel("Address").fill("http://flows.example");
  await note.waitFor();
  await page.getByLabel("Address").fill("https://flows.example");
  await note.waitFor({ state: "detached" });
  quiet(opened);
});

test("switches the tenant with the same key", { skip }, async () => {
  await on.service.register({ ...order, machine_id: "of-t1" });
  await on.service.register({ ...order, machine_id: "of-t2" }, "t2");
  const opened = await on.open();
  const { page } = opened;
  await on.signIn(page);
  await page.getByRole("link", { name: "of-t1" }).waitFor();
  await page.getByRole("button", { name: "Switch tenant" }).click();
  await page.getByLabel("Other tenant").fill("t2");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "of-t2" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "of-t1" }).count(), 0);
  await page.getByRole("region", { name: "Signed in" }).getByText("t2", { exact: true }).waitFor();
  quiet(opened);
});
