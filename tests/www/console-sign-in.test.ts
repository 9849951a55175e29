// Signing in to a service from the console, and out of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { skip, stage, type Opened, quiet, TENANT } from "./support.ts";
import { KEY, serve } from "../http/support.ts";

const on = skip === false ? await stage() : undefined;

/** The browser itself complains of answers that are refusals: those that the test brought about are expected. */
function refusedBy({ complaints }: Opened, ...expected: RegExp[]): void {
  for (const pattern of expected) {
    const at = complaints.findIndex((text) => pattern.test(text));
    assert.ok(at >= 0, `expected a complaint like ${pattern}, got ${JSON.stringify(complaints)}`);
    complaints.splice(at, 1);
  }
}

test("signs in at the page's own address, and shows who is signed in where", { skip }, async () => {
  assert.ok(on);
  const opened = await on.open("#/console");
  const { page } = opened;
  await page.getByRole("heading", { level: 1, name: "Sign in to a service" }).waitFor();
  await page.waitForFunction((url) => document.querySelector("input")?.value === url, on.url);
  await page.getByLabel("Tenant").fill(TENANT);
  await page.getByLabel("API key").fill(KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Machines" }).waitFor();
  const who = page.getByRole("region", { name: "Signed in" });
  assert.match(await who.innerText(), new RegExp(`${TENANT}[^]*${new URL(on.url).host}`));
  quiet(opened);
});
