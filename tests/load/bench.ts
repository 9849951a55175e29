// `make bench`: the service under load beside the floor (floor.js), on one runtime in one run.
//
//   --quick        a few seconds, to see that it runs: its numbers mean nothing, and nothing is demanded of them
//   --part <name>  one part alone: weigh, loads, telling, sinks or scans
//
// Another program may take the processor at any time, so the two run in turn, round by round, and what is told is the
// median over the rounds of their ratio. Prints Markdown.

import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { load, median } from "./client.ts";
import { armed, floor, statewright, type Subject, telling } from "./services.ts";
import { backlog, drop } from "./backlog.ts";
import { Sink } from "./sink.ts";
import { gzippedBytes, runtimeCpu, startupCpu } from "./startup.ts";

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, part: { type: "string" } },
});
const quick = options.quick;

const ENTITIES = 200;
const BATCH = 1000;
/** Where backlogs go. One is more than one invocation may do. */
const SINKS = 100;
const SHAPE = { first: 10, others: 10 };
/** So many are delivered well within one invocation: the time that they take tells the rate. */
const PART = 300;
const BEGAN = Date.now();

/** A result, and what is demanded of it, if anything. */
interface Line {
  readonly what: string;
  readonly columns: readonly string[];
  readonly value: number;
  readonly unit: string;
  readonly least?: number;
  readonly most?: number;
}

const lines: Line[] = [];
let clock = BEGAN;

/** A time that no event had before: each is an event of its own. */
const tick = (): number => (clock += 1);

const eventOf = (id: string, timestamp: number) => ({
  event_type: "turn",
  entity_key: "id",
  params: { id, amount: 4200, currency: "EUR" },
  timestamp,
});

/**
 * Requests of one event each, entity after entity, so that no two in flight are of the same one; with an Idempotency-Key
 * each, if asked for.
 */
function events(subject: Subject, entities = ENTITIES, keyed = false): () => Promise<void> {
  let next = 0;
  return async () => {
    next = (next + 1) % entities;
    const timestamp = tick();
    const headers: Record<string, string> = keyed ? { "idempotency-key": `load-${timestamp}` } : {};
    const body = JSON.stringify(eventOf(`e-${next}`, timestamp));
    const answer = await subject.client.post(subject.one, body, headers);
    if (!answer.includes('"transition":"')) throw new Error(`nothing moved: ${answer}`);
  };
}

/** Requests of a batch of events, each of another entity. */
function batches(subject: Subject): () => Promise<void> {
  return async () => {
    const timestamp = tick();
    const body = { events: Array.from({ length: BATCH }, (_, index) => eventOf(`e-${index}`, timestamp)) };
    const answer = await subject.client.post(subject.many, JSON.stringify(body));
    const { succeeded, failed } = JSON.parse(answer) as { succeeded: number; failed: number };
    if (succeeded !== BATCH || failed !== 0) throw new Error(`not all moved: ${answer.slice(0, 500)}`);
  };
}

/** The median rates of both, and the median of their ratios. */
interface Comparison {
  readonly service: number;
  readonly floor: number;
  readonly ratio: number;
  /** The median time of a request to the service, and the 99th percentile. */
  readonly middle: number;
  readonly late: number;
  /** CPU microseconds of the runtime for a request to each. */
  readonly cpu: { readonly service: number; readonly floor: number };
}

/** Loads both in turn; which one comes first changes from round to round. */
async function compare(
  service: () => Promise<void>,
  below: () => Promise<void>,
  connections: number,
  rounds: number,
  millis: number,
  settle?: (count: number) => Promise<void>,
): Promise<Comparison> {
  const rates = { service: [] as number[], floor: [] as number[] };
  const cpu = { service: [] as number[], floor: [] as number[] };
  const times: number[] = [];
  const run = async (name: "service" | "floor") => {
    const before = runtimeCpu() ?? NaN;
    const {
      count,
      rate,
      times: taken,
    } = await load(connections, millis, name === "service" ? service : below, settle);
    // The other one is idle meanwhile.
    cpu[name].push((((runtimeCpu() ?? NaN) - before) * 1000) / count);
    rates[name].push(rate);
    if (name === "service") times.push(...taken);
  };
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? (["service", "floor"] as const) : (["floor", "service"] as const);
    for (const name of order) await run(name);
  }
  times.sort((a, b) => a - b);
  return {
    service: median(rates.service),
    floor: median(rates.floor),
    ratio: median(rates.service.map((rate, round) => rate / (rates.floor[round] ?? NaN))),
    middle: median(times),
    late: times[Math.floor(times.length * 0.99)] ?? NaN,
    cpu: { service: median(cpu.service), floor: median(cpu.floor) },
  };
}

