// Webhooks of providers that become events: signed by the providers' own libraries, verified before they are read,
// applied once, and answered so that a provider does not send for ever.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { sign } from "@octokit/webhooks-methods";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";

import { SECRETS_KEY, Sink } from "./sink.ts";
import { type Answer, refused, serve } from "./support.ts";

const service = await serve({ settings: { SECRETS_KEY } });

const seconds = (): number => Math.floor(Date.now() / 1000);

/** A machine that takes each of these events in any number. */
function takes(machine_id: string, ...events: string[]): object {
  return {
    machine_id,
    states: ["open"],
    initial_state: "open",
    transitions: events.map((on) => ({ from: "open", to: "open", on })),
  };
}

/** Keeps a secret of a tenant. */
async function keep(tenant: string, name: string, value: string): Promise<void> {
  await service.expect(201, "PUT", `/api/secrets/${name}`, { body: { value }, tenant });
}

/** Registers a source. */
function source(tenant: string, id: string, body: object): Promise<Answer["body"]> {
  return service.expect(201, "PUT", `/api/sources/${id}`, { body, tenant });
}

/** What a provider sends: without our key and our header of the tenant. */
function hook(
  tenant: string,
  id: string,
  raw: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return service.call("POST", `/hooks/${tenant}/${id}`, { raw, headers, key: null, tenant: null });
}

async function counts(tenant: string, id: string): Promise<Record<string, number>> {
  const found = (await service.expect(200, "GET", `/api/sources/${id}`, { tenant })).counts as Record<
    string,
    number
  >;
  return Object.fromEntries(Object.entries(found).filter(([, count]) => count !== 0));
}

async function history(tenant: string, machine: string, id: string): Promise<any[]> {
  const path = `/api/machines/${machine}/entities/${encodeURIComponent(id)}/history?order=id`;
  return service.expect(200, "GET", path, { tenant });
}

function is(answer: Answer, status: number, outcome: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.body?.outcome, outcome, answer.text);
}

const stripeEvent = (id: string, amount: number, more: object = {}) =>
  JSON.stringify({
    id,
    object: "event",
    api_version: "2026-01-01",
    created: 1_700_000_000,
    type: "payment_intent.succeeded",
    data: { object: { id: "pi_1", object: "payment_intent", amount, metadata: { order: "o-1" } } },
    ...more,
  });

