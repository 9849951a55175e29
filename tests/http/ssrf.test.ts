// Where webhooks may not go: refused when a definition is registered, when somebody subscribes, and again when they are
// delivered, in every spelling of an address. (Redirects are not followed: sinks.test.ts.)

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { delivered, outbox, redrive, row, send, settled, Sink } from "./sink.ts";
import { open, refused, serve } from "./support.ts";

const sink = await Sink.open();
const service = await serve();

/** Addresses by what is wrong with them. */
const REFUSED: Record<string, string[]> = {
  "loopback, plain and in other spellings": [
    "https://127.0.0.1/",
    "https://127.0.0.1:8443/x",
    "https://127.255.255.254/",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0X7F.0.0.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://0x7f.1/",
    "https://127.0.0.1./",
    "https://2130706433./",
  ],
  "unspecified and this network": ["https://0.0.0.0/", "https://0/", "https://0.1.2.3/"],
  private: [
    "https://10.0.0.1/",
    "https://10.1/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.1.1/",
    "https://3232235777/",
    "https://0xc0a80101/",
    "https://0300.0250.1.1/",
  ],
  "link-local, and the metadata of clouds": [
    "https://169.254.169.254/latest/meta-data/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://169.254.43518/",
    "https://metadata.google.internal/",
  ],
  "shared, special and reserved": [
    "https://100.64.0.1/",
    "https://100.127.255.255/",
    "https://192.0.0.1/",
    "https://198.18.0.1/",
    "https://198.19.255.255/",
    "https://224.0.0.1/",
    "https://239.255.255.255/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
  ],
  "IPv6: loopback, unspecified, local, multicast": [
    "https://[::1]/",
    "https://[::1]:8443/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[0000:0000::0001]/",
    "https://[::]/",
    "https://[fc00::1]/",
    "https://[fd12:3456:789a::1]/",
    "https://[fe80::1]/",
    "https://[febf::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[2001:db8::1]/",
  ],
  "IPv6 around an IPv4": [
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::FFFF:10.0.0.1]/",
    "https://[0:0:0:0:0:ffff:c0a8:0101]/",
    "https://[::127.0.0.1]/",
    "https://[::7f00:1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:7f00:1::]/",
  ],
  "names of this machine and of nearby ones": [
    "https://localhost/",
    "https://LOCALHOST/",
    "https://localhost./",
    "https://a.localhost/",
    "https://printer.local/",
    "https://db.internal/",
    "https://host.localdomain/",
    "https://intranet/",
    "https://intranet./",
  ],
  "user names": [
    "https://user@example.com/",
    "https://user:pass@example.com/",
    "https://example.com@127.0.0.1/",
    "https://@example.com/",
  ],
  "other schemes": [
    "http://example.com/",
    "http://127.0.0.1/",
    "HTTP://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "data:text/plain,x",
    "//example.com/",
    "example.com",
    "",
  ],
  "what another reader would read otherwise": [
    "https://example.com\\@127.0.0.1/",
    "https:\\\\127.0.0.1/",
    "https:///127.0.0.1/",
    "https://",
    "https://:443/",
    "https://exa mple.com/",
    "https://example.com/\n",
    "https://exam\u0000ple.com/",
    "https://%31%32%37.0.0.1/",
    "https://localhos%74/",
    "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "https://127。0。0。1/",
    "https://１２７.0.0.1/",
    "https://example.com:0/",
    "https://example.com:99999/",
    "https://example.com:x/",
    "https://[::1/",
    "https://[example.com]/",
    "https://1.2.3.4.5/",
    "https://256.256.256.256/",
    "https://[::1%25eth0]/",
    `https://example.com/${"x".repeat(2048)}`,
  ],
};

const ACCEPTED = [
  "https://example.com/hooks",
  "https://example.com./hooks",
  "https://EXAMPLE.com:8443/a?b=c#d",
  "https://8.8.8.8/",
  "https://134744072/",
  "https://172.32.0.1/",
  "https://100.128.0.1/",
  "https://[2606:4700::6810:84e5]/",
  "https://[::ffff:8.8.8.8]/",
  "https://localhost.example.com/",
  "https://127.0.0.1.example.com/",
  "https://xn--mnchen-3ya.example/",
];

function machine(machine_id: string, url: string, more: object = {}): object {
  return {
    machine_id,
    states: ["a", "b"],
    initial_state: "a",
    transitions: [
      { from: "a", to: "b", on: "go" },
      { from: "b", to: "a", on: "back" },
    ],
    actions: [{ on_enter: "b", action: { type: "webhook", url } }],
    ...more,
  };
}

for (const [kind, urls] of Object.entries(REFUSED)) {
  test(`refused at registration, in both contracts: ${kind}`, async () => {
    for (const url of urls) {
      for (const contract of ["statewright.v1", "statemachine-e1e4.v1"]) {
        const body = machine("refused", url, { contract });
        const answer = await service.call("POST", "/api/machines", { body });
        refused(answer, 400, "BAD_REQUEST");
        assert.match(
          JSON.stringify(answer.body.error),
          /actions(\[0\]|\/0|\.0).*url/,
          `${contract} ${url}: where it is: ${answer.text}`,
        );
        const checked = await service.call("POST", "/api/machines/validate", { body });
        assert.ok(checked.text.includes("url"), `${url}: ${checked.text}`);
        assert.notEqual(checked.body.valid, true, `${url}: ${checked.text}`);
      }
    }
    refused(await service.call("GET", "/api/machines/refused"), 404, "NOT_FOUND");
  });

  test(`refused at a subscription: ${kind}`, async () => {
    for (const url of urls) {
      const body = { source: "records", sink: { type: "webhook", url } };
      for (const [method, path] of [
        ["POST", "/api/subscriptions"],
        ["PUT", "/api/subscriptions/mine"],
      ] as const) {
        const answer = await service.call(method, path, { body });
        refused(answer, 400, "BAD_REQUEST");
        assert.match(JSON.stringify(answer.body.error), /sink\.url/, `${url}: ${answer.text}`);
      }
    }
    assert.deepEqual(await service.expect(200, "GET", "/api/subscriptions"), []);
  });
}

