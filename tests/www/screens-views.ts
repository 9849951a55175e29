// Every view and dialog of the page, and how one comes to it: for the pictures of them, and for what each must keep.

import type { Page } from "playwright-core";

/** What is looked at. */
export interface View {
  readonly name: string;
  /** Goes there from wherever the page is, and waits until it shows. */
  readonly go: (page: Page) => Promise<unknown>;
  /** Closes what stands over the page. */
  readonly leave?: (page: Page) => Promise<unknown>;
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true });
const tab = (page: Page, name: string | RegExp) => page.getByRole("tab", { name }).first();
const dialog = (page: Page, name: string | RegExp) => page.getByRole("dialog", { name }).waitFor();
const close = (page: Page) => page.keyboard.press("Escape");
/** On a narrow screen the panes are tabs. */
const pane = async (page: Page, name: string) => {
  const panes = page.getByRole("tablist", { name: "Panes" });
  if (await panes.isVisible()) await panes.getByRole("tab", { name }).click();
};

async function hash(page: Page, to: string): Promise<void> {
  await page.evaluate((at) => void (location.hash = at), to);
}

/** Until a diagram with this state shows: the one before stays until the next is laid out. */
const drawn = (page: Page, state: string) =>
  page.locator(".diagram-state").filter({ hasText: state }).first().waitFor();

const checked = (page: Page) => page.getByText("Checking…").waitFor({ state: "hidden" });

/** Begins the simulator anew, with the first example. */
async function simulator(page: Page): Promise<void> {
  await hash(page, "#/");
  await page.locator(".sim-panels").waitFor({ state: "attached" });
  await pane(page, "Diagram");
  await drawn(page, "packed");
}

const panel = (name: string, label: RegExp): View => ({
  name: `simulator-${name}`,
  go: async (page) => {
    await pane(page, "History");
    await tab(page, label).click();
  },
});

const inConsole = (
  name: string,
  path: string,
  heading: string,
  then?: (page: Page) => Promise<unknown>,
): View => ({
  name,
  go: async (page) => {
    await hash(page, `#/console/${path}`);
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    await then?.(page);
  },
});

/** The views of the simulator, in the order in which they are gone through. */
export const SIMULATOR: readonly View[] = [
  { name: "simulator", go: simulator },
  { name: "simulator-definition", go: (page) => pane(page, "Definition") },
  { name: "simulator-events", go: (page) => pane(page, "Events") },
  panel("history", /^History \d/),
  panel("entries", /^Entries/),
  panel("context", /^Context/),
  panel("entities", /^Entities \d/),
  panel("effects", /^Effects/),
  {
    name: "simulator-twin",
    go: async (page) => {
      await pane(page, "Diagram");
      await button(page, "Show as text").click();
    },
    leave: (page) => button(page, "Show as text").click(),
  },
  { name: "simulator-examples", go: (page) => button(page, "Examples").click(), leave: close },
  {
    name: "simulator-share",
    go: async (page) => {
      await button(page, "Share link").click();
      await dialog(page, "Share as a link");
    },
    leave: close,
  },
  {
    name: "simulator-save",
    go: async (page) => {
      await button(page, "Save scenario").click();
      await dialog(page, "Save scenario");
    },
    leave: close,
  },
  {
    name: "simulator-xstate",
    go: async (page) => {
      await button(page, "Import from XState").click();
      await dialog(page, "Import from XState");
    },
    leave: close,
  },
  {
    name: "simulator-start-over",
    go: async (page) => {
      await button(page, "Start over").click();
      await dialog(page, "Start over?");
    },
    leave: close,
  },
  {
    name: "simulator-bundle",
    go: async (page) => {
      await button(page, "Examples").click();
      await page.getByRole("menuitem", { name: /Bundle/ }).click();
      await page.locator("option").filter({ hasText: "run-7" }).first().waitFor({ state: "attached" });
      await pane(page, "Diagram");
      await drawn(page, "returned");
    },
  },
];

/** The view before one has signed in. */
export const SIGN_IN: View = {
  name: "sign-in",
  go: async (page) => {
    await hash(page, "#/console");
    await page.getByRole("heading", { name: "Sign in to a service" }).waitFor();
  },
};