test("Stripe: what its library signs becomes an event, once", async () => {
  const [tenant, secret] = ["stripe", "whsec_test_4711"];
  const signed = (payload: string, more: object = {}) => ({
    "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload, secret, ...more }),
  });
  await service.register(takes("payment", "payment_intent.succeeded"), tenant);
  await keep(tenant, "stripe", secret);
  const made = await source(tenant, "in", {
    machine: "payment",
    scheme: { type: "stripe" },
    secret: "stripe",
    mapping: {
      entity_id: "/data/object/metadata/order",
      params: { amount: "/data/object/amount", nothing: "/data/object/none" },
    },
  });
  assert.equal(made.id, "in");
  assert.equal(made.active, true);
  const payload = stripeEvent("evt_1", 500);
  const first = await hook(tenant, "in", payload, signed(payload));
  is(first, 200, "applied");
  assert.deepEqual([first.body.entity_id, first.body.state_version], ["o-1", 2]);
  is(await hook(tenant, "in", payload, signed(payload)), 200, "duplicate");
  const [row, ...others] = await history(tenant, "payment", "o-1");
  assert.equal(others.length, 0);
  assert.equal(row.event_type, "payment_intent.succeeded");
  const entity = await service.expect(200, "GET", "/api/machines/payment/entities/o-1", { tenant });
  assert.equal(entity.context.amount, 500);
  assert.equal("nothing" in entity.context, false, "what is not there is not made up");

  // The library verifies for us that these are what it would refuse or accept.
  const old = signed(payload, { timestamp: seconds() - 301 });
  assert.throws(() => Stripe.webhooks.constructEvent(payload, old["stripe-signature"], secret));
  refused(await hook(tenant, "in", payload, old), 401, "UNAUTHORIZED");
  const ahead = signed(payload, { timestamp: seconds() + 400 });
  refused(await hook(tenant, "in", payload, ahead), 401, "UNAUTHORIZED");
  const recent = stripeEvent("evt_2", 1);
  is(await hook(tenant, "in", recent, signed(recent, { timestamp: seconds() - 200 })), 200, "applied");
  refused(await hook(tenant, "in", `${payload} `, signed(payload)), 401, "UNAUTHORIZED");
  refused(await hook(tenant, "in", payload, signed(payload, { secret: "whsec_other" })), 401, "UNAUTHORIZED");
  refused(await hook(tenant, "in", payload), 401, "UNAUTHORIZED");
  for (const header of ["", "t=1", "v1=00", `t=x,v1=00`, "t=1,v1=", ",,,", `t=${seconds()},v0=00`])
    refused(await hook(tenant, "in", payload, { "stripe-signature": header }), 401, "UNAUTHORIZED");
  // While a secret is rotated, Stripe signs with both.
  const [good, bad] = [signed(recent), signed(recent, { secret: "whsec_other" })].map(
    (of) => of["stripe-signature"],
  );
  const both = `${bad?.split(",v1=")[0]},v1=${bad?.split(",v1=")[1]},v1=${good?.split(",v1=")[1]}`;
  is(await hook(tenant, "in", recent, { "stripe-signature": both }), 200, "duplicate");
  // The same id with other content is no redelivery.
  const forged = stripeEvent("evt_1", 999);
  refused(await hook(tenant, "in", forged, signed(forged)), 422, "IDEMPOTENCY_MISMATCH");
  assert.equal((await history(tenant, "payment", "o-1")).length, 2);
  const tally = await counts(tenant, "in");
  assert.deepEqual([tally["applied"], tally["duplicate"], tally["bad_signature"]], [2, 2, 12]);
});

test("GitHub: what octokit signs becomes an event, and its ping is answered", async () => {
  const [tenant, secret] = ["github", "It's a Secret to Everybody"];
  await service.register(takes("issue", "issues.opened", "push"), tenant);
  await keep(tenant, "github", secret);
  await source(tenant, "in", {
    machine: "issue",
    scheme: { type: "github" },
    secret: "github",
    mapping: { entity_id: "{/repository/full_name}", params: { sender: "/sender/login" } },
  });
  const deliver = async (
    event: string,
    delivery: string,
    body: object,
    headers: Record<string, string> = {},
  ) => {
    const raw = JSON.stringify(body);
    return hook(tenant, "in", raw, {
      "x-github-event": event,
      "x-github-delivery": delivery,
      "x-hub-signature-256": await sign(secret, raw),
      ...headers,
    });
  };
  const common = { repository: { full_name: "octo/hello" }, sender: { login: "mona" } };
  const ping = await deliver("ping", "p-1", { zen: "Keep it logically awesome.", hook_id: 1, ...common });
  is(ping, 200, "handshake");
  const opened = { action: "opened", issue: { number: 1 }, ...common };
  is(await deliver("issues", "d-1", opened), 200, "applied");
  is(await deliver("issues", "d-1", opened), 200, "duplicate");
  is(await deliver("push", "d-2", { ref: "refs/heads/main", ...common }), 200, "applied");
  is(await deliver("issues", "d-3", { ...opened, action: "closed" }), 200, "no_transition");
  // The same content in another delivery is another event.
  is(await deliver("issues", "d-4", opened), 200, "applied");
  refused(
    await deliver("issues", "d-5", opened, { "x-hub-signature-256": "sha256=00" }),
    401,
    "UNAUTHORIZED",
  );
  refused(
    await deliver("issues", "d-5", opened, { "x-hub-signature-256": await sign("other", "{}") }),
    401,
    "UNAUTHORIZED",
  );
  const rows = await history(tenant, "issue", "octo/hello");
  assert.deepEqual(
    rows.map(({ event_type }) => event_type),
    ["issues.opened", "push", "issues.opened"],
  );
  assert.deepEqual(await counts(tenant, "in"), {
    applied: 3,
    duplicate: 1,
    no_transition: 1,
    handshake: 1,
    bad_signature: 2,
  });
  const [receipt] = await service.expect(200, "GET", "/api/receipts/d-1", { tenant });
  assert.deepEqual(
    [receipt.key, receipt.scope, receipt.status, receipt.outcome, receipt.entity_id, receipt.state_version],
    ["d-1", "hook:in", 200, "applied", "octo/hello", 2],
  );
  refused(await service.call("GET", "/api/receipts/d-5", { tenant }), 404, "NOT_FOUND");
});

