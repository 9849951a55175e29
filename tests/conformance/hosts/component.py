"""Plays scripts on the component's sessions, under wasmtime: a JSON array of scripts a line, their replies a line."""

import json
import sys

from wasmtime import Engine, Store
from wasmtime.component import Component, Linker

engine = Engine()
component = Component.from_file(engine, sys.argv[1])
store = Store(engine)
instance = Linker(engine).instantiate(store, component)
sessions = instance.get_export_index(store, "statewright:core/sessions@0.1.0")


def function(name):
    return instance.get_func(store, instance.get_export_index(store, name, sessions))


begin = function("[constructor]session")
perform = function("[method]session.perform")


def play(script):
    session = begin(store, script["start"], script["tenant"], False)
    replies = []
    for op, args in script["asked"]:
        reply = perform(store, session, op.replace("_", "-"), args)
        replies.append([reply.status, reply.body])
    session.drop(store)
    return replies


for line in sys.stdin:
    print(json.dumps([play(script) for script in json.loads(line)]), flush=True)
