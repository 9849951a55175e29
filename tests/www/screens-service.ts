// The service that the screens are taken of, as if it stood still: at one address and one moment, and every id the same.

import type { BrowserContext, Route } from "playwright-core";

import { order as shop } from "../http/support.ts";
import { SECRETS_KEY } from "../http/sink.ts";
import { make, openBundle, park, send, stock } from "./console-entity-stock.ts";
import type { Stage } from "./support.ts";

/** Where the browser finds it: nothing listens there. */
export const ADDRESS = "http://localhost:8787";

/** What time it is in the page. */
export const NOW = Date.UTC(2026, 2, 2, 9, 30);

/** The settings of the service: what fails twice is dead. */
export const SETTINGS = { ACTION_RETRIES: "0.02", SECRETS_KEY };

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Fills it: orders in all of their states, a bundle of three levels, two revisions, effects that died, a source. */
export async function fill({ service }: Stage): Promise<void> {
  await stock(service);
  await service.register({ ...shop, machine_id: "shop-order", label: "Shop" });
  for (const [id, country] of [
    ["o-1001", "PT"],
    ["o-1002", "ES"],
    ["o-1003", "PT"],
    ["o-1004", "PT"],
  ] as const) {
    await make(service, "order", id, { customer: "Ada Lovelace", country, items: 3 });
  }
  await send(service, "order", "o-1001", { event_type: "pack", timestamp: 1600 });
  await send(service, "order", "o-1001", { event_type: "pay", params: { amount: 25 }, timestamp: 1700 });
  await send(service, "order", "o-1003", { event_type: "pack", timestamp: 1600 });
  await openBundle(service, "b-77");
  await park(service, "p-1");
  await service.expect(200, "PUT", "/api/machines/shop-order", {
    body: { ...shop, machine_id: "shop-order", label: "Shop", states: [...shop.states, "lost"] },
  });
  await service.expect(201, "PUT", "/api/secrets/shop", { body: {} });
  await service.expect(201, "PUT", "/api/sources/shop", {
    body: {
      machine: "order",
      scheme: { type: "standard-webhooks" },
      secret: "shop",
      mapping: { entity_id: "/data/order", event_type: "/type", params: { amount: "/data/amount" } },
    },
  });
}

/** Has a browser find it at `ADDRESS`, with what differs from run to run made the same. */
export async function standStill(context: BrowserContext, { url }: Pick<Stage, "url">): Promise<void> {
  const real = new Map<string, string>();
  const fake = new Map<string, string>();
  const shown = (text: string) =>
    text
      .replaceAll(UUID, (id) => {
        const other = fake.get(id) ?? `00000000-0000-4000-8000-${String(fake.size).padStart(12, "0")}`;
        fake.set(id, other);
        real.set(other, id);
        return other;
      })
      .replaceAll(url, ADDRESS)
      .replaceAll(/\b1[6-9]\d{11}\b/g, (at) => String(moved(Number(at))))
      .replaceAll(/"(?:age|lag|took|oldest)_ms":\d+/g, (each) => each.replace(/\d+/, "42"));
  await context.route(`${ADDRESS}/**`, async (route: Route) => {
    const request = route.request();
    const to = request
      .url()
      .replace(ADDRESS, url)
      .replaceAll(UUID, (id) => real.get(id) ?? id);
    try {
      const response = await route.fetch({ url: to });
      const json = response.headers()["content-type"]?.includes("json") === true;
      await route.fulfill(json ? { response, body: shown(await response.text()) } : { response });
    } catch (error) {
      // A page that is closed or left while it is answered takes its requests along.
      if (!/disposed|has been closed|already handled/.test(String(error))) throw error;
      await route.abort().catch(() => undefined);
    }
  });
}

/** A moment of the service as the page shall see it: what was is five minutes ago, and what will be is as far ahead as it is. */
function moved(at: number): number {
  const ahead = Math.round((at - Date.now()) / 600_000) * 600_000;
  return ahead > 0 ? NOW + ahead : NOW - 300_000;
}
