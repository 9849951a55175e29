// The simulator and the console in Chromium, served by the real Worker beside its API.

import assert from "node:assert/strict";
import { after } from "node:test";

import { type Browser, type BrowserContext, chromium, type Page, type Locator } from "playwright-core";

import { findChromium } from "../../scripts/chromium.mjs";
import type { RuntimeOptions } from "../../scripts/runtime.ts";
import { buildWww } from "../../scripts/www.ts";
import { KEY, type Service, serve } from "../http/support.ts";

const executablePath = findChromium();
if (executablePath === undefined && process.env["CI"] === "true") throw new Error("there is no Chromium");

/** Why tests that need a browser are skipped, where they are. */
export const skip = executablePath === undefined ? "there is no Chromium" : false;

/** The tenant that the tests sign in to the console with. */
export const TENANT = "t1";

/** A browser and a service for the tests of one file. */
export class Stage {
  readonly service: Service;
  readonly browser: Browser;

  constructor(service: Service, browser: Browser) {
    this.service = service;
    this.browser = browser;
  }

  /** Where the page is served. */
  get url(): string {
    return this.service.runtime.url;
  }

  /**
   * A page at a fragment (`#/console`), in a profile of its own. Whatever the page complains of in its console, and every request
   * that leaves the service, fails the test at its end, unless `complaints` is looked at by the test itself.
   */
  async open(fragment = "", options: Parameters<Browser["newContext"]>[0] = {}): Promise<Opened> {
    const context = await this.browser.newContext({
      viewport: { width: 1440, height: 900 },
      colorScheme: "light",
      reducedMotion: "reduce",
      locale: "en-GB",
      timezoneId: "UTC",
      // tests/www/offline.test.ts has them: elsewhere all files would be fetched again by each page.
      serviceWorkers: "block",
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.text() === "Service Worker registration blocked by Playwright") return;
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(`${this.url}/${fragment}`);
    return { page, context, complaints };
  }

  /** Signs in to the console with the service of the test. */
  async signIn(page: Page): Promise<void> {
    await page.goto(`${this.url}/#/console`);
    await page.getByLabel("Address").fill(this.url);
    await page.getByLabel("Tenant").fill(TENANT);
    await page.getByLabel("API key").fill(KEY);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Machines" }).waitFor();
  }
}

/** An open page. */
export interface Opened {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and warnings of the page's console: refusals of its policy among them. */
  readonly complaints: string[];
}

/** A browser; `args` are flags of its own. */
export function launch(args: readonly string[] = []): Promise<Browser> {
  const always = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  return chromium.launch({
    executablePath: executablePath ?? "",
    args: [...always, "--disable-component-update", ...args],
  });
}

/** Builds the page where it changed, and starts a service with it and a browser; both end with the tests of the file. */
export async function stage(options: RuntimeOptions = {}): Promise<Stage> {
  await buildWww();
  const service = await serve({ ...options, www: true });
  const browser = await launch();
  after(() => browser.close());
  return new Stage(service, browser);
}

/** Goes to a fragment (`#/console/outbox`), as a link in the page would. */
export async function goTo(page: Page, fragment: string): Promise<void> {
  await page.evaluate((to) => void (location.hash = to), fragment);
}

/** Asserts that the page had nothing to complain of. */
export function quiet({ complaints }: Opened): void {
  assert.deepEqual(complaints, []);
}

/** Writes a text over what stands in an editor, as a paste does. */
export async function writeOver(editor: Locator, text: string): Promise<void> {
  await editor.focus();
  await editor.press("ControlOrMeta+a");
  await editor.page().keyboard.insertText(text);
}
