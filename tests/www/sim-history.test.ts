// What the simulator tells of what happened and of what stands: history, entries and timers, context, entities, effects.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Locator, Page } from "playwright-core";
import { type AnyMachine, type Scenario, simulate } from "statewright";

import { EXAMPLES } from "../../www/src/examples/index.ts";
import { event, load, panels } from "./simulator-page.ts";
import { quiet, skip, stage } from "./support.ts";

/** Opens an example, over what was changed where something was. */
async function example(page: Page, name: RegExp, over: "unchanged" | "changed"): Promise<void> {
  await page.getByRole("button", { name: "Examples" }).click();
  await page.getByRole("menuitem", { name }).click();
  if (over === "changed") await page.getByRole("button", { name: "Load it" }).click();
}

const tab = (page: Page, name: RegExp): Promise<void> => panels(page).getByRole("tab", { name }).click();
const send = (page: Page, name: string): Promise<void> => event(page, name).click();
const told = (page: Page, words: string): Promise<void> =>
  panels(page).getByText(words, { exact: true }).first().waitFor();

/** Loads a scenario from a file. */
const play = (page: Page, scenario: Scenario): Promise<void> =>
  load(page, [{ name: "x.json", text: JSON.stringify(scenario) }]);

/** A scenario brings its own. */
const NO_MACHINES: readonly AnyMachine[] = [];

/** A timer that cannot fire, an event to another entity that waits, and one that is refused. */
const waiting: Scenario = {
  statewright: "scenario/1",
  deliver: false,
  machines: [
    {
      machine_id: "waits",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [{ from: "a", to: "b", on: "$timeout", guard: { timeout_seconds: 10 } }],
      sub_machines: { b: { machine_id: "missing", lifecycle: "managed" } },
    },
    {
      machine_id: "sends",
      states: ["a", "b"],
      initial_state: "a",
      transitions: [
        { from: "a", to: "b", on: "go" },
        { from: "a", to: "a", on: "stay" },
      ],
      actions: [
        {
          on_enter: "b",
          action: {
            type: "transition",
            machine_id: "sends",
            entity_id: "o-{/entity_id}",
            event_type: "stay",
          },
        },
      ],
    },
  ],
  steps: [
    { op: "create", args: { machine_id: "waits", body: { entity_id: "w" } } },
    { op: "create", args: { machine_id: "sends", body: { entity_id: "s" } } },
    { op: "transition", args: { machine_id: "sends", entity_id: "s", body: { event_type: "go" } } },
    { op: "advance", args: { to: 20_000 } },
    {
      op: "transition",
      args: { machine_id: "sends", entity_id: "s", body: { event_type: "go", expected_version: 9 } },
    },
  ],
};

/** Markup in names, keys of prototypes, and texts that never end. */
const hostile: Scenario = {
  statewright: "scenario/1",
  machines: [
    {
      machine_id: "<i>m</i>",
      regions: [
        { id: "__proto__", states: ["constructor", "y".repeat(120)], initial_state: "constructor" },
        { id: "toString", states: ["constructor"], initial_state: "constructor" },
      ],
      transitions: [{ region: "__proto__", from: "constructor", to: "y".repeat(120), on: "<b>go</b>" }],
      actions: [
        {
          on_enter: "y".repeat(120),
          action: { type: "webhook", url: `https://a.example/${"z".repeat(1500)}` },
        },
      ],
    },
  ],
  steps: [
    {
      op: "create",
      args: {
        machine_id: "<i>m</i>",
        body: {
          entity_id: "<img src=x>",
          context: JSON.parse(
            `{"__proto__":{"polluted":"</script>"},"long":"${"w".repeat(20_000)}"}`,
          ) as object,
        },
      },
    },
    {
      op: "transition",
      args: {
        machine_id: "<i>m</i>",
        entity_id: "<img src=x>",
        body: { event_type: "<b>go</b>", params: { ["p".repeat(500)]: "v".repeat(5000) } },
      },
    },
  ],
};