test("Standard Webhooks: what standardwebhooks and svix sign, with either live secret", async () => {
  const tenant = "standard";
  await service.register(takes("order", "order.paid"), tenant);
  const made = await service.expect(201, "PUT", "/api/secrets/peer", { body: {}, tenant });
  const first = made.value as string;
  await source(tenant, "in", {
    machine: "order",
    scheme: { type: "standard-webhooks" },
    secret: "peer",
    tolerance: 60,
    mapping: { entity_id: "/data/order", params: { by: { header: "x-by" } } },
  });
  const raw = JSON.stringify({
    type: "order.paid",
    timestamp: "2026-01-01T00:00:00Z",
    data: { order: "o-1" },
  });
  const deliver = (
    library: StandardWebhook | SvixWebhook,
    id: string,
    { at = new Date(), more = "" }: { at?: Date; more?: string } = {},
  ) =>
    hook(tenant, "in", raw, {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": `${more}${library.sign(id, at, raw)}`,
      "x-by": "peer",
    });
  is(await deliver(new StandardWebhook(first), "msg_1"), 200, "applied");
  is(await deliver(new SvixWebhook(first), "msg_1"), 200, "duplicate");
  is(await deliver(new SvixWebhook(first), "msg_2", { more: "v1a,AAAA v1,bm90IGl0 " }), 200, "applied");
  refused(
    await deliver(new SvixWebhook(first), "msg_3", { at: new Date(Date.now() - 70_000) }),
    401,
    "UNAUTHORIZED",
  );
  refused(
    await deliver(new SvixWebhook(first), "msg_3", { at: new Date(Date.now() + 70_000) }),
    401,
    "UNAUTHORIZED",
  );
  const entity = await service.expect(200, "GET", "/api/machines/order/entities/o-1", { tenant });
  assert.equal(entity.context.by, "peer");

  const rotated = await service.expect(200, "POST", "/api/secrets/peer/rotate", { body: {}, tenant });
  is(await deliver(new SvixWebhook(rotated.value), "msg_4"), 200, "applied");
  is(await deliver(new SvixWebhook(first), "msg_5"), 200, "applied");
  await service.expect(204, "DELETE", "/api/secrets/peer/previous", { tenant });
  refused(await deliver(new SvixWebhook(first), "msg_6"), 401, "UNAUTHORIZED");
  is(await deliver(new SvixWebhook(rotated.value), "msg_6"), 200, "applied");
  assert.equal((await history(tenant, "order", "o-1")).length, 5);
});

