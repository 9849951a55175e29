// The page for everyone: by keyboard alone, read out, on small screens, with large text, in forced colours, without motion.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Page } from "playwright-core";

import { KEY } from "../http/support.ts";
import { contrast, outline, serious, sideways, small, unseenFocus } from "./accessibility-rules.ts";
import { refusedWith } from "./console-complaints.ts";
import { NARROW, openStill, signInStill, standing, throughAll, WIDE } from "./screens-pages.ts";
import { ADDRESS } from "./screens-service.ts";
import { goTo, launch, quiet, skip, type Stage, TENANT } from "./support.ts";

let on: Stage;
if (skip === false) on = await standing();

/** What the rules find in a view, each with its name before it. */
async function broken(
  page: Page,
  view: string,
  rules: readonly ((page: Page) => Promise<string[]>)[],
): Promise<string[]> {
  const found: string[] = [];
  for (const rule of rules) found.push(...(await rule(page)).map((each) => `${view}: ${each}`));
  return found;
}

/** Views that have, between them, everything that the Tab key comes to. */
const FOCUSED = new Set([
  ...[
    "simulator",
    "simulator-effects",
    "simulator-share",
    "simulator-save",
    "sign-in",
    "machines",
    "machine",
  ],
  ...["machine-revisions", "entity", "entity-outbox", "entity-send", "outbox", "source"],
]);

for (const [look, options, rules] of [
  ["light", { viewport: WIDE, colorScheme: "light" }, [serious, outline, small, sideways]],
  // Nothing but the colours is another.
  ["dark", { viewport: WIDE, colorScheme: "dark" }, [contrast]],
  ["360 px wide", { viewport: NARROW, colorScheme: "dark" }, [serious, outline, small, sideways]],
] as const) {
  test(`every view and dialog can be used by everyone: ${look}`, { skip }, async () => {
    const opened = await openStill(on, options);
    const found: string[] = [];
    await throughAll(opened.page, async ({ name }) => {
      found.push(...(await broken(opened.page, name, rules)));
      const focus = look === "light" && FOCUSED.has(name);
      if (focus) found.push(...(await broken(opened.page, `the focus in ${name}`, [unseenFocus])));
    });
    assert.deepEqual(found, []);
    refusedWith(opened, 404);
    quiet(opened);
    await opened.context.close();
  });
}

/** What has the focus, as it is called. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const { activeElement: each } = document;
    return each?.getAttribute("aria-label") ?? each?.textContent?.trim() ?? "";
  });

/** Goes on with the Tab key until something is focused whose name begins so. */
async function tabTo(page: Page, name: string | RegExp, back = false): Promise<void> {
  const passed: string[] = [];
  for (let step = 0; step < 80; step += 1) {
    await page.keyboard.press(back ? "Shift+Tab" : "Tab");
    const at = await focused(page);
    if (typeof name === "string" ? at === name : name.test(at)) return;
    passed.push(at.slice(0, 40));
    // There Tab indents, but after Escape.
    if (await page.evaluate(() => document.activeElement?.matches(".cm-content") === true))
      await page.keyboard.press("Escape");
  }
  assert.fail(`Tab does not come to ${name}: ${passed.join(" | ")}`);
}

test(
  "an order is taken through the simulator by keyboard alone, in the order in which it is seen",
  { skip },
  async () => {
    const opened = await openStill(on);
    const { page } = opened;
    await page.locator(".diagram-state").first().waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await focused(page), "Skip to content");
    for (const name of ["Statewright", "Simulator", "Console"]) await tabTo(page, name);
    // Enter on the link over all of it: the header is left behind.
    await tabTo(page, "Skip to content", true);
    await page.keyboard.press("Enter");
    for (const name of [
      "Examples",
      "Share link",
      "Delete order",
      /^(packed|placed|delivered)/,
      /^History/,
      "ship",
    ]) {
      await tabTo(page, name === "Delete order" ? /^(Remove|Delete|Take)/ : name);
    }
    await page.keyboard.press("Enter");
    const state = page.getByRole("region", { name: "Entity" }).getByRole("group", { name: "State" });
    await state.getByText("shipped", { exact: true }).waitFor();
    // The focus is not lost with the button: the next event is near.
    await tabTo(page, "deliver");
    await page.keyboard.press("Enter");
    await state.getByText("delivered", { exact: true }).waitFor();
    quiet(opened);
    await opened.context.close();
  },
);

