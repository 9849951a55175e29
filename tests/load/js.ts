// `make bench`, the part of the JavaScript package: the same machines, guards and events in Statewright and beside it in other
// libraries and by hand (js-machines.ts).
//
//   --quick   a second, to see that it runs: its numbers mean nothing, and nothing is demanded of them
//
// All are warmed, and then measured in turn, round by round; which one is first changes. What is told is the median over the rounds,
// and of ratios the median of those of each round. Times are the processor's, for other programs may take it at any time.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

import { PACKAGE_DIR } from "../../scripts/paths.ts";
import { median } from "./client.ts";
import { engineRates } from "./js-engine.ts";
import { FLAT, PARALLEL, type Subject, type SubjectName, SUBJECTS, TRACES, type Way } from "./js-machines.ts";

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const quick = options.quick;

const ROUNDS = quick ? 2 : 41;
/** How long each is measured in a round, and warmed before the first one, in milliseconds. */
const MILLIS = quick ? 1 : 12;
const WARM = quick ? 5 : 400;
const STARTS = quick ? 1 : 15;

type Kind = "flat" | "parallel";

/** A way of a subject, and what was measured of it. */
interface Measured {
  readonly name: SubjectName;
  readonly kind: Kind;
  readonly way: Way;
  /** Events of a round. */
  times: number;
  /** Nanoseconds of an event, round by round. */
  readonly taken: number[];
}

/** What is demanded of a value. */
interface Demand {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly least?: number;
  readonly most?: number;
}

/** Nanoseconds of the processor that an event takes. */
function measure(way: Way, times: number): number {
  const before = process.cpuUsage();
  way.send(times);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / times;
}

/** Whether it goes where the others go. */
function trace({ name, kind, way }: Measured): void {
  const events: readonly string[] = kind === "flat" ? FLAT : PARALLEL;
  for (const [place, event] of [...events, ...events].entries()) {
    way.send(1);
    const wanted = TRACES[kind][place % events.length];
    if (way.state() !== wanted) throw new Error(`${name}: ${event} led to ${way.state()}, not to ${wanted}`);
  }
}

/** Sends events until it is warm, and says how many fill a round. */
function warm(way: Way): number {
  let times = 60;
  const over = performance.now() + WARM;
  for (;;) {
    const began = performance.now();
    way.send(times);
    const taken = performance.now() - began;
    if (performance.now() > over && taken > MILLIS / 2) return Math.ceil((times * MILLIS) / taken);
    if (taken < MILLIS / 2) times *= 2;
  }
}

function measureAll(): Map<SubjectName, Partial<Record<Kind, Measured>>> {
  const all: Measured[] = [];
  for (const [name, subject] of Object.entries(SUBJECTS) as [SubjectName, Subject][]) {
    for (const kind of ["flat", "parallel"] as const) {
      const way = subject[kind];
      if (way !== undefined) all.push({ name, kind, way, times: 0, taken: [] });
    }
  }
  for (const each of all) trace(each);
  for (const each of all) each.times = warm(each.way);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let place = 0; place < all.length; place += 1) {
      const each = all[(place + round * 5) % all.length] as Measured;
      each.taken.push(measure(each.way, each.times));
    }
  }
  const found = new Map<SubjectName, Partial<Record<Kind, Measured>>>();
  for (const each of all) found.set(each.name, { ...found.get(each.name), [each.kind]: each });
  return found;
}

const found = measureAll();

const taken = (name: SubjectName, kind: Kind): readonly number[] => found.get(name)?.[kind]?.taken ?? [];

/** How many times longer one takes than another, in the same round. */
function ratio(slower: SubjectName, faster: SubjectName, kind: Kind): number {
  const theirs = taken(slower, kind);
  return median(taken(faster, kind).map((ours, round) => (theirs[round] ?? NaN) / ours));
}

/** Milliseconds from the import to the first event in a fresh process: of the processor, and by the clock. */
function starts(): Record<"statewright" | "xstate", { cpu: number; taken: number }> {
  const script = fileURLToPath(new URL("js-start.ts", import.meta.url));
  const runs = {
    statewright: [] as { cpu: number; taken: number }[],
    xstate: [] as { cpu: number; taken: number }[],
  };
  for (let run = 0; run < STARTS; run += 1) {
    for (const library of ["statewright", "xstate"] as const) {
      const { stdout, stderr } = spawnSync(process.execPath, [script, library], { encoding: "utf8" });
      if (stdout === "") throw new Error(stderr);
      runs[library].push(JSON.parse(stdout) as { cpu: number; taken: number });
    }
  }
  const middle = (of: { cpu: number; taken: number }[]) => ({
    cpu: median(of.map(({ cpu }) => cpu)),
    taken: median(of.map((run) => run.taken)),
  });
  return { statewright: middle(runs.statewright), xstate: middle(runs.xstate) };
}

