//! The published JSON Schema: current, and of one mind with reading where a schema can be.
//!
//! `BLESS=1 cargo test -p statewright-core --test schema` writes `docs/machine.schema.json` anew.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;

use common::golden;
use serde_json::{Value, json};
use statewright_core::definition::Definition;
use statewright_core::schema::machine_schema;

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&machine_schema()).unwrap()
}

fn order() -> Value {
    json!({
        "machine_id": "order", "contract": "statewright.v1", "label": "3", "description": "an order", "meta": {"a": [1]},
        "regions": [
            {"id": "payment", "states": ["pending", "captured"], "initial_state": "pending", "description": "money"},
            {"id": "fulfillment", "states": ["open", "packed", "complete"], "initial_state": "open"}
        ],
        "transitions": [
            {"region": "payment", "from": "pending", "to": "captured", "on": "pay", "description": "paid",
             "guard": {"all": [{"field": "amount", "op": "gte", "value": 1000}, {"any": [{"field": "x", "op": "eq", "value": null}]}]}},
            {"region": "fulfillment", "from": "open", "to": "packed", "on": "pack"},
            {"region": "fulfillment", "from": "open", "to": "packed", "on": "$timeout",
             "guard": {"after_ms": 5, "field": "amount", "op": "gte", "value": "10"}}
        ],
        "joins": [{"when": {"payment": "captured", "fulfillment": "packed"}, "target_region": "fulfillment",
                   "target_state": "complete", "trigger": "level", "description": "done",
                   "actions": [{"type": "webhook", "url": "https://shop.example/done"}]}],
        "actions": [
            {"on_enter": "packed", "region": "fulfillment", "action": {"type": "event", "event_type": "packed"}},
            {"on_enter": "packed", "action": {"type": "webhook", "url": "https://shop.example/packed", "method": "PUT",
             "headers": {"X-Shop": "1", "Authorization": {"secret": "shop", "prefix": "Bearer "}},
             "body": [{"$from": "/entity_id"}], "signed": false}},
            {"on_enter": "packed", "action": {"type": "transition", "machine_id": "parcel", "entity_id": "p-{/entity_id}",
             "event_type": "pack", "params": {"of": {"$from": "/context/order", "default": 0}}, "create": false}}
        ],
        "broadcast": ["pay"]
    })
}

fn door() -> Value {
    json!({
        "machine_id": "door", "states": ["shut", "open"], "initial_state": "shut",
        "transitions": [
            {"from": "shut", "to": "open", "on": "push", "guard": null},
            {"from": "open", "to": "shut", "on": "$timeout", "guard": {"timeout_seconds": 5, "all": []}}
        ],
        "sub_machines": {"open": {"machine_id": "bell", "lifecycle": "managed", "reentry": "fresh",
            "on_final": {"silent": "shut"}, "complete_when": [{"when": {"_": "silent"}, "target": "shut"}]}}
    })
}

#[test]
fn the_published_schema_is_current() {
    let text = format!("{:#}\n", machine_schema());
    golden("../../docs/machine.schema.json", &text);
}

#[test]
fn what_reads_without_fault_matches() {
    let mut returned = door();
    for key in [
        "tenant_id",
        "revision",
        "content_hash",
        "created_at",
        "updated_at",
        "warnings",
    ] {
        returned[key] = json!("set by the service");
    }
    let seed = common::in_seed(json!({
        "machine_id": "m", "states": ["a"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "a", "on": "go", "guard": {"field": "x", "op": "ne", "value": 1}}]
    }));
    for definition in [order(), door(), returned, seed] {
        assert!(Definition::read(&definition).is_ok(), "{definition}");
        if let Err(error) = validator().validate(&definition) {
            panic!("{error} at {}", error.instance_path());
        }
    }
}

