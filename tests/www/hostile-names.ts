// Names that mean harm, for the tests of what is made of them; and what shows that they did none.

import assert from "node:assert/strict";

import type { Page } from "playwright-core";

/** What would run, were it put into a page as markup. */
export const MARKUP = [
  "<img src=x onerror=window.harmed=1>",
  "</script><script>window.harmed=2</script>",
  "<svg onload=window.harmed=3><style>*{display:none}</style></svg>",
  `"><b style="position:fixed;inset:0">`,
  "javascript:window.harmed=4",
  "{{constructor.constructor('window.harmed=5')()}}",
  "a${window.harmed=6}",
] as const;

/** Keys that objects have by themselves, and signs that turn or hide the text around them. */
const PROTOTYPE = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"] as const;
const SIGNS = [
  "\u202Egnp.exe",
  "a\u200Bb",
  "\u2066x\u2069",
  "\uFEFF",
  "e\u0301\u0301\u0301",
  "שלום",
  "🧨\u200D🔥",
] as const;

/** A flat machine whose every name is one of these. */
export function machineOf(names: readonly string[], machineId = names[0] ?? "m"): object {
  const transitions = names.flatMap((from, at) => {
    const to = names[(at + 1) % names.length];
    const [on, other] = [names[(at + 2) % names.length], names[(at + 3) % names.length]];
    const guard = {
      any: [
        { field: from, op: "contains", value: to },
        { field: to, op: "eq", value: from },
      ],
    };
    return [
      { from, to, on, description: from },
      { from, to: from, on: other, guard },
    ];
  });
  const [label = "", description, , reached] = names;
  const actions = [
    { on_enter: reached, action: { type: "event", event_type: `an ${label}` } },
    {
      on_enter: reached,
      action: {
        type: "transition",
        machine_id: machineId,
        entity_id: `to ${label}`,
        event_type: `an ${label}`,
      },
    },
  ];
  return {
    machine_id: machineId,
    label,
    description,
    states: names,
    initial_state: label,
    transitions,
    actions,
  };
}

/** Kinds of names, each with eight or less. */
export const HOSTILE = {
  markup: MARKUP,
  "keys of prototypes": PROTOTYPE,
  "signs that hide or turn": SIGNS,
};

/** That nothing has run, nothing of a definition has become an element, and the page is wider than its window nowhere. */
export async function harmless(page: Page): Promise<void> {
  const found = await page.evaluate(() => ({
    harmed: "harmed" in window,
    elements: document.querySelectorAll(
      "img[src=x], [onload], [onerror], b[style], body script, #app style, a[href^='javascript:']",
    ).length,
    wide: document.documentElement.scrollWidth > window.innerWidth,
    polluted: Object.keys(Object.prototype),
  }));
  assert.deepEqual(found, { harmed: false, elements: 0, wide: false, polluted: [] });
}