/** The views of the console, once signed in. */
export const CONSOLE: readonly View[] = [
  inConsole("machines", "machines", "Machines", (page) =>
    page.getByText("…", { exact: true }).first().waitFor({ state: "detached" }),
  ),
  inConsole("machine-register", "register", "Register a machine", checked),
  inConsole("machine", "machines/order", "order", (page) => drawn(page, "picking")),
  inConsole("machine-definition", "machines/order/definition", "order", (page) =>
    page.locator(".cm-content").waitFor(),
  ),
  inConsole("machine-revisions", "machines/shop-order/revisions", "shop-order", (page) =>
    page.locator(".cm-content").first().waitFor(),
  ),
  inConsole("machine-edit", "machines/shop-order/edit", "New revision of shop-order", checked),
  inConsole("machine-entities", "machines/order/entities", "order", (page) =>
    page.getByRole("link", { name: "o-1001" }).waitFor(),
  ),
  inConsole("entity", "entity/bundle/b-77", "b-77", (page) => drawn(page, "settling")),
  inConsole("entity-tree", "entity/bundle/b-77/tree", "b-77", (page) =>
    page.getByText("settling").first().waitFor(),
  ),
  inConsole("entity-history", "entity/bundle/b-77/history", "b-77", (page) =>
    page.getByText("idle → ret_b1").first().waitFor(),
  ),
  inConsole("entity-timers", "entity/bundle/b-77/timers", "b-77"),
  inConsole("entity-context", "entity/order/o-1001/context", "o-1001"),
  inConsole("entity-outbox", "entity/order/o-1001/outbox", "o-1001", (page) =>
    page.getByRole("cell", { name: "dead" }).waitFor(),
  ),
  inConsole("entity-receipts", "entity/order/o-1001/receipts", "o-1001"),
  inConsole("entity-parked", "entity/parking/p-1", "p-1", (page) => drawn(page, "working")),
  {
    name: "entity-send",
    go: async (page) => {
      await hash(page, "#/console/entity/order/o-1002");
      await page.getByRole("heading", { level: 1, name: "o-1002", exact: true }).waitFor();
      await page.getByRole("radio", { name: /^pay/ }).check();
      await page.getByLabel("amount", { exact: true }).fill("5");
      await page.getByLabel("amount", { exact: true }).press("Enter");
      await page.getByRole("list", { name: "Transitions on the event" }).waitFor();
    },
  },
  {
    name: "entity-fork",
    go: async (page) => {
      await hash(page, "#/console/entity/bundle/b-77");
      await page.getByRole("heading", { level: 1, name: "b-77", exact: true }).waitFor();
      await button(page, "Open in simulator").click();
      await page.getByRole("dialog").getByText("value of return_case").waitFor();
    },
    leave: close,
  },
  {
    name: "entity-delete",
    go: async (page) => {
      await button(page, "Delete").click();
      await page.getByRole("dialog").waitFor();
    },
    leave: close,
  },
  inConsole("outbox", "outbox", "Outbox", (page) => page.getByRole("table").waitFor()),
  inConsole("scheduler", "scheduler", "Scheduler"),
  inConsole("sources", "sources", "Sources", (page) => page.getByRole("table").waitFor()),
  inConsole("source", "sources/shop", "shop"),
  inConsole("source-new", "sources?new=1", "New source"),
  inConsole("look-up", "look-up", "Look up"),
  inConsole("nothing", "nothing", "Nothing here"),
  {
    name: "fork",
    go: async (page) => {
      await hash(page, "#/console/entity/bundle/b-77");
      await page.getByRole("heading", { level: 1, name: "b-77", exact: true }).waitFor();
      await button(page, "Open in simulator").click();
      await page.getByRole("dialog").getByText("value of return_case").waitFor();
      await button(page, "Open the fork").click();
      await page.getByRole("note").getByText("A fork of b-77").waitFor();
      await pane(page, "Diagram");
      await drawn(page, "returned");
    },
  },
];