/** The head of a step of history, and the rows below it. */
const head = (page: Page, words: string): Locator =>
  panels(page).locator("button.sim-past-head", { hasText: words });
const rowsOf = async (page: Page, words: string): Promise<string[]> => {
  const item = panels(page)
    .locator("li", { has: page.locator("button.sim-past-head", { hasText: words }) })
    .last();
  const rows = await item
    .getByRole("list", { name: "Rows of its commits" })
    .getByRole("listitem")
    .allInnerTexts();
  return rows.map((text) => text.replace(/\s+/g, " ").trim());
};

test("the panels of the simulator", { skip }, async (t) => {
  const on = await stage();
  const opened = await on.open();
  const { page } = opened;
  await page.getByRole("tab", { name: /History/ }).waitFor();

  await t.test("a step that moved nothing says why", async () => {
    const cancel = panels(page).getByRole("listitem").filter({ hasText: "Sent cancel to o-1001" });
    await cancel.getByText("no transition from 'packed' on 'cancel'", { exact: true }).waitFor();
  });

  await t.test(
    "a commit is shown with all its rows: the event, completions up to the root, and the join",
    async () => {
      await example(page, /Bundle/, "unchanged");
      await told(page, "10 of 10 steps done");
      await send(page, "inspected");
      await told(page, "11 of 11 steps done");
      const rows = await rowsOf(page, "Sent inspected");
      assert.equal(rows.length, 4, rows.join("\n"));
      assert.match(rows[0] ?? "", /^inspected arrived → settled settle run-7::sub::ret_b2::sub::settling/);
      assert.match(
        rows[1] ?? "",
        /^child completed: run-7::sub::ret_b2::sub::settling case: settling → returned return_case/,
      );
      assert.match(rows[2] ?? "", /^child completed: run-7::sub::ret_b2 b2: ret_b2 → returned/);
      assert.match(rows[3] ?? "", /^join: b1 returned and b2 returned refund: waiting → due .*1 effect/);
    },
  );

  await t.test("undo and redo go to any step, by button, by click and by key", async () => {
    await panels(page).getByRole("button", { name: "Undo", exact: true }).click();
    await told(page, "10 of 11 steps done");
    assert.match(await head(page, "Sent inspected").last().innerText(), /undone/);

    await head(page, "Sent open_b2").click();
    await told(page, "3 of 11 steps done");
    assert.equal(await panels(page).getByText("undone", { exact: true }).count(), 8);
    await tab(page, /Entities/);
    assert.equal(await panels(page).getByRole("tabpanel").getByText("active", { exact: true }).count(), 2);
    await tab(page, /History/);

    // From the step that stands to the next but one, and there by Enter.
    await panels(page).locator('[aria-current="step"]').focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await told(page, "5 of 11 steps done");
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await told(page, "0 of 11 steps done");
    assert.equal(await panels(page).getByRole("button", { name: "Undo", exact: true }).isDisabled(), true);
    assert.equal(
      await page
        .locator('[aria-current="step"]')
        .innerText()
        .then((text) => /Beginning/.test(text)),
      true,
    );
    await head(page, "Sent inspected").last().click();
    await told(page, "11 of 11 steps done");
    assert.equal(await panels(page).getByRole("button", { name: "Redo", exact: true }).isDisabled(), true);
  });

  await t.test("history is filtered by entity", async () => {
    await panels(page)
      .getByLabel("Entity", { exact: true })
      .selectOption({ label: "settle run-7::sub::ret_b1::sub::settling" });
    const heads = await panels(page).locator(".sim-past-head").allInnerTexts();
    assert.equal(heads.length, 3, heads.join("\n"));
    assert.deepEqual(await rowsOf(page, "Sent inspected"), [
      "inspected arrived → settled settle run-7::sub::ret_b1::sub::settling",
    ]);
    await panels(page).getByLabel("Entity", { exact: true }).selectOption({ label: "All" });
  });

  await t.test(
    "the tree has children where they hang and says how they ended, and any of them is looked at",
    async () => {
      await tab(page, /Entities/);
      const panel = panels(page).getByRole("tabpanel");
      const children = panel.getByRole("list", { name: "Children of run-7", exact: true });
      const first = children.locator(":scope > li").first();
      assert.match(
        (await first.innerText()).replace(/\s+/g, " "),
        /^return_case run-7::sub::ret_b1 case: returned, deadline: closed completed at b1: ret_b1, entry \d+; ended 2026-01-10 09:00:00, its parent went to returned settle run-7::sub::ret_b1::sub::settling settled completed at case: settling/,
      );
      const inner = panel.getByRole("button", { name: "settle run-7::sub::ret_b2::sub::settling" });
      await inner.focus();
      await page.keyboard.press("Enter");
      assert.equal(await inner.getAttribute("aria-pressed"), "true");
      await tab(page, /Entries/);
      await panel.getByRole("cell", { name: "settled" }).waitFor();
    },
  );

  await t.test("a cancelled child, and a timeout, are told with their cause", async () => {
    await example(page, /Subscription/, "changed");
    await tab(page, /History/);
    await told(page, "7 of 7 steps done");
    assert.deepEqual(await rowsOf(page, "Sent payment_succeeded"), [
      "payment_succeeded past_due → active",
      "cancelled: its parent left the state ended in first_reminder dunning s-314::sub::past_due",
    ]);
    const timeouts = await rowsOf(page, "Clock to");
    assert.match(
      timeouts[0] ?? "",
      /^timeout, due 2026-04-20 09:00:00 first_reminder → second_reminder dunning .* 1 effect$/,
    );
    await tab(page, /Entities/);
    const ended = page
      .getByRole("listitem")
      .filter({ hasText: "ended 2026-03-16 09:00:00, when its parent left the state" });
    assert.match(await ended.last().innerText(), /cancelled/);
  });

  await t.test("entries tell since when, and timers how long is left as the clock goes on", async () => {
    await example(page, /Approval/, "unchanged");
    await tab(page, /Entries/);
    const row = panels(page).getByRole("row", { name: /reminded/ });
    assert.match(await row.innerText(), /in 1 d 23 h at 2026-01-08 10:00:00/);
    assert.match(await row.innerText(), /after 2 d → escalated/);
    assert.match(await row.innerText(), /2026-01-06 10:00:00 1 h ago/);
    await page.getByRole("button", { name: "Step 1 day" }).click();
    await row.getByText("in 23 h").waitFor();
    await page.getByRole("button", { name: "Next timer" }).click();
    const next = panels(page).getByRole("row", { name: /escalated/ });
    await next.getByText("in 7 d").waitFor();
    assert.match(await next.innerText(), /just now/);
  });

  await t.test("the context marks what the last step changed", async () => {
    await example(page, /^Order/, "changed");
    await tab(page, /Context/);
    const context = page.getByRole("region", { name: "Context of o-1001" });
    await told(page, "The last step changed nothing here");
    await tab(page, /History/);
    await head(page, '{"amount":49}').click();
    await tab(page, /Context/);
    await told(page, "What the last step changed is marked");
    const added = context.getByText("added", { exact: true });
    assert.equal(await added.count(), 1);
    assert.match(await added.locator("..").innerText(), /"amount": 49/);
    assert.match(await context.innerText(), /"customer": "c-17"/);
  });

  await t.test(
    "effects are shown as they would be sent, with no secret but its name, and copied",
    async () => {
      await opened.context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await tab(page, /Effects/);
      const effects = page.getByRole("list", { name: "Effects" });
      assert.equal(await effects.getByRole("listitem").count(), 2);
      const webhook = effects.getByRole("listitem").first();
      await webhook.locator("summary").click();
      const text = (await webhook.innerText()).replace(/\s+/g, " ");
      assert.match(text, /webhook POST https:\/\/mail\.example\/receipts would be sent/);
      assert.match(text, /order\/o-1001@2\.0/);
      assert.match(text, /order o-1001: placed → paid, at 2026-01-05 09:12:00/);
      assert.match(text, /authorization Bearer \{secret mail-token\}/);
      assert.match(await webhook.getByRole("region", { name: /Body/ }).innerText(), /"amount": 49/);
      const event = effects.getByRole("listitem").last();
      assert.match(
        (await event.innerText()).replace(/\s+/g, " "),
        /transition reserve to stock lamp-7 delivered: applied/,
      );
      await event.getByRole("button", { name: "Copy as JSON" }).click();
      await page.getByText("The effect is copied").waitFor();
      const copied: unknown = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
      assert.equal(Reflect.get(Object(copied), "effect_id"), "order/o-1001@2.1");
    },
  );

  await t.test("parked timers say why, and events that wait are delivered when asked", async () => {
    await play(page, waiting);
    await tab(page, /Entities/);
    await panels(page).getByRole("button", { name: "waits w" }).click();
    await tab(page, /Entries/);
    const row = panels(page).getByRole("row", { name: /overdue/ });
    assert.match(await row.innerText(), /overdue by 10 s.*parked NOT_FOUND: there is no machine `missing`/s);
    await tab(page, /Effects/);
    await panels(page).getByText("waits to be delivered", { exact: true }).waitFor();
    await panels(page).getByRole("button", { name: "Deliver what waits" }).click();
    await panels(page).getByText("delivered: applied").waitFor();
    await tab(page, /History/);
    assert.match(await head(page, "Delivered events that waited").innerText(), /now/);
    assert.match(await head(page, "Sent go to s").last().innerText(), /refused, 409/);
  });

  await t.test("what was taken over from a service has its rows with their times", async () => {
    const example = EXAMPLES.find(({ id }) => id === "bundle");
    assert.ok(example);
    const session = simulate(NO_MACHINES);
    session.import(example.scenario);
    const history = session
      .entities()
      .flatMap(({ machine_id, entity_id }) => session.history(machine_id, entity_id));
    const body = { tree: session.tree("bundle", "run-7"), history };
    const { definitions: machines } = example;
    await play(page, {
      statewright: "scenario/1",
      machines,
      start: session.now,
      steps: [{ op: "adopt", args: { body } }],
    });
    await page.getByRole("button", { name: "Load it" }).click();
    await told(page, "1 of 1 step done");
    const rows = await rowsOf(page, "Took over run-7");
    assert.equal(rows.length, history.length);
    assert.ok(
      rows.includes("child completed: run-7::sub::ret_b1 b1: ret_b1 → returned 2026-01-10 09:00:00"),
      rows.join("\n"),
    );
  });

  await t.test(
    "hostile names and values are shown as text, and nothing goes over the edge of a phone",
    async () => {
      await page.setViewportSize({ width: 360, height: 740 });
      await play(page, hostile);
      await page.getByRole("tab", { name: "History", exact: true }).click();
      await told(page, "2 of 2 steps done");
      const shown: [RegExp, RegExp][] = [
        [/History/, /Sent <b>go<\/b> to <img src=x>/],
        [/Entries/, /constructor/],
        [/Context/, /"__proto__": \{[^]*"polluted": "<\/script>/],
        [/Entities/, /__proto__: y{50}/],
        [/Effects/, /POST https:\/\/a\.example\/z{50}/],
      ];
      for (const [name, says] of shown) {
        await tab(page, name);
        for (const summary of await panels(page).locator("summary").all()) await summary.click();
        assert.match(await panels(page).getByRole("tabpanel").innerText(), says);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.equal(over, 0, String(name));
        const small = await panels(page)
          .locator("button:visible, summary:visible")
          .evaluateAll((all) =>
            all.filter((one) => one.getBoundingClientRect().height < 24).map((one) => one.outerHTML),
          );
        assert.deepEqual(small, []);
      }
      assert.equal(await page.evaluate(() => Reflect.get({}, "polluted")), undefined);
    },
  );

  await t.test("the page had nothing to complain of", () => quiet(opened));
});