test("Slack: its challenge is answered, and its events are applied once", async () => {
  const [tenant, secret] = ["slack", "8f742231b10e8888abcd99yyyzzz85a5"];
  await service.register(takes("channel", "message", "app_mention"), tenant);
  await keep(tenant, "slack", secret);
  await source(tenant, "in", {
    machine: "channel",
    scheme: { type: "slack" },
    secret: "slack",
    mapping: { entity_id: "/event/channel", params: { text: "/event/text" } },
  });
  const deliver = (body: object | string, at = seconds(), by = secret) => {
    const raw = typeof body === "string" ? body : JSON.stringify(body);
    const mac = createHmac("sha256", by).update(`v0:${at}:${raw}`).digest("hex");
    return hook(tenant, "in", raw, {
      "x-slack-request-timestamp": String(at),
      "x-slack-signature": `v0=${mac}`,
    });
  };
  const challenge = await deliver({ type: "url_verification", token: "t", challenge: "3eZbrw1aB<10> €" });
  assert.equal(challenge.status, 200, challenge.text);
  assert.match(challenge.headers.get("content-type") ?? "", /^text\/plain/);
  assert.equal(challenge.text, "3eZbrw1aB<10> €");
  refused(
    await deliver({ type: "url_verification", challenge: "x" }, seconds(), "wrong"),
    401,
    "UNAUTHORIZED",
  );
  const event = (event_id: string, type: string) => ({
    type: "event_callback",
    team_id: "T1",
    event_id,
    event_time: 1_700_000_000,
    event: { type, channel: "C1", text: "hi" },
  });
  is(await deliver(event("Ev1", "message")), 200, "applied");
  is(await deliver(event("Ev1", "message")), 200, "duplicate");
  is(await deliver(event("Ev2", "reaction_added")), 200, "no_transition");
  refused(await deliver(event("Ev3", "message"), seconds() - 301), 401, "UNAUTHORIZED");
  is(await deliver("payload=%7B%22type%22%3A%22block_actions%22%7D"), 202, "unmapped");
  assert.deepEqual(await counts(tenant, "in"), {
    handshake: 1,
    applied: 1,
    duplicate: 1,
    no_transition: 1,
    unmapped: 1,
    bad_signature: 2,
  });
});

test("plain HMAC: header, encoding and prefix as configured, identified by its content", async () => {
  const [tenant, secret] = ["hmac", "k".repeat(100)];
  await service.register(takes("thing", "made"), tenant);
  await keep(tenant, "mac", secret);
  const mapping = { entity_id: "/id", event_type: "/kind", prefix: "" };
  const schemes = {
    hex: { type: "hmac-sha256", header: "X-Signature", encoding: "hex" },
    base64: { type: "hmac-sha256", header: "X-Mac", encoding: "base64", prefix: "sha256=" },
  };
  for (const [id, scheme] of Object.entries(schemes))
    await source(tenant, id, { machine: "thing", scheme, secret: "mac", mapping });
  const raw = JSON.stringify({ id: "ünï", kind: "made" });
  const mac = (encoding: "hex" | "base64") => createHmac("sha256", secret).update(raw).digest(encoding);
  is(await hook(tenant, "hex", raw, { "x-signature": mac("hex") }), 200, "applied");
  is(await hook(tenant, "hex", raw, { "x-signature": mac("hex").toUpperCase() }), 200, "duplicate");
  is(await hook(tenant, "base64", raw, { "x-mac": `sha256=${mac("base64")}` }), 200, "applied");
  refused(await hook(tenant, "base64", raw, { "x-mac": mac("base64") }), 401, "UNAUTHORIZED");
  refused(await hook(tenant, "hex", raw, { "x-signature": mac("base64") }), 401, "UNAUTHORIZED");
  refused(await hook(tenant, "hex", raw, { "x-signature": mac("hex").slice(0, 62) }), 401, "UNAUTHORIZED");
  refused(await hook(tenant, "hex", raw, { "x-signature": "" }), 401, "UNAUTHORIZED");
  assert.equal((await history(tenant, "thing", "ünï")).length, 2);
});

