// `init` and `dev`: the files of a project, and the service on this machine; and what asks a running service.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { PACKAGE_DIR, ROOT } from "../../scripts/paths.ts";
import { COMPATIBILITY_DATE, RUN_WORKER_FIRST } from "../../scripts/runtime.ts";
import { ended, Folder, ORDER } from "./support.ts";

const files = (folder: Folder) =>
  readdirSync(folder.path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.path.length + 1))
    .sort();

test("a project, `dev` and the service of this repository ask for one behaviour of the runtime", () => {
  const places = ["wrangler.toml", "src/js/templates/wrangler.toml", "src/js/lib/cli/local-runtime.ts"];
  for (const place of places) {
    const text = readFileSync(join(ROOT, place), "utf8");
    const dates = [...text.matchAll(/compatibility_date = "([^"]*)"/gi)].map(([, date]) => date);
    assert.deepEqual(dates, [COMPATIBILITY_DATE], place);
    const first = /run_worker_first[ =:]+(\[.*\])/.exec(text)?.[1] ?? "";
    assert.deepEqual(JSON.parse(first), RUN_WORKER_FIRST, place);
  }
});

test("init writes a project, and `init` again changes nothing", async (context) => {
  const folder = Folder.of(context);
  const first = await folder.run(["init", "shop"]);
  assert.equal(first.code, 0, first.stderr);
  const expected = [
    "shop/.dev.vars",
    "shop/.gitignore",
    "shop/package.json",
    "shop/wrangler.toml",
    "shop/machines/order.json",
  ];
  for (const file of expected) {
    assert.ok(existsSync(join(folder.path, file)), file);
    assert.ok(first.stdout.includes(`written  ${file.replace("shop/", "")}\n`), file);
  }
  assert.match(first.stdout, /\nNext: cd shop && npm install && npx statewright dev\n$/);
  const { name, dependencies } = JSON.parse(readFileSync(join(folder.path, "shop/package.json"), "utf8")) as {
    name: string;
    dependencies: Record<string, string>;
  };
  const { version } = JSON.parse(readFileSync(join(PACKAGE_DIR, "package.json"), "utf8")) as {
    version: string;
  };
  assert.equal(name, "shop");
  assert.ok(dependencies["statewright"]?.endsWith(version));
  for (const file of files(folder)) {
    assert.doesNotMatch(readFileSync(join(folder.path, file), "utf8"), /__[A-Z]+__/, file);
  }
  assert.equal((await folder.run(["validate", "shop/machines/order.json", "--strict"])).code, 0);
  const again = await folder.run(["init", "shop"]);
  assert.deepEqual(again, { code: 0, stdout: "All files are there already.\n", stderr: "" });
});

test("init never writes over a file, tells what it kept, and what package.json lacks", async (context) => {
  const folder = Folder.of(context, {
    "wrangler.toml": "# mine\n",
    "package.json": { name: "mine", scripts: { dev: "vite" } },
  });
  const { code, stdout } = await folder.run(["init", "--name", "my-shop"]);
  assert.equal(code, 0);
  assert.match(stdout, / {2}kept {5}package\.json\n/);
  assert.match(stdout, / {2}kept {5}wrangler\.toml\n/);
  assert.match(stdout, /Your package\.json lacks:\n[^]*dependencies: "statewright"/);
  assert.ok(!stdout.includes('scripts: "dev"'), "what is there is not told");
  assert.equal(readFileSync(join(folder.path, "wrangler.toml"), "utf8"), "# mine\n");
  const json = await folder.run(["init", "--name", "my-shop", "--json"]);
  assert.deepEqual(JSON.parse(json.stdout), {
    folder: ".",
    written: [],
    kept: ["package.json", "wrangler.toml"],
  });
});

test("init takes the folder's name for the Worker's, and quotes it for a shell", async (context) => {
  const folder = Folder.of(context);
  const { stdout } = await folder.run(["init", "My Über Shop!"]);
  assert.match(stdout, /\nNext: cd 'My Über Shop!' && npm install/);
  const toml = readFileSync(join(folder.path, "My Über Shop!", "wrangler.toml"), "utf8");
  assert.match(toml, /^name = "my-ber-shop"$/m);
});

test("dev says what is missing where no runtime is installed", { timeout: 60_000 }, (context) => {
  const folder = Folder.of(context);
  // By itself, as npm unpacks it: in the repository it would find the repository's runtime.
  const alone = join(folder.path, "node_modules", "statewright");
  cpSync(PACKAGE_DIR, alone, { recursive: true });
  const ran = spawnSync(process.execPath, [join(alone, "esm", "cli", "main.js"), "dev", "--port", "0"], {
    cwd: folder.path,
    encoding: "utf8",
    timeout: 30_000,
  });
  assert.deepEqual([ran.status, ran.stdout], [2, ""]);
  assert.match(
    ran.stderr,
    /which is not installed here\n {2}It comes with wrangler: npm install --save-dev wrangler/,
  );
});

test("dev tells faults of definitions before it starts anything", async (context) => {
  const folder = Folder.of(context, { "order.json": { ...ORDER, initial_state: "nowhere" } });
  const { code, stdout, stderr } = await folder.run(["dev", "order.json", "--port", "0"]);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.match(
    stderr,
    /^order\.json:\d+:\d+ fault \$\.initial_state\n[^]*statewright: `order\.json` has 1 fault\n$/,
  );
});