test("public addresses are accepted as they are", async () => {
  for (const [index, url] of ACCEPTED.entries()) {
    const answer = await service.call("POST", "/api/machines", { body: machine(`public-${index}`, url) });
    assert.equal(answer.status, 201, `${url}: ${answer.text}`);
    const stored = await service.expect(200, "GET", `/api/machines/public-${index}`);
    assert.equal(stored.actions[0].action.url, url);
  }
});

test("addresses in joins, and in revisions, are looked at as well", async () => {
  const joined = {
    machine_id: "joined",
    regions: [
      { id: "l", states: ["x", "done"], initial_state: "x" },
      { id: "r", states: ["no", "yes"], initial_state: "no" },
    ],
    transitions: [{ region: "l", from: "x", to: "done", on: "go" }],
    joins: [
      {
        when: { l: "done" },
        target_region: "r",
        target_state: "yes",
        actions: [{ type: "webhook", url: "https://[::1]/" }],
      },
    ],
  };
  const answer = await service.call("POST", "/api/machines", { body: joined });
  refused(answer, 400, "BAD_REQUEST");
  assert.match(JSON.stringify(answer.body.error), /joins/);
  await service.register(machine("revised", "https://example.com/"));
  refused(
    await service.call("PUT", "/api/machines/revised", {
      body: machine("revised", "https://169.254.169.254/"),
    }),
    400,
    "BAD_REQUEST",
  );
});

test("WEBHOOK_ALLOW lets the hosts it names, and no others", async () => {
  const allowing = await serve({
    settings: { WEBHOOK_ALLOW: `127.0.0.1:${sink.port}, localhost ,[::1]:9000,*.corp.internal, 10.0.0.7` },
  });
  const cases: [string, boolean][] = [
    [`http://127.0.0.1:${sink.port}/x`, true],
    [`https://127.0.0.1:${sink.port}/x`, true],
    [`http://127.0.0.1:${sink.port + 1}/x`, false],
    ["http://127.0.0.1/x", false],
    ["http://localhost:1234/x", true],
    ["https://localhost/x", true],
    ["http://a.localhost/x", false],
    ["http://[::1]:9000/", true],
    ["http://[::1]:9001/", false],
    ["http://api.corp.internal/", true],
    ["http://a.b.corp.internal:81/", true],
    ["http://corp.internal.example.com/", false],
    ["http://evilcorp.internal/", false],
    ["http://10.0.0.7/", true],
    ["http://10.0.0.8/", false],
    ["http://user@localhost/", false],
    ["ftp://localhost/", false],
    ["http://example.com/", false],
    ["https://example.com/", true],
  ];
  for (const [index, [url, allowed]] of cases.entries()) {
    const answer = await allowing.call("POST", "/api/machines", { body: machine(`m-${index}`, url) });
    assert.equal(answer.status, allowed ? 201 : 400, `${url}: ${answer.text}`);
  }
  await send(allowing, "m-0", "x", "go");
  await settled(allowing);
  assert.equal(sink.deliveries.length, 1);
});

test("what was allowed when it was registered is refused at delivery, with the reason in the outbox", async () => {
  const data = mkdtempSync(join(tmpdir(), "statewright-ssrf-"));
  const before = sink.deliveries.length;
  let at = await open({ data, settings: { WEBHOOK_ALLOW: sink.host } });
  try {
    await at.register(machine("m", `${sink.url}/later`));
    await at.expect(201, "POST", "/api/subscriptions", {
      body: { source: "machines", sink: { type: "webhook", url: `${sink.url}/told` } },
    });
    await at.runtime.stop();

    at = await open({ data, settings: { WEBHOOK_ALLOW: "example.com" } });
    await send(at, "m", "x", "go");
    const dead = await delivered(at, "both are dead", async () => {
      const rows = await outbox(at, "&status=dead");
      return rows.length === 2 && rows;
    });
    for (const { error, sink: to } of dead) assert.match(error ?? "", /127\.0\.0\.1/, `${to}: ${error}`);
    assert.equal(sink.deliveries.length, before, "nothing was sent");
    const { attempts } = await row(at, dead[0]?.id ?? "");
    assert.ok(attempts.length <= 1, "dead at once");
    await at.runtime.stop();

    at = await open({ data, settings: { WEBHOOK_ALLOW: sink.host } });
    for (const { id } of dead) await redrive(at, id);
    await settled(at);
    assert.deepEqual(
      sink.deliveries
        .slice(before)
        .map(({ path }) => path)
        .sort(),
      ["/later", "/told"],
    );
    assert.ok((await outbox(at)).every(({ status }) => status === "done"));
  } finally {
    await at.runtime.stop();
    rmSync(data, { recursive: true, force: true });
  }
});