test("a bad signature leaves a counter and no other trace, and does not tell what exists", async () => {
  const tenant = "traceless";
  await service.register(takes("m", "e"), tenant);
  await keep(tenant, "mac", "secret");
  const scheme = { type: "hmac-sha256", header: "x-mac" };
  await source(tenant, "in", {
    machine: "m",
    scheme,
    secret: "mac",
    mapping: { entity_id: "/id", event_type: "/t" },
  });
  const everything = async () => {
    const tables = [
      "machines",
      "entities",
      "entries",
      "history",
      "inbox",
      "outbox",
      "records",
      "secrets",
      "sources",
    ];
    return JSON.stringify(
      await Promise.all(tables.map((table) => service.runtime.sql(`SELECT * FROM ${table}`))),
    );
  };
  const before = await everything();
  const raw = '{"id":"x","t":"e"}';
  const wrong = await hook(tenant, "in", raw, { "x-mac": "00" });
  const unknown = await hook(tenant, "nowhere", raw, { "x-mac": "00" });
  const nobody = await hook("no-such-tenant", "in", raw, { "x-mac": "00" });
  refused(wrong, 401, "UNAUTHORIZED");
  assert.equal(unknown.text, wrong.text);
  assert.equal(nobody.text, wrong.text);
  assert.equal(unknown.status, 401);
  // What cannot be read is not read before it is verified.
  assert.equal((await hook(tenant, "in", "{", { "x-mac": "00" })).text, wrong.text);
  assert.equal(await everything(), before);
  assert.deepEqual(await counts(tenant, "in"), { bad_signature: 2 });
  const rest = await service.runtime.sql(
    "SELECT DISTINCT tenant, source FROM source_counts WHERE tenant NOT IN " + "(SELECT tenant FROM sources)",
  );
  assert.deepEqual(rest, [], "what does not exist is not counted");

  const mac = (text: string) => ({ "x-mac": createHmac("sha256", "secret").update(text).digest("hex") });
  is(await hook(tenant, "in", raw, mac(raw)), 200, "applied");
  is(await hook(tenant, "in", "{", mac("{")), 202, "unmapped");
  is(await hook(tenant, "in", '{"t":"e"}', mac('{"t":"e"}')), 202, "unmapped");
  is(await hook(tenant, "in", '{"id":{},"t":"e"}', mac('{"id":{},"t":"e"}')), 202, "unmapped");
  const large = JSON.stringify({ id: "x", t: "e", pad: "x".repeat(1 << 20) });
  assert.equal((await hook(tenant, "in", large, mac(large))).status, 413);
  assert.deepEqual(await counts(tenant, "in"), { bad_signature: 2, applied: 1, unmapped: 3 });

  // A source that is put to rest answers as one that is not there.
  const found = await service.expect(200, "GET", "/api/sources/in", { tenant });
  const { scheme: how, secret, mapping, machine } = found;
  await service.expect(200, "PUT", "/api/sources/in", {
    body: { machine, scheme: how, secret, mapping, active: false },
    tenant,
  });
  assert.notEqual((await hook(tenant, "in", '{"id":"y","t":"e"}', mac('{"id":"y","t":"e"}'))).status, 200);
  await service.expect(204, "DELETE", "/api/sources/in", { tenant });
  assert.equal((await hook(tenant, "in", raw, mac(raw))).text, wrong.text);
});