test("dev says that a port is taken", async (context) => {
  const folder = Folder.of(context);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const { code, stderr } = await folder.run(["dev", "--port", String(port)]);
  server.close();
  assert.equal(code, 1);
  assert.match(
    stderr,
    new RegExp(`port ${port} is taken by another program\\n {2}Choose another one: --port ${port + 1}`),
  );
});

test(
  "dev runs the service with its timers, keeps the database, and ends cleanly",
  { timeout: 120_000 },
  async (context) => {
    const quick = {
      ...ORDER,
      transitions: [{ from: "placed", to: "cancelled", on: "$timeout", guard: { after_ms: 300 } }],
    };
    const folder = Folder.of(context, {
      "order.json": quick,
      ".dev.vars": 'API_KEY = "sesame"\n# a comment\n',
    });
    folder.install();
    const args = ["dev", "order.json", "--port", "0", "--interval", "1", "--tenant", "shop"];

    const first = await serve(folder, args);
    assert.match(first.said, /^registered `order` for tenant `shop`\nStatewright listens on /);
    assert.match(
      first.said,
      /\(database in \.statewright; Ctrl-C stops it\)\. Try:\n {2}\S+\/ in a browser: .*\n {2}curl \S+ -H 'Authorization: Bearer sesame'/,
    );
    assert.equal((await first.ask("GET", "/api/machines", undefined, "wrong")).status, 401);
    const page = await first.ask("GET", "/");
    assert.match(page.headers.get("content-security-policy") ?? "", /script-src 'self'/);
    assert.match(await page.text(), /<title>Statewright<\/title>/);
    assert.equal((await first.ask("POST", "/api/machines/order/entities", { entity_id: "o-1" })).status, 201);
    for (let tries = 0; ; tries += 1) {
      const { current_state: state } = (await (
        await first.ask("GET", "/api/machines/order/entities/o-1")
      ).json()) as {
        current_state: string;
      };
      if (state === "cancelled") break;
      assert.ok(tries < 100, "the timer fires by itself");
      await new Promise((wait) => setTimeout(wait, 100));
    }

    // What asks a running service.
    const service = ["--url", first.url, "--tenant", "shop", "--key", "sesame"];
    const types = await folder.run(["types", ...service, "--types-only"]);
    assert.match(types.stdout, /export type OrderState = "placed" \| "paid" \| "shipped" \| "cancelled";/);
    const named = await folder.run(["types", "order"], {
      env: { STATEWRIGHT_URL: first.url, STATEWRIGHT_TENANT: "shop", STATEWRIGHT_KEY: "sesame" },
    });
    assert.equal(named.code, 2, "a word alone is a file");
    const explained = await folder.run(["explain", ...service, "order", "o-1", "pay"]);
    assert.equal(explained.code, 1);
    assert.match(explained.stdout, /^order o-1 is in cancelled\. Event `pay`: no transition\n/);
    const missing = await folder.run(["explain", ...service, "order", "o-2", "pay"]);
    assert.deepEqual(missing, {
      code: 1,
      stdout: "",
      stderr: "statewright: NOT_FOUND: machine `order` has no entity `o-2`\n",
    });
    const wrong = await folder.run(["types", "--url", first.url, "--key", "no"]);
    assert.match(wrong.stderr, /^statewright: UNAUTHORIZED: /);

    assert.equal(await first.stop(), 0);
    assert.ok(existsSync(join(folder.path, ".statewright", "secrets.key")));

    folder.write("order.json", { ...quick, label: "new" });
    const second = await serve(folder, args);
    assert.match(second.said, /^new revision of `order` for tenant `shop`\n/);
    assert.equal(
      (await second.ask("GET", "/api/machines/order/entities/o-1")).status,
      200,
      "the entity is still there",
    );
    assert.equal(await second.stop(), 0);
    const third = await serve(folder, [...args, "--key", "other"]);
    assert.match(third.said, /^there is already `order` for tenant `shop`\n/);
    assert.equal((await third.ask("GET", "/api/machines", undefined, "other")).status, 200);
    assert.equal(await third.stop(), 0);
  },
);

test("what asks a service says that none answers", async (context) => {
  const folder = Folder.of(context);
  const { code, stderr } = await folder.run(["types", "--url", "http://127.0.0.1:9"]);
  assert.equal(code, 1);
  assert.match(stderr, /^statewright: NO_ANSWER: /);
});

/** Runs `dev` until it listens. */
async function serve(folder: Folder, args: readonly string[]) {
  const child = folder.start(args);
  const end = ended(child);
  let said = "";
  const url = await new Promise<string>((listens, failed) => {
    child.stdout.on("data", (part: Buffer) => {
      said += part.toString();
      const found = /listens on (\S+) [^]*\n {2}curl .*\n/.exec(said)?.[1];
      if (found !== undefined) listens(found);
    });
    void end.then(({ code, stderr }) => failed(new Error(`dev ended with ${code}: ${stderr}`)));
  });
  return {
    url,
    said,
    ask: (method: string, path: string, body?: object, key = "sesame") =>
      fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          "x-tenant-id": "shop",
          "content-type": "application/json",
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    async stop(): Promise<number | null> {
      child.kill("SIGINT");
      const { code, stdout, stderr } = await end;
      assert.match(stdout, /\nstopping\n$/);
      assert.doesNotMatch(stderr, /Error|pass over/);
      return code;
    },
  };
}
