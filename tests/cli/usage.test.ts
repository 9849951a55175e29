// The command as a whole: help, versions, what is wrong with its arguments, colours.

import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { COMMANDS, Folder, ORDER } from "./support.ts";

const folder = new Folder({
  "order.json": ORDER,
  "machine.json": { id: "m", initial: "a", states: { a: {} } },
  "throws.mjs": "throw 5;",
  "getter.mjs": "export default { transitions: [], get machine_id() { throw 5; } };",
});
symlinkSync("nowhere.json", join(folder.path, "dangling.json"));
writeFileSync(join(folder.path, "utf16.json"), Buffer.from("\ufeff{}", "utf16le"));
writeFileSync(join(folder.path, "latin1.json"), Buffer.from('{"a": "\xff"}', "latin1"));
after(() => folder.remove());

test("tells all commands with --help, -h and help; alone it is wrong usage", async () => {
  for (const args of [["--help"], ["-h"], ["help"]]) {
    const { code, stdout, stderr } = await folder.run(args);
    assert.equal(code, 0);
    assert.equal(stderr, "");
    for (const { name, summary } of COMMANDS) {
      assert.ok(stdout.includes(name) && stdout.includes(summary), name);
    }
  }
  const { code, stdout, stderr } = await folder.run([]);
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /Usage: statewright <command>/);
});

for (const { name, options, usage } of COMMANDS) {
  test(`tells of ${name} with --help and with help`, async () => {
    const words = name.split(" ");
    const [asked, helped] = await Promise.all([
      folder.run([...words, "--help"]),
      folder.run(["help", ...words]),
    ]);
    assert.equal(asked.code, 0);
    assert.deepEqual(helped, asked);
    for (const form of usage) assert.ok(asked.stdout.includes(`statewright ${form}`), form);
    for (const [option, { help }] of Object.entries(options)) {
      assert.ok(asked.stdout.includes(`--${option}`), option);
      const [first = ""] = help.split(" ");
      assert.ok(asked.stdout.includes(first), option);
    }
    for (const line of asked.stdout.split("\n")) assert.ok(line.length <= 120, line);
  });
}

test("says its version", async () => {
  for (const asked of ["--version", "-V", "-v"]) {
    const { code, stdout } = await folder.run([asked]);
    assert.equal(code, 0);
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  }
});

/** Arguments that are wrong, and what is said about them. */
const WRONG: [args: string[], said: RegExp][] = [
  [["vlidate"], /there is no command `vlidate`\n {2}Did you mean `validate`\?/],
  [["frobnicate"], /there is no command `frobnicate`\n {2}See `statewright --help`/],
  [["help", "simulat"], /Did you mean `simulate`\?/],
  [["--jsn"], /there is no option `--jsn` before a command/],
  [["import"], /`import` needs to know what: `import xstate`/],
  [["import", "robot"], /`import` needs to know what: `import xstate`/],
  [["validate"], /`validate` needs a file of a definition\n {2}Usage: statewright validate <file>\.\.\./],
  [["validate", "--jsn", "order.json"], /`validate` has no option `--jsn`\n {2}Did you mean `--json`\?/],
  [["validate", "--frobnicate", "order.json"], /`validate` has no option `--frobnicate`\n {2}See/],
  [["diagram", "order.json", "twice"], /`twice` is one word too many for `diagram`/],
  [["diagram", "order.json", "--format"], /--format/],
  [["diagram", "order.json", "--format", "png"], /--format is `png`; `mermaid` or `dot` is needed/],
  [["diagram", "order.json", "--machine", "odrer"], /has no machine `odrer`\n {2}It has `order`/],
  [["validate", "ordr.json"], /there is no file `ordr\.json`\n {2}Did you mean `order\.json`\?/],
  [["validate", "nowhere/order.json"], /there is no folder `nowhere`/],
  [["validate", "."], /`\.` is a folder; a file is needed/],
  [
    ["types", "http://localhost:3050"],
    /there is no file `http:\/\/localhost:3050`\n {2}A running service is given by --url/,
  ],
  [["validate", "dangling.json"], /`dangling\.json` is a link that leads nowhere/],
  [["validate", "utf16.json"], /`utf16\.json` is UTF-16; UTF-8 is needed/],
  [["validate", "latin1.json"], /`latin1\.json` is no text in UTF-8/],
  [["init", "order.json"], /`order\.json` is a file; a folder is needed/],
  [
    ["diagram", "order.json", "--out", "nowhere/x"],
    /`nowhere\/x` cannot be written: there is no folder `nowhere`/,
  ],
  [["types", "order.json", "--out", "."], /`\.` cannot be written: it is a folder/],
  [["import", "xstate", "machine.json", "-o", "nowhere/x"], /`nowhere\/x` cannot be written/],
  [["validate", "throws.mjs"], /`throws\.mjs` cannot be loaded: 5/],
  [["validate", "getter.mjs"], /a definition of `getter\.mjs` has no form in JSON: 5/],
  [["validate", "gone.mjs"], /there is no file `gone\.mjs`/],
  [["dev", "--port", "http"], /--port is `http`; a whole number from 0 to 65535 is needed/],
  [["dev", "--port", "70000"], /--port is `70000`/],
  [["dev", "--set", "NAME"], /--set is `NAME`; NAME=value is needed/],
  [["explain", "order.json"], /`explain` needs a file of a definition and an event/],
  [["explain", "order.json", "pay", "--params", "[1]"], /--params is `\[1\]`; a JSON object is needed/],
  [
    ["explain", "order.json", "pay", "--params", "{amount: 5}"],
    /--params:1:2: `amount` where a key in double quotes/,
  ],
  [["explain", "--url", "here", "order", "o-1", "pay"], /--url is `here`; a URL such as/],
  [["simulate", "order.json", "--now", "soon"], /--now is `soon`; milliseconds since the epoch or a date/],
  [["types"], /`types` needs a file of a definition, or --url/],
  [["init", "--name", "My Shop"], /`My Shop` is no name of a Worker/],
];

test("helps where arguments are wrong, on standard error, and ends with 2", async () => {
  await Promise.all(
    WRONG.map(async ([args, said]) => {
      const { code, stdout, stderr } = await folder.run(args);
      assert.match(stderr, said, args.join(" "));
      assert.match(stderr, /^statewright: /);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, args.join(" "));
    }),
  );
});

test("is coloured only where somebody sees it, or where it is asked for", async () => {
  const isColoured = async (env: Record<string, string>) => {
    const { stdout } = await folder.run(["validate", "order.json"], { env });
    return stdout.includes("\u001b[");
  };
  assert.equal(await isColoured({}), false, "a pipe is no terminal");
  assert.equal(await isColoured({ FORCE_COLOR: "1" }), true);
  assert.equal(await isColoured({ FORCE_COLOR: "0" }), false);
  assert.equal(await isColoured({ FORCE_COLOR: "1", NO_COLOR: "1" }), false);
  assert.equal(await isColoured({ FORCE_COLOR: "1", NO_COLOR: "" }), true);
});
