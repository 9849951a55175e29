// The same two machines in each library, with the same guards and events: what `js.ts` measures.

import fsm from "@xstate/fsm";
import { createMachine as robot, guard as when, interpret, state, transition as on } from "robot3";
import { defineMachine } from "statewright";
import { and, createActor, initialTransition, setup, stateIn, transition } from "xstate";

/** Events in a circle, each of which moves something: in round after round the same. */
export const FLAT = ["pay", "send", "reopen"] as const;
export const PARALLEL = ["pay", "pack", "unpack", "refund", "recall"] as const;

/** The states after each event of a round: of a flat machine, or of its regions. */
export const TRACES = {
  flat: ["paid", "sent", "placed"],
  parallel: [
    "captured open waiting",
    // The join.
    "captured packed ready",
    "captured open ready",
    "pending open ready",
    "pending open waiting",
  ],
};

/** What a library does, one way. */
export interface Subject {
  readonly name: string;
  /** What an event is beside the next state. */
  readonly does: string;
  readonly flat: Way;
  /** Left out where it has no regions. */
  readonly parallel?: Way;
}

/** Sends events round and round, and says the state that they led to. */
export interface Way {
  send(times: number): void;
  state(): string;
}

const NOW = 1_700_000_000_000;
const CONTEXT = { id: "o-4711", customer: "c-17", amount: 1200 };

const order = defineMachine({
  machine_id: "order",
  states: ["placed", "paid", "sent"],
  initial_state: "placed",
  transitions: [
    { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 1 } },
    { from: "paid", to: "sent", on: "send" },
    { from: "sent", to: "placed", on: "reopen" },
  ],
});

const fulfilment = defineMachine({
  machine_id: "fulfilment",
  regions: [
    { id: "payment", states: ["pending", "captured"], initial_state: "pending" },
    { id: "packing", states: ["open", "packed"], initial_state: "open" },
    { id: "shipping", states: ["waiting", "ready"], initial_state: "waiting" },
  ],
  transitions: [
    {
      region: "payment",
      from: "pending",
      to: "captured",
      on: "pay",
      guard: { field: "amount", op: "gte", value: 1 },
    },
    { region: "payment", from: "captured", to: "pending", on: "refund" },
    { region: "packing", from: "open", to: "packed", on: "pack" },
    { region: "packing", from: "packed", to: "open", on: "unpack" },
    { region: "shipping", from: "ready", to: "waiting", on: "recall" },
  ],
  joins: [
    {
      when: { payment: "captured", packing: "packed", shipping: "waiting" },
      target_region: "shipping",
      target_state: "ready",
    },
  ],
});

const shown = (value: unknown): string =>
  typeof value === "string" ? value : Object.values(value as Record<string, string>).join(" ");

/** A loop over events: a function of its own each time, so that none is slowed down by what another one calls. */
const loop = (): Loop =>
  new Function(
    "events",
    "call",
    "first",
    "times",
    `let place = first;
    for (let count = 0; count < times; count += 1) {
      call(events[place]);
      place = place + 1 === events.length ? 0 : place + 1;
    }
    return place;`,
  ) as Loop;
type Loop = (
  events: readonly unknown[],
  call: (event: never) => void,
  first: number,
  times: number,
) => number;

/** Calls with one event after the other, going on where the last call left off. */
function rounds<Event>(events: readonly Event[], call: (event: Event) => void): (times: number) => void {
  const run = loop();
  let next = 0;
  return (times) => {
    next = run(events, call, next, times);
  };
}

type Statewright = typeof order | typeof fulfilment;
type Snapshot = ReturnType<(typeof order)["create"]>;

/** A machine whose types are of no use here: what is measured is sent by variables. */
interface Loose {
  create(id: string, context: object, options: { now: number }): Snapshot;
  send(
    snapshot: Snapshot,
    event: string | object,
    options: { now: number; history?: readonly object[] },
  ): { readonly snapshot: Snapshot; readonly commit: unknown };
  instance(
    id: string,
    options: { context: object; now: number },
  ): {
    event(type: string): number;
    send(event: number | string): boolean;
    readonly state: unknown;
  };
}