/** That every event counted was stored. */
async function stored(subject: Subject, least: number): Promise<void> {
  const [row] = await subject.runtime.sql("SELECT count(*) AS rows FROM history");
  const rows = Number(row?.["rows"]);
  if (rows < least) throw new Error(`${rows} rows of history for ${least} events`);
}

async function compareLoads(folder: string): Promise<void> {
  const ids = Array.from({ length: BATCH }, (_, index) => `e-${index}`);
  const [service, below] = await Promise.all([
    statewright(join(folder, "service")),
    floor(join(folder, "floor"), ids),
  ]);
  try {
    // Makes the entities, and both warm.
    for (const send of [events(service), events(below)]) await load(16, quick ? 200 : 3000, send);
    for (const send of [batches(service), batches(below)]) await load(1, quick ? 1 : 1000, send);

    for (const connections of [1, 16]) {
      const millis = quick ? 200 : 700;
      const before = clock;
      const found = await compare(events(service), events(below), connections, quick ? 2 : 25, millis);
      lines.push({
        what: `\`evaluate\`, ${connections} connection${connections === 1 ? "" : "s"}`,
        columns: [
          `${found.service.toFixed(0)} events/s`,
          `${found.floor.toFixed(0)} events/s`,
          `${found.middle.toFixed(1)} / ${found.late.toFixed(1)} ms`,
          `${found.cpu.service.toFixed(0)} / ${found.cpu.floor.toFixed(0)} µs`,
        ],
        value: found.ratio,
        unit: "",
        least: 0.7,
      });
      await stored(service, Math.floor((clock - before) / 4));
    }
    const found = await compare(batches(service), batches(below), 1, quick ? 1 : 25, quick ? 1 : 250);
    lines.push({
      what: `\`evaluate/batch\`, ${BATCH} events of ${BATCH} entities`,
      columns: [
        `${(found.service * BATCH).toFixed(0)} events/s`,
        `${(found.floor * BATCH).toFixed(0)} events/s`,
        `${found.middle.toFixed(0)} / ${found.late.toFixed(0)} ms`,
        `${(found.cpu.service / BATCH).toFixed(0)} / ${(found.cpu.floor / BATCH).toFixed(0)} µs`,
      ],
      value: found.ratio,
      unit: "",
      least: 0.35,
    });
  } finally {
    await Promise.all([service.stop(), below.stop()]);
  }
}

const pause = (millis: number): Promise<void> => new Promise((over) => setTimeout(over, millis));

/** Waits until `reached`; fails after half a minute. */
async function until(what: string, reached: () => boolean): Promise<void> {
  const late = performance.now() + 30_000;
  while (!reached()) {
    if (performance.now() > late) throw new Error(`${what}: not within 30 s`);
    await pause(2);
  }
}