test("rename tables, prefixes and only: what is mapped to what", async () => {
  const tenant = "renames";
  await service.register(takes("m", "paid", "in.other"), tenant);
  await keep(tenant, "mac", "secret");
  const scheme = { type: "hmac-sha256", header: "x-mac" };
  const mapping = {
    entity_id: "order-{/id}-{/part}",
    event_type: "/t",
    prefix: "in.",
    rename: { "charge.ok": "paid" },
  };
  await source(tenant, "some", { machine: "m", scheme, secret: "mac", mapping });
  await source(tenant, "only", { machine: "m", scheme, secret: "mac", mapping: { ...mapping, only: true } });
  await source(tenant, "existing", { machine: "m", scheme, secret: "mac", mapping, create: false });
  const deliver = (id: string, body: object) => {
    const raw = JSON.stringify(body);
    return hook(tenant, id, raw, { "x-mac": createHmac("sha256", "secret").update(raw).digest("hex") });
  };
  is(await deliver("some", { id: 1, part: "a", t: "charge.ok" }), 200, "applied");
  is(await deliver("some", { id: 1, part: "a", t: "other" }), 200, "applied");
  is(await deliver("only", { id: 2, part: "a", t: "charge.ok" }), 200, "applied");
  const left = await deliver("only", { id: 2, part: "a", t: "other" });
  is(left, 202, "unmapped");
  assert.notEqual(left.body.problem ?? "", "");
  assert.deepEqual(
    (await history(tenant, "m", "order-1-a")).map(({ event_type }) => event_type),
    ["paid", "in.other"],
  );
  const absent = await deliver("existing", { id: 9, part: "z", t: "charge.ok" });
  is(absent, 200, "refused");
  assert.equal(absent.body.code, "NOT_FOUND");
  is(await deliver("existing", { id: 1, part: "a", t: "charge.ok", n: 2 }), 200, "applied");

  // `try` shows it without doing it.
  const attempt = (id: string, body: unknown, headers = {}) =>
    service.expect(200, "POST", `/api/sources/${id}/try`, { body: { body, headers }, tenant });
  const shown = await attempt("some", { id: 7, part: "b", t: "charge.ok" });
  assert.equal(shown.mapped, true);
  assert.equal(shown.signature, "absent");
  const { identity, ...event } = shown.event;
  assert.deepEqual(event, { entity_id: "order-7-b", event_type: "paid", params: {} });
  assert.notEqual(identity, "");
  const raw = '{"id":7,"part":"b","t":"other"}';
  const mac = createHmac("sha256", "secret").update(raw).digest("hex");
  const signed = await attempt("only", raw, { "X-Mac": mac });
  assert.deepEqual([signed.mapped, signed.signature], [false, "valid"]);
  assert.notEqual(signed.problem ?? "", "");
  assert.equal((await attempt("some", raw, { "x-mac": "00" })).signature, "invalid");
  const missing = await attempt("some", { id: 7, t: "x" });
  assert.equal(missing.mapped, false);
  assert.match(JSON.stringify([missing.path, missing.problem]), /part/);
  refused(await service.call("GET", "/api/machines/m/entities/order-7-b", { tenant }), 404, "NOT_FOUND");
  assert.equal("bad_signature" in (await counts(tenant, "some")), false, "a trial is not counted");
});

test("an event that is told who sent it: the cause of what a source moves", async () => {
  const tenant = "causes";
  const sink = await Sink.open();
  const other = await serve({ settings: { SECRETS_KEY, WEBHOOK_ALLOW: sink.host } });
  await other.register(takes("m", "e"), tenant);
  await other.expect(201, "PUT", "/api/secrets/mac", { body: { value: "secret" }, tenant });
  await other.expect(201, "PUT", "/api/sources/in", {
    body: {
      machine: "m",
      scheme: { type: "hmac-sha256", header: "x-mac" },
      secret: "mac",
      mapping: { entity_id: "/id", event_type: "/t" },
    },
    tenant,
  });
  await other.expect(201, "POST", "/api/subscriptions", {
    body: { source: "machines", sink: { type: "webhook", url: sink.url } },
    tenant,
  });
  const raw = '{"id":"x","t":"e"}';
  const mac = createHmac("sha256", "secret").update(raw).digest("hex");
  const answer = await other.call("POST", `/hooks/${tenant}/in`, {
    raw,
    headers: { "x-mac": mac },
    key: null,
    tenant: null,
  });
  is(answer, 200, "applied");
  while (sink.deliveries.length === 0) await other.runtime.scheduled();
  assert.equal(sink.deliveries[0]?.body.data.cause.source, "hook:in");
});

/** The wallet of S4.110: a payment that is credited once, whoever sends it again. */
const wallet = takes("wallet", "payment_intent.succeeded");
const payment = { type: "payment_intent.succeeded", id: "evt_1", account: "acct_A", amount: 500 };

/** What was credited: of each event that moved the wallet, its amount. */
async function balance(account: string): Promise<number> {
  const answer = await service.call("GET", `/api/machines/wallet/entities/${account}/history`, {
    tenant: account,
  });
  if (answer.status === 404) return 0;
  const amount = (row: any) => Number(row.event_params.amount);
  return (answer.body as any[]).reduce((sum, row) => sum + amount(row), 0);
}