const loose = (machine: Statewright) => machine as unknown as Loose;

function byHandle(machine: Loose, events: readonly string[]): Way {
  const instance = machine.instance("o-4711", { context: CONTEXT, now: NOW });
  const handles = events.map((event) => instance.event(event));
  return { send: rounds(handles, (handle) => instance.send(handle)), state: () => shown(instance.state) };
}

function byName(machine: Loose, events: readonly string[]): Way {
  const instance = machine.instance("o-4711", { context: CONTEXT, now: NOW });
  return { send: rounds(events, (event) => instance.send(event)), state: () => shown(instance.state) };
}

function pure(machine: Loose, events: readonly string[], commits: boolean): Way {
  let snapshot = machine.create("o-4711", CONTEXT, { now: NOW });
  let now = NOW;
  const send = commits
    ? (event: string) => {
        const sent = machine.send(snapshot, event, { now: (now += 1) });
        if (sent.commit === null) throw new Error(`${event} moved nothing`);
        snapshot = sent.snapshot;
      }
    : (event: string) => {
        snapshot = machine.send(snapshot, event, { now: (now += 1) }).snapshot;
      };
  return { send: rounds(events, send), state: () => shown(snapshot.current_state) };
}

/** What is sent with a value that guards look at and that never came before; or with a history, in which the core looks for it. */
function anew(machine: Loose, events: readonly string[], searched: boolean): Way {
  let snapshot = machine.create("o-4711", CONTEXT, { now: NOW });
  let now = NOW;
  const send = (type: string) => {
    now += 1;
    const event = { type, timestamp: now, params: { amount: now } };
    snapshot = machine.send(snapshot, event, searched ? { now, history: [] } : { now }).snapshot;
  };
  return { send: rounds(events, send), state: () => shown(snapshot.current_state) };
}

function stored(machine: Loose, events: readonly string[]): Way {
  let text = JSON.stringify(machine.create("o-4711", CONTEXT, { now: NOW }));
  let now = NOW;
  const send = (event: string) => {
    const snapshot = JSON.parse(text) as Snapshot;
    text = JSON.stringify(machine.send(snapshot, event, { now: (now += 1) }).snapshot);
  };
  return {
    send: rounds(events, send),
    state: () => shown((JSON.parse(text) as Snapshot).current_state),
  };
}

const guards = { hasAmount: ({ context }: { context: { amount: number } }) => context.amount >= 1 };
const types = {} as { context: typeof CONTEXT; events: { type: string } };

const xOrder = setup({ types, guards }).createMachine({
  id: "order",
  context: CONTEXT,
  initial: "placed",
  states: {
    placed: { on: { pay: { target: "paid", guard: "hasAmount" } } },
    paid: { on: { send: "sent" } },
    sent: { on: { reopen: "placed" } },
  },
});

/** The join, as XState has it: judged at every step, not when it becomes true. Here that is the same. */
const isDue = and([stateIn({ payment: "captured" }), stateIn({ packing: "packed" })]);

const xFulfilment = setup({
  types,
  guards,
}).createMachine({
  id: "fulfilment",
  context: CONTEXT,
  type: "parallel",
  states: {
    payment: {
      initial: "pending",
      states: {
        pending: { on: { pay: { target: "captured", guard: "hasAmount" } } },
        captured: { on: { refund: "pending" } },
      },
    },
    packing: {
      initial: "open",
      states: { open: { on: { pack: "packed" } }, packed: { on: { unpack: "open" } } },
    },
    shipping: {
      initial: "waiting",
      states: {
        waiting: { always: { target: "ready", guard: isDue } },
        ready: { on: { recall: "waiting" } },
      },
    },
  },
});

const objects = (events: readonly string[]) => events.map((type) => ({ type }));

type XMachine = typeof xOrder | typeof xFulfilment;

