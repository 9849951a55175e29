// What every view of the page must keep, whoever uses it and how: looked for in the page itself.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The part of axe-core that is used. */
interface Axe {
  run(
    context: Document,
    options: object,
  ): Promise<{
    violations: {
      id: string;
      impact: string;
      help: string;
      nodes: { html: string; failureSummary: string }[];
    }[];
  }>;
}

/** Puts axe-core into a page. The page's policy refuses scripts of pages, and not what a debugger evaluates. */
export async function withAxe(page: Page): Promise<void> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
}

/** What axe-core finds in what shows: serious and critical alone, and what each of them is. */
export function serious(page: Page): Promise<string[]> {
  const values = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  return violations(page, { type: "tag", values });
}

/** Texts that do not stand out enough from their ground. */
export function contrast(page: Page): Promise<string[]> {
  return violations(page, { type: "rule", values: ["color-contrast"] });
}

async function violations(page: Page, runOnly: { type: string; values: string[] }): Promise<string[]> {
  await withAxe(page);
  return page.evaluate(async (runOnly) => {
    // It was put there.
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run(document, {
      runOnly,
      resultTypes: ["violations"],
      // It takes states of the diagram that are moved out of sight to lie over its buttons; `small` measures instead.
      ...(runOnly.type === "tag" ? { rules: { "target-size": { enabled: false } } } : {}),
      elementRef: false,
    });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, help, nodes }) =>
        nodes.map(
          (node) => `${id} (${help}): ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 300)}`,
        ),
      );
  }, runOnly);
}

/** What is wrong with the outline of a view: its landmarks, and its one first heading. */
export async function outline(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const shown = (selector: string) =>
      [...document.querySelectorAll(selector)].filter((each) =>
        each.checkVisibility({ visibilityProperty: true }),
      );
    const found: string[] = [];
    for (const [what, selector] of [
      ["h1", "h1"],
      ["main", "main"],
      ["header", "#app > header"],
    ] as const) {
      const count = shown(selector).length;
      if (count !== 1) found.push(`${count} of ${what}`);
    }
    const names = shown("nav").map((each) => each.getAttribute("aria-label"));
    if (names.includes(null) || new Set(names).size !== names.length) found.push(`navs ${names.join(", ")}`);
    return found;
  });
}

/** Controls that are smaller than 24 px each way, but for links in a sentence and boxes whose label is as large. */
export async function small(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const selector =
      "button, a[href], input, select, textarea, summary, [role=button], [role=tab], [role=menuitem]";
    const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
    return [...top.querySelectorAll<HTMLElement | SVGElement>(selector)].flatMap((each) => {
      if (!each.checkVisibility({ visibilityProperty: true }) || each.matches(".skip")) return [];
      // What is drawn is zoomed.
      if (each instanceof SVGElement) return [];
      if (getComputedStyle(each).clipPath !== "none") return [];
      const label = each.matches("input[type=checkbox], input[type=radio]") ? each.closest("label") : null;
      const { width, height } = (label ?? each).getBoundingClientRect();
      if (width >= 24 && height >= 24) return [];
      // A link within a line of text, which is as high as the line.
      const inline = each.matches("a, button") && getComputedStyle(each).display.startsWith("inline");
      const alone = each.parentElement?.textContent?.trim() === each.textContent?.trim();
      if (inline && !alone) return [];
      return [`${Math.round(width)}×${Math.round(height)} ${each.outerHTML.slice(0, 160)}`];
    });
  });
}

/** How far the page can be moved sideways, which it never should; and what sticks out. */
export async function sideways(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const boxes = [
      document.documentElement,
      document.body,
      ...document.querySelectorAll(".con-view, .tabs-panel, dialog[open]"),
    ];
    const found = boxes.flatMap((box) => {
      const over = box.scrollWidth - box.clientWidth;
      return over > 0 ? [`${box.tagName}.${box.className} by ${over} px`] : [];
    });
    return scrollWidth > clientWidth || found.length > 0 ? found : [];
  });
}

/** Everything that the Tab key comes to and that does not show that it has the focus. */
export async function unseenFocus(page: Page, limit = 150): Promise<string[]> {
  const found: string[] = [];
  const seen = new Set<string>();
  await page.evaluate(() => {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  for (let step = 0; step < limit; step += 1) {
    await page.keyboard.press("Tab");
    const look = () =>
      page.evaluate(() => {
        const { activeElement: each } = document;
        if (each === null || each === document.body) return undefined;
        const style = getComputedStyle(each);
        const place = each.getBoundingClientRect();
        const own = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
        // An editor shows it by a frame over it.
        const editor = each.closest(".cm-editor");
        const frame = editor === null ? undefined : getComputedStyle(editor, "::after");
        const framed =
          frame !== undefined && frame.content !== "none" && parseFloat(frame.borderTopWidth) >= 1;
        const inner = each.firstElementChild === null ? undefined : getComputedStyle(each.firstElementChild);
        const drawn = each instanceof SVGElement && inner !== undefined;
        return {
          key: `${each.outerHTML.slice(0, 200)} ${Math.round(place.x)} ${Math.round(place.y)}`,
          shows: own || framed || drawn,
          editor: each.matches(".cm-content[contenteditable=true]"),
        };
      });
    let at = await look();
    // An editor takes a moment to tell that it has the focus.
    for (let tries = 0; at?.shows === false && tries < 20; tries += 1) at = await look();
    if (at === undefined) break;
    if (seen.has(at.key)) break;
    seen.add(at.key);
    if (!at.shows) found.push(at.key);
    // There Tab indents, but after this.
    if (at.editor) await page.keyboard.press("Escape");
  }
  return found;
}
