// `statewright explain`: why an event would, or would not, move an entity.

import { isObject } from "../../json-value.ts";
import type { Explanation, Snapshot } from "../../typed.ts";
import { machineOf } from "../checking.ts";
import type { Command, Given } from "../command.ts";
import { explained } from "../explained.ts";
import { objectOf, readDefinitions, readSource } from "../files.ts";
import { paramsOf, split } from "../params.ts";
import { EXIT, Refusal } from "../refusal.ts";
import { SERVICE, serviceOf } from "../service.ts";
import type { Output, Terminal } from "../terminal.ts";
import { timeOf } from "../time.ts";

export const explain: Command = {
  name: "explain",
  summary: "says why an event would, or would not, move an entity",
  usage: [
    "explain <file> <event> [--context <json>] [--params <json>] [--after <event>]...",
    "explain <file> <event> --snapshot <file> [--params <json>]",
    "explain --url <url> <machine> <entity> <event> [--params <json>]",
  ],
  about: [
    "Tries the event on an entity and writes nothing: each transition that could take it, each comparison of its guard that fails with what it found, what joins wait for, which child would take it, and the next timeout.",
    "The entity is a new one to which the events of --after were sent, or that of a snapshot, or one of a running service. Ends with 1 where the event would move nothing.",
  ],
  options: {
    machine: {
      type: "string",
      short: "m",
      value: "id",
      help: "which machine of the file; the first if left out",
    },
    context: { type: "string", short: "c", value: "json", help: "the entity's context" },
    params: { type: "string", short: "p", value: "json", help: "the event's params" },
    after: {
      type: "string",
      multiple: true,
      value: "event",
      help: "an event to send before; may be repeated",
    },
    snapshot: { type: "string", short: "s", value: "file", help: "the entity, as a snapshot" },
    now: {
      type: "string",
      value: "time",
      help: "when the event happens; with --snapshot, when it was last written if left out",
    },
    ...SERVICE,
    json: { type: "boolean", help: "answers the explanation in JSON" },
  },
  words: { least: 2, most: 3, what: "a file of a definition and an event" },
  examples: [
    `statewright explain order.json pay --params '{"amount": 5}'`,
    "statewright explain order.json ship --after 'pay amount=25'",
    "statewright explain --url http://localhost:3050 order o-1 pay",
  ],
  async run(given, output, terminal) {
    const { explanation, now } =
      given.text("url") === undefined ? await local(given, output, terminal) : await remote(given, terminal);
    if (given.flag("json")) output.json(explanation);
    else for (const line of explained(explanation, output.style, now)) output.line(line);
    return explanation.would === "transition" || explanation.would === "forward" ? EXIT.ok : EXIT.faults;
  },
};

/** What was found, and the time that it was asked about. */
interface Found {
  readonly explanation: Explanation;
  readonly now: number;
}

function eventParams(given: Given): Record<string, unknown> {
  return objectOf("--params", given.text("params") ?? "{}");
}

async function local(given: Given, output: Output, terminal: Terminal): Promise<Found> {
  const [file = "", event = "", extra] = given.words;
  if (extra !== undefined) {
    throw new Refusal("`explain` of a file needs the file and an event; three words need --url", {
      hints: ["See `statewright explain --help`."],
    });
  }
  const machine = machineOf(await readDefinitions(file, terminal, given.text("machine")), output);
  const at = given.text("now");
  const name = given.text("snapshot");
  let snapshot: Snapshot;
  let now = at === undefined ? Date.now() : timeOf("--now", at);
  if (name === undefined) {
    snapshot = machine.create("entity", objectOf("--context", given.text("context") ?? "{}"), { now });
    for (const before of given.texts("after")) {
      const [type, words] = split(before);
      const sent = machine.send(snapshot, { type, params: paramsOf(words) }, { now });
      if (sent.outcome === "refused") throw sent.error;
      if (sent.outcome === "no_transition") output.note(`--after ${before} moved nothing`);
      snapshot = sent.snapshot;
    }
  } else {
    const { value } = await readSource(name, terminal);
    if (!isObject(value))
      throw new Refusal(`\`${name}\` holds no snapshot; an entity as a JSON object is needed`);
    snapshot = value as unknown as Snapshot;
    if (at === undefined && typeof value["updated_at"] === "number") now = value["updated_at"];
  }
  return { explanation: machine.why(snapshot, { type: event, params: eventParams(given) }, { now }), now };
}

async function remote(given: Given, terminal: Terminal): Promise<Found> {
  const service = await serviceOf(given, terminal, true);
  const [machine = "", entity = "", event] = given.words;
  if (event === undefined || service === undefined) {
    throw new Refusal("`explain --url` needs a machine, an entity and an event", {
      hints: ["See `statewright explain --help`."],
    });
  }
  const asked = { event_type: event, params: eventParams(given) };
  const explanation = await service.entities.explain(machine, entity, asked);
  return { explanation: explanation as unknown as Explanation, now: Date.now() };
}
