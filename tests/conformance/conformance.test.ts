// One suite over all hosts: the vectors of tests/vectors on the engine wherever it runs, and what of them the pure core can do on
// the core wherever it runs, each answer compared with that of the native one as canonical JSON. docs/conformance.md
// has the table of what was run.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { buildComponent, canBuildComponent } from "../../scripts/component.ts";
import { buildPackage } from "../../scripts/package.ts";
import { IN_A_PROGRAM, OF_OBJECTS, OF_SNAPSHOTS, OVER_HTTP } from "./exclusions.ts";
import { files, names } from "./files.ts";
import { hasChromium } from "./hosts/chromium.ts";
import type { CoreHost } from "./hosts/core.ts";
import type { Script } from "./hosts/sessions.ts";
import { isOfPlainNumbers } from "./hosts/walk.ts";
import { type Counts, hold, reasons, table } from "./table.ts";
import { comparable, Native, type Played, TENANT } from "./transcripts.ts";
import { OTHERWISE, translate } from "./translate.ts";
import { type Case, contractsOf } from "./vectors.ts";

const IN_CI = process.env["CI"] === "true";
const CHROMIUM = hasChromium() ? false : "there is no Chromium: node scripts/setup.mjs --browser";
const COMPONENT = canBuildComponent() ? false : "there is no wasm-tools (no Python)";
if (IN_CI) assert.deepEqual([CHROMIUM, COMPONENT], [false, false]);

await buildPackage();
if (COMPONENT === false) await buildComponent();
// They import what was built.
const core = await import("./hosts/core.ts");
const engine = await import("./hosts/engine.ts");
const machines = await import("./hosts/machines.ts");

/** What is run of one file. */
interface Topic {
  readonly topic: string;
  readonly cases: readonly Case[];
  /** What of it the core was asked, and answered natively. */
  readonly played: Played[];
}

const topics: Topic[] = files().map(({ topic, cases }) => ({ topic, cases, played: [] }));
/** Runs that the core is not asked for, by why. */
const left = new Map<string, string[]>();
/** The runs of each host, by file. */
const ran = new Map<string, Counts>();

function counted(of: (topic: Topic) => number): Counts {
  return new Map(topics.map((topic) => [topic.topic, of(topic)]));
}

function runsWithout(excluded: ReadonlyMap<string, string>): Counts {
  const kept = (cases: readonly Case[]) => cases.filter(({ name }) => !excluded.has(name));
  const runs = (cases: readonly Case[]) => kept(cases).reduce((sum, one) => sum + contractsOf(one).length, 0);
  return counted(({ cases }) => runs(cases));
}

// These two are run by tests of their own: src/engine/tests/vectors.rs and tests/http/vectors.test.ts.
ran.set("engine, native", runsWithout(new Map()));
ran.set("HTTP", runsWithout(OVER_HTTP));

/** The Worker's runs over HTTP are on D1 as well: of the adapter, these files are enough. */
const ON_D1 = ["batch", "children-managed", "identity", "inbox", "joins", "model", "timers"];
const ALL = topics.map(({ topic }) => topic);

const ENGINES = [
  ["engine, Node.js", engine.inNode, false, ALL],
  ["engine, Chromium", engine.inChromium, CHROMIUM, ALL],
  ["engine, Durable Object", () => engine.inWorkerd("object"), false, ALL],
  ["engine, D1", () => engine.inWorkerd("d1"), false, ON_D1],
] as const;

const CORES = [
  ["core, Node.js", core.inNode, false],
  ["core, Chromium", core.inChromium, CHROMIUM],
  ["core, workerd", core.inWorkerd, false],
  ["component, jco", core.byJco, COMPONENT],
  ["component, wasmtime", core.byWasmtime, COMPONENT],
] as const;

const fitsObjects = (one: Script & { readonly of: string }) =>
  isOfPlainNumbers(one) && !OF_OBJECTS.has(one.of);

const MACHINES = [
  ["machine, Node.js", machines.inNode, false, fitsObjects],
  ["machine, Chromium", machines.inChromium, CHROMIUM, fitsObjects],
  ["machine, workerd", machines.inWorkerd, false, fitsObjects],
  // Its documents are text, so that all numbers are kept.
  ["component machine, jco", machines.byJco, COMPONENT, () => true],
] as const;

const TIMEOUT = { timeout: 1_200_000 };

test("what is left out is there", () => {
  const known = names();
  for (const list of [OVER_HTTP, IN_A_PROGRAM, OF_SNAPSHOTS, OF_OBJECTS, OTHERWISE]) {
    for (const name of list.keys()) assert.ok(known.has(name), `${name} is left out and does not exist`);
  }
});

