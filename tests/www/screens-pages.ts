// Pages of the standing service, for the pictures and for what every view must keep.

import type { Browser, Page } from "playwright-core";

import { KEY } from "../http/support.ts";
import { ADDRESS, fill, NOW, SETTINGS, standStill } from "./screens-service.ts";
import { CONSOLE, SIGN_IN, SIMULATOR, type View } from "./screens-views.ts";
import { type Opened, type Stage, stage, TENANT } from "./support.ts";

/** How wide the windows are. */
export const WIDE = { width: 1280, height: 800 };
export const NARROW = { width: 360, height: 740 };

/** A browser, and the service filled with what is shown. */
export async function standing(): Promise<Stage> {
  const on = await stage({ settings: SETTINGS });
  await fill(on);
  return on;
}

/** Opens the page there, at its moment. */
export async function openStill(
  on: Pick<Stage, "browser" | "url">,
  options: Parameters<Browser["newContext"]>[0] = {},
  fragment = "",
): Promise<Opened> {
  const context = await on.browser.newContext({
    viewport: WIDE,
    colorScheme: "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
    serviceWorkers: "block",
    permissions: ["clipboard-read", "clipboard-write"],
    ...options,
  });
  await standStill(context, on);
  // What the page makes up is the same each time: the keys of what it sends.
  await context.addInitScript(() => {
    crypto.getRandomValues = (array) => {
      if (array instanceof Uint8Array) array.fill(7);
      return array;
    };
    crypto.randomUUID = () => "07070707-0707-4707-8707-070707070707";
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.text() === "Service Worker registration blocked by Playwright") return;
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.clock.setFixedTime(NOW);
  await page.goto(`${ADDRESS}/${fragment}`);
  return { page, context, complaints };
}

/** Signs in where the page asks for it. */
export async function signInStill(page: Page): Promise<void> {
  await SIGN_IN.go(page);
  await page.getByLabel("Address").fill(ADDRESS);
  await page.getByLabel("Tenant").fill(TENANT);
  await page.getByLabel("API key").fill(KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Machines" }).waitFor();
}

/** Goes through every view of the page, one after another, and looks at each. */
export async function throughAll(page: Page, look: (view: View) => Promise<void>): Promise<void> {
  const at = async (view: View) => {
    await view.go(page);
    await look(view);
    await view.leave?.(page);
  };
  for (const view of SIMULATOR) await at(view);
  await at(SIGN_IN);
  await signInStill(page);
  for (const view of CONSOLE) await at(view);
}