test("S4.110: the wallet, through a source: the account is the tenant", async () => {
  for (const account of ["acct_A", "acct_B"]) {
    await service.register(wallet, account);
    await keep(account, "stripe", "whsec_wallet");
    await source(account, "in", {
      machine: "wallet",
      scheme: { type: "stripe" },
      secret: "stripe",
      mapping: { entity_id: "/account", params: { amount: "/amount" } },
    });
  }
  const webhook = (body: typeof payment) => {
    const raw = JSON.stringify(body);
    const header = Stripe.webhooks.generateTestHeaderString({ payload: raw, secret: "whsec_wallet" });
    return hook(body.account, "in", raw, { "stripe-signature": header });
  };
  is(await webhook(payment), 200, "applied");
  assert.equal(await balance("acct_A"), 500);
  is(await webhook(payment), 200, "duplicate");
  assert.equal(await balance("acct_A"), 500, "credited once");
  refused(await webhook({ ...payment, amount: 999 }), 422, "IDEMPOTENCY_MISMATCH");
  is(await webhook({ ...payment, account: "acct_B" }), 200, "applied");
  assert.equal((await balance("acct_A")) + (await balance("acct_B")), 1000);
});

test("S4.110: the wallet, through an Idempotency-Key", async () => {
  for (const account of ["acct_C", "acct_D"]) await service.register(wallet, account);
  const send = (body: typeof payment) =>
    service.call("POST", "/api/machines/wallet/evaluate", {
      body: { event_type: body.type, entity_key: "key", params: { key: body.account, amount: body.amount } },
      headers: { "idempotency-key": body.id },
      tenant: body.account,
    });
  const mine = { ...payment, account: "acct_C" };
  const first = await send(mine);
  assert.equal(first.status, 200, first.text);
  assert.equal(first.headers.get("idempotency-replayed"), null);
  const again = await send(mine);
  assert.equal(again.status, 200);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal(again.text, first.text, "the same answer");
  assert.equal(await balance("acct_C"), 500, "credited once");
  refused(await send({ ...mine, amount: 999 }), 422, "IDEMPOTENCY_MISMATCH");
  const other = await send({ ...mine, account: "acct_D" });
  assert.equal(other.status, 200);
  assert.equal(other.headers.get("idempotency-replayed"), null, "another tenant's key is another key");
  assert.equal((await balance("acct_C")) + (await balance("acct_D")), 1000);
  // Sixteen at once are one.
  const many = await Promise.all(Array.from({ length: 16 }, () => send({ ...mine, id: "evt_2", amount: 7 })));
  for (const answer of many) assert.equal(answer.status, 200, answer.text);
  assert.equal(new Set(many.map(({ text }) => text)).size, 1, "all are told the same");
  assert.equal(many.filter(({ headers }) => headers.get("idempotency-replayed") === null).length, 1);
  assert.equal(await balance("acct_C"), 507);
});

test("many copies of one delivery at once: one is applied, the others are duplicates", async () => {
  const tenant = "crowd";
  await service.register(takes("m", "e"), tenant);
  await keep(tenant, "mac", "secret");
  await source(tenant, "in", {
    machine: "m",
    scheme: { type: "hmac-sha256", header: "x-mac" },
    secret: "mac",
    mapping: { entity_id: "/id", event_type: "/t", identity: "/n" },
  });
  for (let round = 0; round < 5; round += 1) {
    const raw = JSON.stringify({ id: "x", t: "e", n: `n-${round}` });
    const headers = { "x-mac": createHmac("sha256", "secret").update(raw).digest("hex") };
    const answers = await Promise.all(Array.from({ length: 12 }, () => hook(tenant, "in", raw, headers)));
    const outcomes = answers.map(({ status, body, text }) => (status === 200 ? body.outcome : text)).sort();
    assert.deepEqual(outcomes, ["applied", ...Array.from({ length: 11 }, () => "duplicate")]);
  }
  assert.equal((await history(tenant, "m", "x")).length, 5);
  assert.deepEqual(await counts(tenant, "in"), { applied: 5, duplicate: 55 });
});