function actor(machine: XMachine, events: readonly string[]): Way {
  const running = createActor(machine as typeof xOrder).start();
  return {
    send: rounds(objects(events), (event) => running.send(event)),
    state: () => shown(running.getSnapshot().value),
  };
}

function xPure(given: XMachine, events: readonly string[]): Way {
  const machine = given as typeof xOrder;
  let [snapshot] = initialTransition(machine);
  const send = (event: { type: string }) => {
    [snapshot] = transition(machine, snapshot, event);
  };
  return { send: rounds(objects(events), send), state: () => shown(snapshot.value) };
}

function xStored(given: XMachine, events: readonly string[]): Way {
  const machine = given as typeof xOrder;
  let text = JSON.stringify(initialTransition(machine)[0]);
  const send = (event: { type: string }) => {
    const snapshot = machine.resolveState(JSON.parse(text) as never);
    text = JSON.stringify(transition(machine, snapshot, event)[0]);
  };
  const state = () => shown((JSON.parse(text) as { value: unknown }).value);
  return { send: rounds(objects(events), send), state };
}

function fsmService(events: readonly string[]): Way {
  const machine = fsm.createMachine<typeof CONTEXT, { type: string }>({
    id: "order",
    context: CONTEXT,
    initial: "placed",
    states: {
      placed: { on: { pay: { target: "paid", cond: ({ amount }) => amount >= 1 } } },
      paid: { on: { send: "sent" } },
      sent: { on: { reopen: "placed" } },
    },
  });
  const service = fsm.interpret(machine).start();
  return {
    send: rounds(objects(events), (event) => service.send(event)),
    state: () => service.state.value,
  };
}

function robotService(events: readonly string[]): Way {
  const machine = robot(
    "placed",
    {
      placed: state(
        on(
          "pay",
          "paid",
          when(({ amount }: typeof CONTEXT) => amount >= 1),
        ),
      ),
      paid: state(on("send", "sent")),
      sent: state(on("reopen", "placed")),
    },
    () => CONTEXT,
  );
  const service = interpret(machine, () => {});
  return {
    send: rounds(objects(events), (event) => service.send(event as { type: "pay" })),
    state: () => service.machine.current,
  };
}

/** An order as one would write it by hand. */
interface Order {
  state: string;
  context: typeof CONTEXT;
}

function stepOrder(entity: Order, event: string): Order {
  const { state: from, context } = entity;
  if (from === "placed" && event === "pay" && context.amount >= 1) return { state: "paid", context };
  if (from === "paid" && event === "send") return { state: "sent", context };
  if (from === "sent" && event === "reopen") return { state: "placed", context };
  return entity;
}

/** A fulfilment as one would write it by hand. */
interface Fulfilment {
  payment: string;
  packing: string;
  shipping: string;
  context: typeof CONTEXT;
}

function stepFulfilment(entity: Fulfilment, event: string): Fulfilment {
  const next = { ...entity };
  if (event === "pay" && entity.payment === "pending" && entity.context.amount >= 1)
    next.payment = "captured";
  else if (event === "refund" && entity.payment === "captured") next.payment = "pending";
  else if (event === "pack" && entity.packing === "open") next.packing = "packed";
  else if (event === "unpack" && entity.packing === "packed") next.packing = "open";
  else if (event === "recall" && entity.shipping === "ready") next.shipping = "waiting";
  else return entity;
  if (next.payment === "captured" && next.packing === "packed") next.shipping = "ready";
  return next;
}

function byHand<Entity>(
  first: Entity,
  step: (entity: Entity, event: string) => Entity,
  of: (entity: Entity) => string,
  events: readonly string[],
): Way {
  let entity = first;
  const send = (event: string) => {
    entity = step(entity, event);
  };
  return { send: rounds(events, send), state: () => of(entity) };
}

function byHandStored<Entity>(
  first: Entity,
  step: (entity: Entity, event: string) => Entity,
  of: (entity: Entity) => string,
  events: readonly string[],
): Way {
  let text = JSON.stringify(first);
  const send = (event: string) => {
    text = JSON.stringify(step(JSON.parse(text) as Entity, event));
  };
  return { send: rounds(events, send), state: () => of(JSON.parse(text) as Entity) };
}