/** Events that call a sink each, by the requests' own sends: an event is done when the sink has been told. */
async function compareTelling(folder: string): Promise<void> {
  const ids = Array.from({ length: BATCH }, (_, index) => `e-${index}`);
  const [sink] = (await Sink.open(1)) as [Sink];
  const [service, below] = await Promise.all([
    telling(join(folder, "telling"), sink.url),
    floor(join(folder, "telling-floor"), ids, sink.url),
  ]);
  let told = 0;
  const settle = async (count: number) => {
    told += count;
    await until(`${told} deliveries`, () => sink.accepted >= told);
  };
  try {
    const [ours, theirs] = [events(service, BATCH, true), events(below, BATCH, true)];
    for (const send of [ours, theirs]) await load(16, quick ? 200 : 3000, send, settle);
    for (const connections of [1, 16]) {
      const found = await compare(ours, theirs, connections, quick ? 2 : 25, quick ? 200 : 700, settle);
      lines.push({
        what: `\`evaluate\` with a webhook and an Idempotency-Key, ${connections} connection${connections === 1 ? "" : "s"}`,
        columns: [
          `${found.service.toFixed(0)} events/s`,
          `${found.floor.toFixed(0)} events/s`,
          `${found.middle.toFixed(1)} / ${found.late.toFixed(1)} ms`,
          `${found.cpu.service.toFixed(0)} / ${found.cpu.floor.toFixed(0)} µs`,
        ],
        value: found.ratio,
        unit: "",
        least: 0.6,
      });
    }
    await pause(200);
    const [row] = await service.runtime.sql(
      "SELECT (SELECT count(*) FROM outbox WHERE status = 'done') AS done, (SELECT count(*) FROM inbox) AS receipts, (SELECT count(*) FROM history) AS rows",
    );
    if (row?.["done"] !== row?.["rows"] || row?.["receipts"] !== row?.["rows"]) {
      throw new Error(`not every event was told and has its receipt: ${JSON.stringify(row)}`);
    }

    const plain = events(service, BATCH);
    const rates: number[] = [];
    for (let round = 0; round < (quick ? 1 : 15); round += 1) {
      rates.push((await load(16, quick ? 200 : 700, plain, settle)).rate);
    }
    lines.push({
      what: "deliveries by the requests themselves, 16 connections, one sink",
      columns: [`${median(rates).toFixed(0)} deliveries/s`, "", "", ""],
      value: median(rates),
      unit: " deliveries/s",
    });
  } finally {
    sink.close();
    await Promise.all([service.stop(), below.stop()]);
  }
}

/**
 * What one invocation of the scanner, a minute's, delivers of a backlog that is more than it can do, for many sinks; and where
 * one of them takes what it is sent and never answers. What counts are deliveries to the others.
 */
async function compareSinks(folder: string): Promise<void> {
  const sinks = await Sink.open(SINKS);
  const [first, ...others] = sinks as [Sink, ...Sink[]];
  const service = await telling(join(folder, "sinks"), first.url);
  const accepted = () => others.reduce((sum, sink) => sum + sink.accepted, 0);
  let round = 0;
  let called = false;
  /** How many were delivered in the minute, and how many a second until all that could be were. */
  const minute = async (dead: boolean): Promise<{ count: number; rate: number }> => {
    first.dead = dead;
    const before = accepted();
    await backlog(service.runtime, (round += 1), sinks, SHAPE);
    const began = performance.now();
    const over = service.runtime.scheduled(new Date());
    // As long as nothing but the one that does not answer can hold it up.
    let until = began;
    while (accepted() - before < PART && performance.now() - began < 30_000) {
      await pause(2);
      until = performance.now();
    }
    await over;
    // Where it is known not to answer, it may not be called again.
    called ||= first.holding > 0;
    await drop(service.runtime);
    first.release();
    return { count: accepted() - before, rate: (PART / (until - began)) * 1000 };
  };
  try {
    await service.client.post(service.one, JSON.stringify(eventOf("e-0", tick())));
    await until("the first delivery", () => first.accepted > 0);
    await pause(200);
    await minute(false);
    const alive: { count: number; rate: number }[] = [];
    const one: { count: number; rate: number }[] = [];
    for (let pair = 0; pair < (quick ? 1 : 12); pair += 1) {
      for (const dead of pair % 2 === 0 ? [false, true] : [true, false])
        (dead ? one : alive).push(await minute(dead));
    }
    if (!called) throw new Error("the dead sink was never called");
    const ratio = (of: "count" | "rate") =>
      median(one.map((slow, pair) => slow[of] / (alive[pair]?.[of] ?? NaN)));
    const rates = [alive, one].map((all) => `${median(all.map(({ rate }) => rate)).toFixed(0)} deliveries/s`);
    const counts = [alive, one].map((all) => `${median(all.map(({ count }) => count)).toFixed(0)} a minute`);
    lines.push({
      what: `deliveries of a backlog for ${SINKS} sinks by one invocation`,
      columns: [`${rates[0]}, ${counts[0]}`, "", "", ""],
      value: median(alive.map(({ rate }) => rate)),
      unit: " deliveries/s",
    });
    lines.push({
      what: `the same to ${others.length} of them while the last one never answers: deliveries a second`,
      columns: [rates[1] ?? "", "", "", ""],
      value: ratio("rate"),
      unit: "",
      least: 0.95,
    });
    lines.push({
      what: "deliveries a minute",
      columns: [counts[1] ?? "", "", "", ""],
      value: ratio("count"),
      unit: "",
    });
  } finally {
    for (const sink of sinks) {
      sink.release();
      sink.close();
    }
    await service.stop();
  }
}

