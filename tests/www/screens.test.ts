// Pictures of every view, light and dark, and on a narrow screen, compared with those that are kept in tests/www/screenshots.
//
// A picture may differ from the kept one in at most 1 % of its pixels, and a pixel counts as different where its colour is
// further away than pixelmatch's threshold of 0.2 (its edges' smoothing left out). That holds for one major version of
// Chromium, whose name stands in screenshots/chromium.txt: another one draws letters otherwise.
//
// Where a view was meant to change, `BLESS=1 node --test tests/www/screens.test.ts` keeps what shows now: look at it before
// it is committed. Of a picture that fails, the actual one and the difference are in build/screens.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import type { Page } from "playwright-core";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

import { ROOT } from "../../scripts/paths.ts";
import { refusedWith } from "./console-complaints.ts";
import { NARROW, openStill, standing, throughAll, WIDE } from "./screens-pages.ts";
import { withPalette } from "./screens-png.ts";
import { CONSOLE, SIGN_IN, SIMULATOR } from "./screens-views.ts";
import { quiet, skip, type Stage } from "./support.ts";

const KEPT = join(import.meta.dirname, "screenshots");
const FAILED = join(ROOT, "build", "screens");
const CHROMIUM = join(KEPT, "chromium.txt");
const BLESS = process.env["BLESS"] === "1";

/** How far a colour may be from the kept one, and how many pixels may be further, in parts of the picture. */
const THRESHOLD = 0.2;
const TOLERANCE = 0.01;

/** What the views are looked at in. Colours do not hang on the width: the narrow ones are light alone. */
const LOOKS = {
  light: { viewport: WIDE, colorScheme: "light" },
  dark: { viewport: WIDE, colorScheme: "dark" },
  narrow: { viewport: NARROW, colorScheme: "light" },
} as const;

let on: Stage;
let version = "";
if (skip === false) {
  on = await standing();
  version = on.browser.version().split(".")[0] ?? "";
  rmSync(FAILED, { recursive: true, force: true });
  if (BLESS) {
    rmSync(KEPT, { recursive: true, force: true });
    mkdirSync(KEPT);
    writeFileSync(CHROMIUM, `${version}\n`);
  }
}

/** What is seen of a page, once nothing of it moves. */
async function picture(page: Page): Promise<Buffer> {
  await page.mouse.move(0, 0);
  await page.evaluate(async () => {
    // A caret blinks.
    document.documentElement.style.setProperty("caret-color", "transparent");
    await document.fonts.ready;
    const frame = () => new Promise(requestAnimationFrame);
    for (let frames = 0; frames < 3; frames += 1) await frame();
  });
  return page.screenshot({ caret: "initial", animations: "disabled" });
}

/** A picture that waits until the view has got its last pieces: two of it are the same. */
async function settled(page: Page): Promise<Buffer> {
  let before = await picture(page);
  for (let tries = 0; tries < 10; tries += 1) {
    const now = await picture(page);
    if (now.equals(before)) break;
    before = now;
  }
  return before;
}

/** What differs from the kept picture, where that is too much. */
function differs(file: string, actual: Buffer): { said: string; difference?: Buffer } | undefined {
  const kept = join(KEPT, file);
  if (!existsSync(kept)) return { said: "is not kept yet" };
  const before = PNG.sync.read(readFileSync(kept));
  const now = PNG.sync.read(actual);
  const { width, height } = before;
  if (now.width !== width || now.height !== height) return { said: `was ${width}×${height}` };
  const difference = new PNG({ width, height });
  const count = pixelmatch(before.data, now.data, difference.data, width, height, { threshold: THRESHOLD });
  if (count <= width * height * TOLERANCE) return undefined;
  const said = `differs in ${((count / (width * height)) * 100).toFixed(1)} % of its pixels`;
  return { said, difference: PNG.sync.write(difference) };
}

/** Compares what shows with the kept picture. It is looked at again where the view has yet to get its last pieces. */
async function compare(page: Page, file: string): Promise<string | undefined> {
  let actual = await picture(page);
  let found = differs(file, actual);
  for (let tries = 0; found?.difference !== undefined && tries < 8; tries += 1) {
    actual = await picture(page);
    found = differs(file, actual);
  }
  if (found === undefined) return undefined;
  mkdirSync(FAILED, { recursive: true });
  const [actualAt, differenceAt] = [join(FAILED, file), join(FAILED, `difference-${file}`)];
  writeFileSync(actualAt, actual);
  if (found.difference !== undefined) writeFileSync(differenceAt, found.difference);
  return `${file} ${found.said}. What shows: ${actualAt}${found.difference === undefined ? "" : `, where: ${differenceAt}`}`;
}

test("the pictures are of this version of Chromium", { skip }, (t) => {
  const kept = readFileSync(CHROMIUM, "utf8").trim();
  if (kept !== version) t.diagnostic(`They are of Chromium ${kept}, and this is ${version}.`);
});

for (const [look, options] of Object.entries(LOOKS)) {
  test(`every view looks as it did: ${look}`, { skip }, async () => {
    const opened = await openStill(on, options);
    const { page } = opened;
    const failed: string[] = [];
    await throughAll(page, async ({ name }) => {
      const file = `${name}-${look}.png`;
      if (BLESS) writeFileSync(join(KEPT, file), withPalette(await settled(page)));
      const found = await compare(page, file);
      if (found !== undefined) failed.push(found);
    });
    assert.deepEqual(failed, [], "Meant to change? Look at them, and keep them with BLESS=1.");
    // A machine that another names is not there: the browser tells of that answer as well.
    refusedWith(opened, 404);
    quiet(opened);
    await opened.context.close();
  });
}

test("no picture is kept of a view that there is not", { skip }, async () => {
  const named = new Set<string>();
  for (const { name } of [...SIMULATOR, SIGN_IN, ...CONSOLE]) {
    for (const look of Object.keys(LOOKS)) named.add(`${name}-${look}.png`);
  }
  const stray = readdirSync(KEPT).filter((file) => file.endsWith(".png") && !named.has(file));
  assert.deepEqual(stray, []);
});