const placed: Order = { state: "placed", context: CONTEXT };
const begun: Fulfilment = { payment: "pending", packing: "open", shipping: "waiting", context: CONTEXT };
const stateOf = ({ state: current }: Order) => current;
const statesOf = ({ payment, packing, shipping }: Fulfilment) => `${payment} ${packing} ${shipping}`;

const versioned = "version, entries with their times and identities";

/** All that is measured, by groups that do the like. */
export const SUBJECTS = {
  handle: {
    name: "Statewright, `instance.send(handle)`",
    does: `${versioned}, timers; in place`,
    flat: byHandle(loose(order), FLAT),
    parallel: byHandle(loose(fulfilment), PARALLEL),
  },
  name: {
    name: 'Statewright, `instance.send("pay")`',
    does: `${versioned}, timers; in place`,
    flat: byName(loose(order), FLAT),
    parallel: byName(loose(fulfilment), PARALLEL),
  },
  actor: {
    name: "XState v5, `actor.send`",
    does: "snapshots, observers, actors, delayed events; in place",
    flat: actor(xOrder, FLAT),
    parallel: actor(xFulfilment, PARALLEL),
  },
  fsm: { name: "@xstate/fsm, `service.send`", does: "listeners; in place", flat: fsmService(FLAT) },
  robot: { name: "robot3, `service.send`", does: "a callback; in place", flat: robotService(FLAT) },
  hand: {
    name: "by hand",
    does: "nothing else",
    flat: byHand(placed, stepOrder, stateOf, FLAT),
    parallel: byHand(begun, stepFulfilment, statesOf, PARALLEL),
  },
  send: {
    name: "Statewright, `machine.send`",
    does: `plain data to plain data: ${versioned}, timers`,
    flat: pure(loose(order), FLAT, false),
    parallel: pure(loose(fulfilment), PARALLEL, false),
  },
  commit: {
    name: "Statewright, `machine.send` and its commit",
    does: "that, and history rows with causes, effects, versions",
    flat: pure(loose(order), FLAT, true),
    parallel: pure(loose(fulfilment), PARALLEL, true),
  },
  fresh: {
    name: "Statewright, `machine.send` with params that never came",
    does: "as `machine.send`; `pay` by guards that look at them anew",
    flat: anew(loose(order), FLAT, false),
    parallel: anew(loose(fulfilment), PARALLEL, false),
  },
  unmet: {
    name: "Statewright, `machine.send` with a history",
    does: "as `machine.send`; all of it as JSON text through the core",
    flat: anew(loose(order), FLAT, true),
    parallel: anew(loose(fulfilment), PARALLEL, true),
  },
  transition: {
    name: "XState v5, `transition`",
    does: "snapshot to snapshot, and actions",
    flat: xPure(xOrder, FLAT),
    parallel: xPure(xFulfilment, PARALLEL),
  },
  stored: {
    name: "Statewright, `JSON.parse`, `machine.send`, `JSON.stringify`",
    does: "as `machine.send`; 330 to 660 bytes",
    flat: stored(loose(order), FLAT),
    parallel: stored(loose(fulfilment), PARALLEL),
  },
  xStored: {
    name: "XState v5, `JSON.parse`, `resolveState`, `transition`, `JSON.stringify`",
    does: "states, context, status, children; 140 to 200 bytes",
    flat: xStored(xOrder, FLAT),
    parallel: xStored(xFulfilment, PARALLEL),
  },
  handStored: {
    name: "by hand, `JSON.parse`, `JSON.stringify`",
    does: "states and context alone; 80 to 140 bytes",
    flat: byHandStored(placed, stepOrder, stateOf, FLAT),
    parallel: byHandStored(begun, stepFulfilment, statesOf, PARALLEL),
  },
} satisfies Record<string, Subject>;

/** What is measured, by name. */
export type SubjectName = keyof typeof SUBJECTS;
