"""Statewright's component in Python, by wasmtime: an order that is paid, and why it is not shipped."""

import json
import sys

from wasmtime import Engine, Store
from wasmtime.component import Component, Linker, Record, Variant

DEFINITION = {
    "machine_id": "order",
    "states": ["placed", "paid", "shipped"],
    "initial_state": "placed",
    "transitions": [
        {"from": "placed", "to": "paid", "on": "pay", "guard": {"field": "amount", "op": "gte", "value": 1}},
        {"from": "paid", "to": "shipped", "on": "ship", "guard": {"field": "stock", "op": "gt", "value": 0}},
    ],
}

engine = Engine()
store = Store(engine)
component = Component.from_file(engine, sys.argv[1])
# It imports nothing, so there is nothing to link.
instance = Linker(engine).instantiate(store, component)
machines = instance.get_export_index(store, "statewright:core/machines@0.1.0")


def call(name, *args):
    """Calls a function of `machines`; raises what it refuses."""
    function = instance.get_func(store, instance.get_export_index(store, name, machines))
    answer = function(store, *args)
    if isinstance(answer, Variant):
        raise RuntimeError(f"{answer.tag}: {answer.payload}")
    return answer


def event(event_type, params):
    """An event without a timestamp, a version or a target."""
    made = Record()
    fields = {"event-type": event_type, "params": json.dumps(params)}
    for name in ("event-type", "params", "timestamp", "expected-version", "target"):
        setattr(made, name, fields.get(name))
    return made


order = call("[static]machine.compile", json.dumps(DEFINITION), [])
created = call("[method]machine.create", order, "o-1", None, 1_700_000_000_000)

sent = call("[method]machine.send", order, created.snapshot, event("pay", {"amount": 20}), 1_700_000_001_000, [])
print(sent.outcome.tag, sent.answer.transition)

why = call("[method]machine.why", order, sent.snapshot, event("ship", {"stock": 0}), 1_700_000_002_000)
[candidate] = why.candidates
[clause] = candidate.clauses
print(why.would, clause.path, clause.field, clause.op, clause.expected, "but", clause.seen)

entity = sent.snapshot.instances[0]
print(getattr(entity, "entity-id"), entity.state, getattr(entity, "state-version"), entity.context)
order.drop(store)