const began = starts();
const engine = await (quick ? engineRates(20, 1) : engineRates());
const wasm = gzipSync(readFileSync(join(PACKAGE_DIR, "wasm", "core.wasm")), { level: 9 }).length;

const ns = (name: SubjectName, kind: Kind): string => {
  const all = taken(name, kind);
  return all.length === 0 ? "" : `${median(all).toFixed(0)} ns`;
};

/** How much faster the first of a group is. */
const faster = (name: SubjectName, than: SubjectName): string => {
  if (name === than) return "1";
  const kinds = (["flat", "parallel"] as const).filter((kind) => taken(name, kind).length > 0);
  return kinds
    .map((kind) => ratio(name, than, kind))
    .map((each) => each.toFixed(each < 10 ? 1 : 0))
    .join(" / ");
};

/** What does the like, with what it is compared with first. */
const GROUPS: readonly (readonly SubjectName[])[] = [
  ["name", "handle", "actor", "fsm", "robot", "hand"],
  ["send", "commit", "fresh", "unmet", "transition"],
  ["stored", "xStored", "handStored"],
];

console.log(`\nThe package on Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}.`);
console.log(`${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"}).\n`);
console.log(
  "| | flat | parallel, with a join | times as long: flat / parallel | what an event is, beside the next state |",
);
console.log("| --- | --: | --: | --: | --- |");
for (const group of GROUPS) {
  const [first] = group as [SubjectName];
  for (const name of group) {
    const { name: what, does } = SUBJECTS[name];
    console.log(
      `| ${what} | ${ns(name, "flat")} | ${ns(name, "parallel")} | ${faster(name, first)} | ${does} |`,
    );
  }
}
console.log("");
const start = ({ cpu, taken: clock }: { cpu: number; taken: number }) =>
  `${cpu.toFixed(1)} / ${clock.toFixed(1)} ms`;
console.log("| | Statewright | XState v5 |");
console.log("| --- | --: | --: |");
console.log(
  `| from the import to the first event, in a fresh Node: processor / clock | ${start(began.statewright)} | ${start(began.xstate)} |`,
);
console.log(`| the core's WebAssembly, gzipped | ${wasm.toLocaleString("en")} bytes | |`);
console.log("");
console.log("| `statewright/engine` on node:sqlite | through the engine | its bare statements | ratio |");
console.log("| --- | --: | --: | --: |");
const rate = (events: number) => `${events.toFixed(0)} events/s`;
console.log(`| \`evaluate\` | ${rate(engine.engine)} | ${rate(engine.bare)} | ${engine.ratio.toFixed(2)} |`);
console.log("");

const demands: readonly Demand[] = [
  { what: "a flat event by handle", value: median(taken("handle", "flat")), unit: " ns", most: 25 },
  { what: "a flat event by name", value: median(taken("name", "flat")), unit: " ns", most: 60 },
  {
    what: "XState's actor.send beside an event by name",
    value: ratio("actor", "name", "flat"),
    unit: "",
    least: 50,
  },
  { what: "the same, parallel", value: ratio("actor", "name", "parallel"), unit: "", least: 50 },
  { what: "@xstate/fsm beside an event by name", value: ratio("fsm", "name", "flat"), unit: "", least: 6 },
  { what: "robot3 beside an event by name", value: ratio("robot", "name", "flat"), unit: "", least: 6 },
  {
    what: "XState's transition beside machine.send",
    value: ratio("transition", "send", "flat"),
    unit: "",
    least: 5,
  },
  { what: "the same, parallel", value: ratio("transition", "send", "parallel"), unit: "", least: 5 },
  {
    what: "XState's load, act, save beside ours",
    value: ratio("xStored", "stored", "flat"),
    unit: "",
    least: 3,
  },
  { what: "the same, parallel", value: ratio("xStored", "stored", "parallel"), unit: "", least: 3 },
  { what: "the engine beside its bare statements", value: engine.ratio, unit: "", least: 0.5 },
  { what: "from the import to the first event", value: began.statewright.cpu, unit: " ms", most: 30 },
  { what: "the core's WebAssembly, gzipped", value: wasm / 1000, unit: " KB", most: 150 },
];
let missed = false;
for (const { what, value, unit, least = -Infinity, most = Infinity } of demands) {
  const demanded = least === -Infinity ? `≤ ${most}${unit}` : `≥ ${least}${unit}`;
  const reached = value >= least && value <= most;
  missed ||= !reached;
  const verdict = quick ? "" : reached ? ": reached" : ": MISSED";
  console.log(
    `${unit === "" ? "ratio" : "value"} ${value.toFixed(2)}${unit} demanded ${demanded}${verdict} (${what})`,
  );
}
if (missed && !quick) process.exitCode = 1;