test("one signs in and sends an event by keyboard alone", { skip }, async () => {
  const opened = await openStill(on, {}, "#/console");
  const { page } = opened;
  await page.getByRole("heading", { name: "Sign in to a service" }).waitFor();
  await page.getByLabel("Address").focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type(ADDRESS);
  await page.keyboard.press("Tab");
  await page.keyboard.type(TENANT);
  await page.keyboard.press("Tab");
  await page.keyboard.type(KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Machines" }).waitFor();
  await tabTo(page, "order");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "order" }).waitFor();
  await tabTo(page, "Diagram");
  await page.keyboard.press("End");
  await page.getByRole("link", { name: "o-1004" }).waitFor();
  await tabTo(page, "o-1004");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "o-1004" }).waitFor();
  // The events are a group of radio buttons, which the arrows go through.
  const panel = page.getByRole("region", { name: "Send an event" });
  await panel.getByRole("radio").first().waitFor();
  for (let step = 0; step < 80; step += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement?.matches("input[type=radio]") === true)) break;
  }
  await page.keyboard.press("Space");
  const pack = panel.getByRole("radio", { name: /^pack/ });
  for (let step = 0; step < 5 && !(await pack.isChecked()); step += 1) await page.keyboard.press("ArrowDown");
  await tabTo(page, /^Check/);
  await page.keyboard.press("Enter");
  await panel.getByText("It would move", { exact: false }).first().waitFor();
  await tabTo(page, /^Send/);
  await page.keyboard.press("Enter");
  await page.locator(".con-entity-title").getByText("packed").waitFor();
  quiet(opened);
  await opened.context.close();
});

test(
  "nothing jumps: neither while the page loads, nor while what is live is read again",
  { skip },
  async () => {
    const opened = await openStill(on, {}, "#/fresh");
    const { page } = opened;
    await page.addInitScript(() => {
      Object.assign(globalThis, { shifts: 0, shifted: [] });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          // Typed by nothing: the entries of this kind have them.
          const { value, hadRecentInput } = entry as PerformanceEntry & {
            value: number;
            hadRecentInput: boolean;
          };
          if (!hadRecentInput)
            Object.assign(globalThis, { shifts: Reflect.get(globalThis, "shifts") + value });
        }
      }).observe({ type: "layout-shift", buffered: true });
    });
    const shifts = (): Promise<number> => page.evaluate(() => Number(Reflect.get(globalThis, "shifts")));
    for (const hash of ["#/", "#/console"]) {
      await page.goto("about:blank");
      await page.goto(`${ADDRESS}/${hash}`);
      await page
        .locator(hash === "#/" ? ".diagram-state" : ".con-sign-in-form")
        .first()
        .waitFor();
      assert.ok((await shifts()) < 0.1, `${hash} shifts by ${await shifts()}`);
    }
    await signInStill(page);
    for (const path of ["machines", "machines/order/entities", "entity/bundle/b-77", "outbox"]) {
      await goTo(page, `#/console/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByRole("button", { name: "Refresh now" }).waitFor();
      await page.waitForLoadState("networkidle");
      const before = await shifts();
      for (let time = 0; time < 3; time += 1) {
        const read = page.waitForResponse((response) => response.url().includes("/api/"));
        await page.getByRole("button", { name: "Refresh now" }).click();
        await read;
      }
      const after = await shifts();
      assert.ok(after - before < 0.1, `${path} shifts by ${after - before} while it is read again`);
    }
    quiet(opened);
    await opened.context.close();
  },
);

test("text of twice its size fits on, and nothing of the page is lost", { skip }, async () => {
  // As one sets it in the browser's own settings: it counts in the widths at which the layout changes, too.
  const large = await launch(["--blink-settings=defaultFontSize=32"]);
  const opened = await openStill({ browser: large, url: on.url }, { viewport: WIDE });
  const { page } = opened;
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize), "32px");
  const found: string[] = [];
  await throughAll(page, async ({ name }) => {
    found.push(...(await broken(page, name, [sideways])));
  });
  assert.deepEqual(found, []);
  await large.close();
});

test("in forced colours what is chosen, broken or current still differs", { skip }, async () => {
  const opened = await openStill(on, { forcedColors: "active" });
  const { page } = opened;
  const view = page.locator(".header-views a");
  const lines = (at: number) =>
    view.nth(at).evaluate((each) => {
      const { outlineStyle, borderBottomStyle } = getComputedStyle(each);
      return outlineStyle !== "none" || borderBottomStyle !== "none";
    });
  assert.deepEqual([await lines(0), await lines(1)], [true, false]);
  await page.locator(".diagram-state").first().waitFor();
  // The current state differs from others in more than its colour: it has a mark of its own.
  const differs = await page.evaluate(() => {
    const style = (selector: string) => {
      const rect = document.querySelector(`${selector} rect`);
      return rect === null
        ? undefined
        : `${getComputedStyle(rect).strokeWidth} ${rect.parentElement?.children.length}`;
    };
    return (
      style('.diagram-state[aria-label*="current"]') !== style('.diagram-state:not([aria-label*="current"])')
    );
  });
  assert.ok(differs);
  await opened.context.close();
});

test("who wants no motion gets none", { skip }, async () => {
  const opened = await openStill(on);
  const { page } = opened;
  await page.locator(".diagram-state").first().waitFor();
  const moving = async () =>
    page.evaluate(() =>
      [...document.querySelectorAll("*")].flatMap((each) => {
        const { transitionProperty, transitionDuration, animationName } = getComputedStyle(each);
        const moves =
          (transitionProperty !== "none" && parseFloat(transitionDuration) > 0) || animationName !== "none";
        return moves ? [each.outerHTML.slice(0, 100)] : [];
      }),
    );
  assert.deepEqual(await moving(), []);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await page.getByRole("button", { name: "Share link" }).click();
  await page.getByRole("dialog").waitFor();
  assert.deepEqual(await moving(), []);
  await opened.context.close();
});