/** A pass of the scanner that finds nothing due costs the same, however many timers are armed. */
async function compareScans(folder: string): Promise<void> {
  const few = 100;
  const many = quick ? 1000 : 100_000;
  const services = [await armed(join(folder, "few"), few), await armed(join(folder, "many"), many)] as const;
  const times: [number[], number[]] = [[], []];
  try {
    const rounds = quick ? 3 : 200;
    for (let round = -5; round < rounds; round += 1) {
      for (const place of [0, 1] as const) {
        const began = performance.now();
        await services[place].runtime.scheduled();
        if (round >= 0) times[place].push(performance.now() - began);
      }
    }
    for (const service of services) {
      const [row] = await service.runtime.sql("SELECT report FROM scheduler");
      const { scanned } = JSON.parse(String(row?.["report"])) as { scanned: number };
      if (scanned !== 0) throw new Error(`the scanner took ${scanned} timers that are not due`);
    }
  } finally {
    for (const service of services) await service.stop();
  }
  const [small, large] = [median(times[0]), median(times[1])];
  lines.push({
    what: `a scan, ${many.toLocaleString("en")} timers armed beside ${few}, none due`,
    columns: [`${large.toFixed(2)} ms`, `${small.toFixed(2)} ms`, "", ""],
    value: large / small,
    unit: "",
    most: 1.15,
  });
}

async function weigh(): Promise<void> {
  const bytes = gzippedBytes();
  lines.push({
    what: "script, gzipped",
    columns: [`${bytes.toLocaleString("en")} bytes`, "", "", ""],
    value: bytes / 1000,
    unit: " KB",
    most: 600,
  });
  const cpu = await startupCpu(quick ? 1 : 7);
  if (cpu === undefined) return;
  lines.push({
    what: "start-up and first answer, CPU over an empty Worker's",
    columns: [`${cpu.toFixed(1)} ms`, "", "", ""],
    value: cpu,
    unit: " ms",
    most: 50,
  });
}

function demand({ least, most, unit }: Line): string {
  if (least === undefined && most === undefined) return "";
  return least === undefined ? `≤ ${most}${unit}` : `≥ ${least}${unit}`;
}

function reached({ value, least = -Infinity, most = Infinity }: Line): boolean {
  return value >= least && value <= most;
}

const folder = mkdtempSync(join(tmpdir(), "statewright-load-"));
try {
  const parts: Record<string, () => Promise<void>> = {
    // First, while no other runtime is there whose CPU would count.
    weigh,
    loads: () => compareLoads(folder),
    telling: () => compareTelling(folder),
    sinks: () => compareSinks(folder),
    scans: () => compareScans(folder),
  };
  for (const [name, part] of Object.entries(parts)) {
    if (options.part === undefined || options.part === name) await part();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const processor = cpus()[0]?.model.trim() ?? "unknown";
console.log(
  `\nService on workerd and a local D1 beside a floor Worker, ${new Date(BEGAN).toISOString().slice(0, 10)}.`,
);
console.log(`${availableParallelism()} cores (${processor}) for client, Worker and database together.\n`);
console.log(
  "| | service | floor | request: median / 99 % | CPU of an event: service / floor | ratio | demanded |",
);
console.log("| --- | --: | --: | --: | --: | --: | --: |");
for (const line of lines) {
  const value = line.unit === "" ? line.value.toFixed(2) : "";
  console.log(`| ${line.what} | ${line.columns.join(" | ")} | ${value} | ${demand(line)} |`);
}
console.log("");
for (const line of lines.filter((line) => demand(line) !== "")) {
  const name = line.unit === "" ? "ratio" : "value";
  const value = `${line.value.toFixed(2)}${line.unit}`;
  const verdict = quick ? "" : reached(line) ? ": reached" : ": MISSED";
  console.log(`${name} ${value} demanded ${demand(line)}${verdict} (${line.what.replaceAll("`", "")})`);
}
if (!quick && !lines.every(reached)) process.exitCode = 1;
