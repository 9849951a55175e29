//! What reading a definition refuses, beyond what the conformance vectors say.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

use serde_json::{Value, json};
use statewright_core::definition::Definition;

fn paths(definition: &Value) -> Vec<String> {
    let faults = Definition::read(definition).map(|_| ()).unwrap_err();
    faults.into_iter().map(|fault| fault.path).collect()
}

#[test]
fn s2_40_s2_41_no_name_is_empty() {
    let flat = json!({
        "machine_id": "m", "states": ["a", "b"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "b", "on": "go"}],
        "actions": [{"on_enter": "a", "action": {"type": "event", "event_type": "x"}}],
        "sub_machines": {"b": {"machine_id": "c", "lifecycle": "managed", "on_final": {"end": "a"}}}
    });
    let parallel = json!({
        "machine_id": "m", "regions": [{"id": "r", "states": ["a", "b"], "initial_state": "a"}],
        "transitions": [{"region": "r", "from": "a", "to": "b", "on": "go"}],
        "actions": [{"on_enter": "a", "region": "r", "action": {"type": "event", "event_type": "x"}}],
        "joins": [{"when": {"r": "b"}, "target_region": "r", "target_state": "a"}]
    });
    for contract in ["statewright.v1", "statemachine-e1e4.v1"] {
        for base in [&flat, &parallel] {
            let mut base = base.clone();
            base["contract"] = json!(contract);
            assert!(Definition::read(&base).is_ok());
            let mut pointers = Vec::new();
            strings(&base, String::new(), &mut pointers);
            for pointer in pointers {
                let mut broken = base.clone();
                *broken.pointer_mut(&pointer).unwrap() = json!("");
                assert!(Definition::read(&broken).is_err(), "{contract} {pointer}");
            }
        }
    }
    let mut nameless = flat;
    nameless["sub_machines"] = json!({"": {"machine_id": "c"}});
    assert_eq!(paths(&nameless), ["$.sub_machines"]);
    let mut nowhere = parallel;
    nowhere["joins"][0]["when"] = json!({"": "a"});
    assert_eq!(paths(&nowhere), ["$.joins[0].when"]);
    nowhere["joins"][0]["when"] = json!({"r": ""});
    assert_eq!(paths(&nowhere), ["$.joins[0].when.r"]);
}

#[test]
fn what_is_listed_is_bounded() {
    let transitions: Vec<Value> = (0..1000)
        .map(|_| json!({"from": "a", "to": "x", "on": "go"}))
        .collect();
    let definition =
        json!({"machine_id": "m", "states": ["a"], "initial_state": "a", "transitions": transitions});
    let faults = Definition::read(&definition).map(|_| ()).unwrap_err();
    assert_eq!(faults.len(), 201);
    assert_eq!(faults[199].path, "$.transitions[199].to");
    assert_eq!(faults[200].problem, "800 more faults are not listed");
}

fn strings(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::String(_) => pointers.push(at),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, format!("{at}/{index}"), pointers);
            }
        }
        Value::Object(object) => {
            for (key, item) in object {
                strings(item, format!("{at}/{key}"), pointers);
            }
        }
        _ => {}
    }
}

#[test]
fn what_cannot_be_read_is_not_reported_as_missing_too() {
    let mut definition =
        json!({"machine_id": "m", "states": {"a": {}}, "initial_state": "a", "transitions": []});
    assert_eq!(paths(&definition), ["$.states"]);
    definition["states"] = json!(["a"]);
    definition["initial_state"] = json!(5);
    assert_eq!(paths(&definition), ["$.initial_state"]);
    let definition = json!({"machine_id": "m", "regions": {"r": {}}, "transitions": []});
    assert_eq!(paths(&definition), ["$.regions"]);
}
