// Statewright's component in Node, by jco: an order that is paid, and why it is not shipped.

import { pathToFileURL } from "node:url";

// What `jco transpile statewright.wasm --name statewright -o <folder>` made.
const { machines } = await import(pathToFileURL(`${process.argv[2]}/statewright.js`).href);

const definition = {
  machine_id: "order",
  states: ["placed", "paid", "shipped"],
  initial_state: "placed",
  transitions: [
    { from: "placed", to: "paid", on: "pay", guard: { field: "amount", op: "gte", value: 1 } },
    { from: "paid", to: "shipped", on: "ship", guard: { field: "stock", op: "gt", value: 0 } },
  ],
};
const event = (eventType, params) => ({ eventType, params: JSON.stringify(params) });

const order = machines.Machine.compile(JSON.stringify(definition), []);
const { snapshot } = order.create("o-1", undefined, 1_700_000_000_000n);

const sent = order.send(snapshot, event("pay", { amount: 20 }), 1_700_000_001_000n, []);
console.log(sent.outcome.tag, sent.answer.transition);

const why = order.why(sent.snapshot, event("ship", { stock: 0 }), 1_700_000_002_000n);
const [clause] = why.candidates[0].clauses;
console.log(why.would, clause.path, clause.field, clause.op, clause.expected, "but", clause.seen);

const [entity] = sent.snapshot.instances;
console.log(entity.entityId, entity.state.val, entity.stateVersion, entity.context);