for (const [name, start, skip, told] of ENGINES) {
  test(`${name}: every vector holds`, { skip, ...TIMEOUT }, async () => {
    const host = await start();
    after(() => host.close());
    const runs = new Map<string, number>();
    const failures: string[] = [];
    for (const { topic, cases } of topics.filter(({ topic }) => told.includes(topic))) {
      const came = await host.run(cases.filter((one) => !IN_A_PROGRAM.has(one.name)));
      runs.set(topic, came.runs);
      failures.push(...came.failures);
    }
    assert.equal(failures.length, 0, `${failures.length} failed:\n${failures.join("\n")}`);
    ran.set(name, runs);
  });
}

test("core, native: every vector holds that a session can be asked", TIMEOUT, async () => {
  const native = new Native();
  after(() => native.close());
  const failures: string[] = [];
  for (const { cases, played } of topics) {
    for (const one of cases) {
      for (const contract of contractsOf(one)) {
        const transcript = translate(one, contract);
        if (typeof transcript === "string") {
          left.set(transcript, [...(left.get(transcript) ?? []), one.name]);
          continue;
        }
        const came = await native.play(transcript);
        if (typeof came === "string") failures.push(came);
        else played.push(came);
      }
    }
  }
  assert.equal(failures.length, 0, `${failures.length} failed:\n${failures.join("\n")}`);
  const runs = counted(({ played }) => played.length);
  ran.set("core, native", runs);
  if (process.env["VECTOR"] === undefined) assert.ok([...runs.values()].reduce((a, b) => a + b) > 1500);
});

/** Where a host's answers are not those of the native session. */
async function differences(host: CoreHost, played: readonly Played[]): Promise<string[]> {
  const scripts = played.map(({ start, asked }) => ({ start, asked, tenant: TENANT }));
  const replies = await host.play(scripts);
  assert.equal(replies.length, played.length);
  return played.flatMap(({ name, contract, asked, answers }, index) => {
    const own = (replies[index] ?? []).map(comparable);
    const place = answers.findIndex((answer, step) => answer !== own[step]);
    if (place < 0 && own.length === answers.length) return [];
    const told = [asked[place]?.[0], answers[place], own[place]].map((text) => text?.slice(0, 500));
    return [`${name} (${contract}): step ${place} (${told[0]}): ${told[2]} instead of ${told[1]}`];
  });
}

for (const [name, start, skip] of CORES) {
  test(`${name}: every answer is the native one`, { skip, ...TIMEOUT }, async () => {
    const host = await start();
    after(() => host.close());
    const runs = new Map<string, number>();
    const found: string[] = [];
    for (const { topic, played } of topics) {
      found.push(...(await differences(host, played)));
      runs.set(topic, played.length);
    }
    assert.equal(found.length, 0, `${found.length} differ:\n${found.join("\n")}`);
    ran.set(name, runs);
  });
}

for (const [name, start, skip, fits] of MACHINES) {
  test(`${name}: what snapshots come to is what a session answers`, { skip, ...TIMEOUT }, async () => {
    const host = await start();
    after(() => host.close());
    const runs = new Map<string, number>();
    const found: string[] = [];
    let compared = 0;
    for (const { topic, played } of topics) {
      const scripts = played
        .filter((one) => !OF_SNAPSHOTS.has(one.name))
        .map((one) => ({ ...one, of: one.name, name: `${one.name} (${one.contract})`, tenant: TENANT }))
        .filter(fits);
      const walked = await host.walk(scripts);
      found.push(...walked.problems);
      compared += walked.compared;
      runs.set(topic, scripts.length);
    }
    assert.equal(found.length, 0, `${found.length} differ:\n${found.join("\n")}`);
    if (process.env["VECTOR"] === undefined) assert.ok(compared > 3500, `${compared} answers`);
    ran.set(name, runs);
  });
}

test("docs/conformance.md has what was run", () => {
  const hosts = [
    "engine, native",
    "HTTP",
    ...ENGINES.map(([name]) => name),
    "core, native",
    ...CORES.map(([name]) => name),
    ...MACHINES.map(([name]) => name),
  ];
  const missing = hosts.filter((name) => !ran.has(name));
  if (process.env["VECTOR"] !== undefined || (missing.length > 0 && !IN_CI)) return;
  assert.deepEqual(missing, [], "hosts that were not run, or failed");
  const order = new Map(hosts.map((name): [string, Counts] => [name, ran.get(name) ?? new Map()]));
  const shown = topics.map(({ topic }) => topic);
  const excluded = (list: ReadonlyMap<string, string>) =>
    [...list].map(([name, why]) => `- \`${name}\`: ${why}`).join("\n");
  hold(
    [
      table(shown, order),
      "Left out over HTTP:",
      excluded(OVER_HTTP),
      "Left out on an engine in a program:",
      excluded(IN_A_PROGRAM),
      "Left out on the core:",
      reasons(left),
      "Left out on machines and snapshots beside that, and where JavaScript's numbers alter those of a case:",
      excluded(new Map([...OF_SNAPSHOTS, ...OF_OBJECTS])),
    ].join("\n\n"),
  );
});
