//! Diagrams: golden texts, and names that mean something to Mermaid and Graphviz.
//!
//! `BLESS=1 cargo test -p statewright-core --test diagram` writes the files of `golden/` anew.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;

use common::{golden, in_seed, machine, send, tree};
use serde_json::{Value, json};
use statewright_core::diagram::{dot, mermaid};
use statewright_core::ids::Millis;

const MADE: &str = "made by `BLESS=1 cargo test -p statewright-core --test diagram`";

fn check(name: &str, definition: &Value, events: &[&str]) {
    let machine = machine(definition);
    let mut tree = tree(&machine, json!({}));
    for event in events {
        send(&mut tree, event, json!({"amount": 1000}), Millis(0));
    }
    let configuration = tree.root().configuration();
    let current = Some(&configuration);
    golden(
        &format!("tests/golden/{name}.mmd"),
        &format!("%% {MADE}\n{}", mermaid(&machine, current)),
    );
    golden(
        &format!("tests/golden/{name}.dot"),
        &format!("// {MADE}\n{}", dot(&machine, current)),
    );
}

fn order() -> Value {
    json!({
        "machine_id": "order",
        "regions": [
            {"id": "payment", "states": ["pending", "captured"], "initial_state": "pending"},
            {"id": "fulfillment", "states": ["open", "packed", "complete", "stale"], "initial_state": "open"}
        ],
        "transitions": [
            {"region": "payment", "from": "pending", "to": "captured", "on": "pay", "guard":
                {"all": [{"field": "amount", "op": "gte", "value": 1000},
                         {"any": [{"field": "currency", "op": "ne", "value": "EUR"}, {"field": "amount", "op": "lt", "value": 5000}]}]}},
            {"region": "fulfillment", "from": "open", "to": "packed", "on": "pack"},
            {"region": "fulfillment", "from": "open", "to": "stale", "on": "$timeout", "guard": {"timeout_seconds": 172_800}},
            {"region": "fulfillment", "from": "packed", "to": "stale", "on": "$timeout", "guard":
                {"after_ms": 1500, "field": "note", "op": "contains", "value": "now"}}
        ],
        "joins": [{"when": {"payment": "captured", "fulfillment": "packed"}, "target_region": "fulfillment",
                   "target_state": "complete"}]
    })
}

/// A machine with children of both kinds: where their ends lead is drawn like a transition (S2.156, S2.185, S2.186).
fn bundle() -> Value {
    json!({
        "machine_id": "bundle",
        "regions": [
            {"id": "b1", "states": ["idle", "ret_b1", "returned", "kept", "cancelled"], "initial_state": "idle",
             "sub_machines": {"ret_b1": {"machine_id": "return_case", "lifecycle": "managed", "complete_when": [
                {"when": {"case": "returned", "deadline": "closed"}, "target": "returned"},
                {"when": {"case": "kept", "deadline": "closed"}, "target": "kept"}]}}},
            {"id": "pack", "states": ["open", "packing", "packed"], "initial_state": "open",
             "sub_machines": {"packing": {"machine_id": "packing_flow", "on_final": {"labeled": "packed"}}}}
        ],
        "transitions": [
            {"region": "b1", "from": "idle", "to": "ret_b1", "on": "bundle.open"},
            {"region": "b1", "from": "ret_b1", "to": "cancelled", "on": "bundle.cancel_b1"},
            {"region": "pack", "from": "open", "to": "packing", "on": "pack"}
        ]
    })
}

/// Names that are keywords, syntax, markup or escapes of either language.
fn hostile() -> Value {
    let names = [
        "end",
        "[*]",
        "state \"x\" as y {",
        "}",
        "a : b; c",
        "--",
        "-->",
        "%% no comment",
        "<b>&lt;</b>",
        "#35;",
        "\\n\\",
        "<<choice>>",
        "note right of s0",
        "direction LR",
        "**bold** `code` _i_",
        "größe 日本 ﬂ°°35¶ß",
        "style : #f9f;",
        "classDef x fill:#f9f;",
        "'; DROP",
    ];
    let mut transitions: Vec<Value> = names
        .iter()
        .zip(names.iter().skip(1))
        .map(|(from, to)| json!({"from": from, "to": to, "on": from}))
        .collect();
    transitions.push(json!({"from": "}", "to": "end", "on": "end", "guard":
        {"field": "a\nb\"]", "op": "eq", "value": {"x": ["\n", "\u{2028}", "]\"--> ; :"]}}}));
    json!({"machine_id": "digraph \"{\" & <b>", "states": names, "initial_state": "end", "transitions": transitions})
}

#[test]
fn a_machine_with_children() {
    check("bundle", &bundle(), &[]);
}

#[test]
fn a_parallel_machine_with_an_entity() {
    check("order", &order(), &["pack"]);
}

#[test]
fn a_flat_machine_in_its_last_state() {
    let door = json!({
        "machine_id": "door", "states": ["shut", "open"], "initial_state": "shut",
        "transitions": [
            {"from": "shut", "to": "open", "on": "push"},
            {"from": "open", "to": "shut", "on": "$timeout", "guard": {"after_ms": 1500}},
            {"from": "open", "to": "open", "on": "hold"}
        ]
    });
    check("door", &door, &["push"]);
}

#[test]
fn guards_that_their_form_decides() {
    let seed = in_seed(json!({
        "machine_id": "seed", "states": ["a", "b"], "initial_state": "a",
        "transitions": [
            {"from": "a", "to": "b", "on": "open", "guard": "malformed"},
            {"from": "a", "to": "b", "on": "shut", "guard": {"field": "x", "op": "in", "value": []}},
            {"from": "a", "to": "b", "on": "none", "guard": {"any": []}},
            {"from": "b", "to": "a", "on": "$timeout", "guard": {"timeout_seconds": 0}},
            {"from": "b", "to": "a", "on": "$timeout"}
        ]
    }));
    check("seed", &seed, &[]);
}

#[test]
fn names_that_are_syntax_elsewhere() {
    check("hostile", &hostile(), &["end"]);
    let mut regions = json!({"machine_id": "[*]", "regions": [], "transitions": [], "joins": []});
    for name in ["end", "} --", "fork <<join>>"] {
        let region = json!({"id": name, "states": [name, "[*]"], "initial_state": name});
        regions["regions"].as_array_mut().unwrap().push(region);
        let transition = json!({"region": name, "from": name, "to": "[*]", "on": "}"});
        regions["transitions"].as_array_mut().unwrap().push(transition);
    }
    regions["joins"] = json!([{"when": {"end": "[*]", "} --": "} --"}, "target_region": "fork <<join>>", "target_state": "[*]"}]);
    check("hostile-regions", &regions, &["}"]);
}

#[test]
fn nothing_is_marked_without_an_entity() {
    let machine = machine(&order());
    assert!(!mermaid(&machine, None).contains("class"));
    assert!(!dot(&machine, None).contains("filled"));
}
