// A machine of 200 states and 600 transitions: how long it takes until it is there, and how long the page does not answer meanwhile.
// Both bounds are those that the diagram promises.

import assert from "node:assert/strict";
import { test } from "node:test";

import { largeOf, linkTo } from "./diagram-machines.ts";
import { quiet, skip, type Stage, stage } from "./support.ts";

/** Milliseconds. */
const LAID_OUT = 4000;
const LONGEST_TASK = 200;

/** What the page notes of itself. */
interface Noted {
  readonly long: number[];
  /** When the definition was opened, and when all of its drawing was there. */
  begun: number;
  drawn: number | undefined;
}

declare global {
  interface Window {
    noted: Noted;
  }
}

test("a large machine is laid out in time, and the page answers meanwhile", { skip }, async (t) => {
  const on = await stage();
  const link = await linkTo([largeOf(200, 600)]);
  let best = await measured(on, link);
  // What else the machine does only makes it slower: of four tries, one has to be in time.
  for (let tries = 1; tries < 4 && !(best.took < LAID_OUT && best.longest < LONGEST_TASK); tries += 1) {
    best = await measured(on, link);
  }
  t.diagnostic(`laid out and drawn in ${best.took} ms; the longest task took ${best.longest} ms`);
  assert.ok(best.took < LAID_OUT, `${best.took} ms`);
  assert.ok(best.longest < LONGEST_TASK, `${best.longest} ms`);
});

/** Opens a link in the simulator, and measures until all of the drawing is there. */
async function measured(on: Stage, link: string): Promise<{ took: number; longest: number }> {
  const opened = await on.open();
  const { page } = opened;
  await page.locator('[aria-busy="false"][aria-label="Diagram of order, drawing"]').waitFor();
  await page.evaluate((fragment) => {
    const noted: Noted = { long: [], begun: performance.now(), drawn: undefined };
    window.noted = noted;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) noted.long.push(duration);
    }).observe({ type: "longtask" });
    const look = (): void => {
      const drawing = document.querySelector('[aria-busy="false"][aria-label="Diagram of large, drawing"]');
      if (drawing === null) requestAnimationFrame(look);
      else noted.drawn = performance.now();
    };
    look();
    location.hash = fragment;
  }, link);
  await page.waitForFunction(() => window.noted.drawn !== undefined, undefined, { timeout: 60_000 });
  // Tasks are told of after their end.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  const { long, begun, drawn = Infinity } = await page.evaluate(() => window.noted);

  assert.equal(await page.locator(".diagram-content .diagram-state").count(), 200);
  // Every transition has a line: on an edge of its own, or beside others between the same states.
  const edges = await page.locator(".diagram-content .diagram-edge").count();
  assert.ok(edges > 500, String(edges));
  quiet(opened);
  await opened.context.close();
  return { took: Math.round(drawn - begun), longest: Math.round(Math.max(0, ...long)) };
}