/// A change to a valid definition: where, and the new value (none removes it).
type Change = (&'static str, Option<Value>);

#[test]
fn what_has_a_fault_of_shape_does_not_match() {
    let validator = validator();
    let guard = "/transitions/0/guard";
    let timeout = "/transitions/1/guard";
    let leaf = |op: &str| json!({"field": "x", "op": op, "value": 1});
    let changes: Vec<Change> = vec![
        ("/machine_id", None),
        ("/machine_id", Some(json!(""))),
        ("/machine_id", Some(json!(7))),
        ("/contract", Some(json!("statewright.v2"))),
        ("/initial_state", None),
        ("/states", None),
        ("/states", Some(json!([]))),
        ("/states", Some(json!("shut"))),
        (
            "/regions",
            Some(json!([{"id": "r", "states": ["a"], "initial_state": "a"}])),
        ),
        ("/transitions", None),
        ("/colour", Some(json!("red"))),
        ("/transitions/0/from", None),
        ("/transitions/0/when", Some(json!("x"))),
        ("/transitions/0/on", Some(json!("$join"))),
        ("/transitions/0/on", Some(json!(""))),
        (guard, Some(json!("x"))),
        (guard, Some(json!({}))),
        (guard, Some(leaf("in"))),
        (guard, Some(json!({"field": "x", "op": "eq"}))),
        (guard, Some(json!({"op": "eq", "value": 1}))),
        (guard, Some(json!({"all": [], "any": []}))),
        (guard, Some(json!({"all": {}}))),
        (guard, Some(json!({"any": [leaf("GT")]}))),
        (guard, Some(json!({"timeout_seconds": 5}))),
        (timeout, None),
        (timeout, Some(json!(null))),
        (timeout, Some(leaf("eq"))),
        (timeout, Some(json!({"timeout_seconds": 0}))),
        (timeout, Some(json!({"timeout_seconds": 1.5}))),
        (timeout, Some(json!({"timeout_seconds": "5"}))),
        (timeout, Some(json!({"after_ms": 5, "timeout_seconds": 5}))),
        (timeout, Some(json!({"after_ms": 5, "field": "x"}))),
        (timeout, Some(json!({"after_ms": 5, "all": [], "any": []}))),
        (
            timeout,
            Some(json!({"after_ms": 5, "all": [], "field": "x", "op": "eq", "value": 1})),
        ),
        (timeout, Some(json!({"after_ms": 5, "all": [{"after_ms": 5}]}))),
        ("/sub_machines/open/lifecycle", Some(json!("legacy"))),
        ("/sub_machines/open/reentry", Some(json!("again"))),
        ("/sub_machines/open/complete_when/0/goal", Some(json!("x"))),
        (
            "/actions",
            Some(json!([{"on_enter": "open", "action": {"type": "mail"}}])),
        ),
        (
            "/actions",
            Some(json!([{"on_enter": "open", "action": {"type": "webhook"}}])),
        ),
        ("/actions", Some(json!([{"on_enter": "open"}]))),
    ];
    let webhook = |key: &str, value: Value| json!([{"on_enter": "open", "action": {"type": "webhook", "url": "https://example.com/", key: value}}]);
    let transition = |key: &str, value: Value| {
        let mut action =
            json!({"type": "transition", "machine_id": "n", "entity_id": "e", "event_type": "go"});
        action[key] = value;
        json!([{"on_enter": "open", "action": action}])
    };
    let many: Value = (0..33)
        .map(|n| (format!("h{n}"), json!("x")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let actions = [
        webhook("method", json!("FETCH")),
        webhook("headers", json!([])),
        webhook("headers", many),
        webhook("headers", json!({"a b": "x"})),
        webhook("headers", json!({"Webhook-Id": "x"})),
        webhook("headers", json!({"a": 1})),
        webhook("headers", json!({"a": {"prefix": "x"}})),
        webhook("headers", json!({"a": {"secret": "a/b"}})),
        webhook("headers", json!({"a": {"secret": "s", "value": "x"}})),
        webhook("signed", json!("no")),
        webhook("retries", json!(1)),
        transition("machine_id", json!("")),
        transition("entity_id", json!("")),
        transition("event_type", json!("$timeout")),
        transition("event_type", json!("")),
        transition("params", json!([])),
        transition("create", json!("no")),
        transition("to", json!("x")),
    ];
    let changes = changes
        .into_iter()
        .chain(actions.map(|actions| ("/actions", Some(actions))));
    for (pointer, value) in changes {
        let mut definition = door();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let place = definition.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match value.clone() {
            Some(value) => drop(place.insert(key.to_owned(), value)),
            None => drop(place.remove(key)),
        }
        assert!(
            Definition::read(&definition).is_err(),
            "{pointer} {value:?} reads without fault"
        );
        assert!(
            !validator.is_valid(&definition),
            "{pointer} {value:?} matches the schema"
        );
    }
}

#[test]
fn a_definition_is_written_back_without_loss() {
    let mut seed = common::in_seed(order());
    for key in ["broadcast", "joins"] {
        seed.as_object_mut().unwrap().remove(key);
    }
    let unknown = json!({"anything": [1, 2.5, null]});
    for pointer in [
        "",
        "/regions/0",
        "/transitions/0",
        "/actions/0",
        "/actions/0/action",
    ] {
        seed.pointer_mut(pointer).unwrap()["x-unknown"] = unknown.clone();
    }
    seed["transitions"][1]["guard"] = json!("malformed");
    let mut join = order()["joins"][0].clone();
    join.as_object_mut().unwrap().remove("trigger");
    join["actions"][0]["x-unknown"] = unknown;
    seed["joins"] = json!([join]);
    let mut shut = door();
    shut["transitions"][0].as_object_mut().unwrap().remove("guard");
    for document in [order(), shut, seed] {
        let valid = Definition::read(&document).unwrap_or_else(|faults| panic!("{faults:#?}"));
        let written = serde_json::to_value(&valid.definition).unwrap();
        assert_eq!(written, document);
        let again: Definition = serde_json::from_value(written).unwrap();
        assert_eq!(again, valid.definition);
    }
}

#[test]
fn server_keys_are_left_out_and_null_counts_as_left_out() {
    let mut document = door();
    document["revision"] = json!(4);
    document["label"] = json!(null);
    let written = serde_json::to_value(Definition::read(&document).unwrap().definition).unwrap();
    let mut expected = door();
    expected["transitions"][0]
        .as_object_mut()
        .unwrap()
        .remove("guard");
    assert_eq!(written, expected);
}
