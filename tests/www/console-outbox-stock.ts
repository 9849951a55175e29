// What the service of the tests of the outbox knows: effects that were accepted, that are dead, and that wait.

import { delivered, outbox, send, Sink, turning } from "../http/sink.ts";
import type { Service } from "../http/support.ts";

/** The settings of a service that sends to a receiver: what fails twice is dead. */
export function settingsFor({ host }: Sink): Record<string, string> {
  return { WEBHOOK_ALLOW: host, ACTION_RETRIES: "0.02" };
}

/** The receiver of the effects of `parcel`: it does with each as its entity's id says. */
export async function receiver(): Promise<Sink> {
  const sink = await Sink.open();
  sink.reply = ({ body }) => {
    const id = String(body.id);
    if (id.startsWith("refused-")) return { status: 422, body: "no such address" };
    // It is not counted as a try, and does not come again within the test.
    if (id.startsWith("later-")) return { status: 429, headers: { "retry-after": "3000" } };
    return { status: 204 };
  };
  return sink;
}

/** Registers `parcel`, which calls for a webhook on each turn. */
export async function stock(service: Service, sink: Sink): Promise<void> {
  const body = { id: { $from: "/entity_id" }, version: { $from: "/state_version" } };
  await service.register(turning("parcel", { type: "webhook", url: `${sink.url}/parcels`, body }));
}

/** Turns an entity, and waits until its effect is in a status. */
export async function turned(service: Service, id: string, status: string): Promise<void> {
  await send(service, "parcel", id, "turn");
  await delivered(service, `the effect of ${id} is ${status}`, async () => {
    const items = await outbox(service, `&entity=${id}`);
    return items.some((item) => item.status === status && item.phase !== "claimed" && item.phase !== "due");
  });
}
