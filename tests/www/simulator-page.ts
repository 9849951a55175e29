// What tests of the simulator find in its page, as its users would.

import { deflateRawSync } from "node:zlib";

import type { Locator, Page } from "playwright-core";

/** The events of the chosen entity: those that it can take, and the others. */
export function events(page: Page): Locator {
  return page.getByRole("region", { name: "What can happen now" });
}

/** The button of an event. */
export function event(page: Page, name: string): Locator {
  return events(page).getByRole("button", { name, exact: true });
}

/** History, entries, context, entities and effects. */
export function panels(page: Page): Locator {
  return page.getByRole("region", { name: "What happened and what stands" });
}

/** Chooses files for `Load`. */
export async function load(
  page: Page,
  files: readonly { readonly name: string; readonly text: string }[],
): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Load", exact: true }).click();
  await (
    await chooser
  ).setFiles(
    files.map(({ name, text }) => ({ name, mimeType: "application/json", buffer: Buffer.from(text) })),
  );
}

/** What of a link holds that text, whatever it is. */
export function payloadOf(text: string | Buffer): string {
  return `1${deflateRawSync(text).toString("base64url")}`;
}
