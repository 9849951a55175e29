// Machines for the tests of the diagram, and the links that open them in the simulator.

import type { JsonDefinition, Scenario, ScenarioStep } from "statewright";

import { encode } from "../../www/src/simulator/share/link.ts";

/** A flat machine with a guard, a timeout beside an event, a self-transition, a way back and actions. */
export const PURCHASE: JsonDefinition = {
  machine_id: "purchase",
  states: ["placed", "paid", "packed", "shipped", "cancelled"],
  initial_state: "placed",
  transitions: [
    { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 10 } },
    { from: "placed", to: "cancelled", on: "cancel" },
    { from: "placed", to: "cancelled", on: "$timeout", guard: { timeout_seconds: 3600 } },
    { from: "paid", to: "packed", on: "pack" },
    { from: "packed", to: "packed", on: "relabel", description: "prints it anew" },
    { from: "packed", to: "paid", on: "unpack" },
    { from: "packed", to: "shipped", on: "ship" },
  ],
  actions: [{ on_enter: "paid", action: { type: "event", event_type: "order.paid" } }],
};

/** Regions, joins and a broadcast. */
export const FULFILMENT: JsonDefinition = {
  machine_id: "fulfilment",
  regions: [
    { id: "payment", states: ["pending", "captured", "refunded"], initial_state: "pending" },
    { id: "goods", states: ["picking", "packed", "sent", "back"], initial_state: "picking" },
  ],
  transitions: [
    { region: "payment", from: "pending", to: "captured", on: "pay" },
    { region: "payment", from: "pending", to: "pending", on: "alarm" },
    { region: "goods", from: "picking", to: "packed", on: "pack" },
    { region: "goods", from: "picking", to: "picking", on: "alarm" },
    { region: "goods", from: "sent", to: "back", on: "return" },
  ],
  joins: [
    { when: { payment: "captured", goods: "packed" }, target_region: "goods", target_state: "sent" },
    { when: { goods: "back" }, target_region: "payment", target_state: "refunded", trigger: "level" },
  ],
  broadcast: ["alarm"],
};

const SETTLE: JsonDefinition = {
  machine_id: "settle",
  states: ["observing", "settled"],
  initial_state: "observing",
  transitions: [{ from: "observing", to: "settled", on: "observed" }],
};

const RETURN_CASE: JsonDefinition = {
  machine_id: "return_case",
  regions: [
    {
      id: "case",
      states: ["opened", "settling", "returned", "kept"],
      initial_state: "opened",
      sub_machines: {
        settling: { machine_id: "settle", lifecycle: "managed", on_final: { settled: "returned" } },
      },
    },
    { id: "deadline", states: ["open", "closed"], initial_state: "open" },
  ],
  transitions: [
    { region: "case", from: "opened", to: "settling", on: "approve" },
    { region: "case", from: "opened", to: "kept", on: "refuse" },
    { region: "deadline", from: "open", to: "closed", on: "close" },
  ],
};

/** Children three deep. */
export const BUNDLE: readonly [JsonDefinition, ...JsonDefinition[]] = [
  {
    machine_id: "bundle",
    states: ["sent", "returning", "done"],
    initial_state: "sent",
    transitions: [
      { from: "sent", to: "returning", on: "return" },
      { from: "returning", to: "sent", on: "withdraw" },
    ],
    sub_machines: {
      returning: {
        machine_id: "return_case",
        lifecycle: "managed",
        reentry: "fresh",
        complete_when: [{ when: { case: "returned", deadline: "closed" }, target: "done" }],
      },
    },
  },
  RETURN_CASE,
  SETTLE,
];

const LONG = "x".repeat(128);

/** Names that are no ordinary ones, as far as they are names. */
export const HOSTILE: JsonDefinition = {
  machine_id: "<img src=x onerror=alert(1)>",
  states: [
    "__proto__",
    "constructor",
    "<b>bold</b>",
    "</svg><script>alert(1)</script>",
    LONG,
    "\u202eb\u0301",
  ],
  initial_state: "__proto__",
  transitions: [
    { from: "__proto__", to: "constructor", on: "toString" },
    {
      from: "constructor",
      to: "<b>bold</b>",
      on: "<i>&amp;</i>",
      guard: { field: "__proto__", op: "eq", value: "]]>" },
    },
    {
      from: "<b>bold</b>",
      to: LONG,
      on: "valueOf",
      guard: { field: "x", op: "eq", value: "y".repeat(10_000) },
    },
    { from: LONG, to: "</svg><script>alert(1)</script>", on: "hasOwnProperty" },
    { from: "__proto__", to: "\u202eb\u0301", on: "__proto__" },
  ],
};

/** A machine of so many states and transitions between any of them, the same each time. */
export function largeOf(states: number, transitions: number): JsonDefinition {
  let seed = 7;
  const below = (most: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * most);
  };
  const name = (index: number): string => `state_${index}`;
  const ways = Array.from({ length: states - 1 }, (_, index) => ({
    from: name(Math.max(0, index - below(6))),
    to: name(index + 1),
    on: `go_${index + 1}`,
  }));
  const rest = Array.from({ length: transitions - ways.length }, (_, index) => ({
    from: name(below(states)),
    to: name(below(states)),
    on: `event_${index}`,
    ...(index % 3 === 0 ? { guard: { field: "amount", op: "gte", value: below(100) } } : {}),
  }));
  return {
    machine_id: "large",
    states: Array.from({ length: states }, (_, index) => name(index)),
    initial_state: name(0),
    transitions: [...ways, ...rest],
  };
}

/** An event of a scenario's only root, for itself or for a child. */
export function sent(
  machine_id: string,
  event_type: string,
  params = {},
  target?: readonly object[],
): ScenarioStep {
  const body = { event_type, params, ...(target === undefined ? {} : { target }) };
  return { op: "transition", args: { machine_id, entity_id: "e-1", body } };
}

/** The fragment that opens machines in the simulator, with an entity of the first and what was sent to it. */
export async function linkTo(
  machines: readonly [JsonDefinition, ...JsonDefinition[]],
  ...steps: ScenarioStep[]
): Promise<string> {
  const { machine_id } = machines[0];
  const scenario: Scenario = {
    statewright: "scenario/1",
    start: 0,
    machines: [...machines],
    steps: [{ op: "create", args: { machine_id, body: { entity_id: "e-1" } } }, ...steps],
  };
  return `#/s/${await encode({ definitions: machines, scenario, subject: { machine_id, entity_id: "e-1" } })}`;
}
