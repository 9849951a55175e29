//! Why not: candidates, failing clauses, waiting joins, the next timeout, and the events that an entity can take.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;

use common::{NOW, event, in_seed, machine, send, tree};
use serde_json::{Value, json};
use statewright_core::explain::{events, explain};
use statewright_core::ids::Millis;
use statewright_core::step::Event;
use statewright_core::tree::EntityIx;

fn why(definition: &Value, context: Value, event: &Event) -> Value {
    let tree = tree(&machine(definition), context);
    serde_json::to_value(explain(&tree, EntityIx::ROOT, event, false, NOW)).unwrap()
}

fn loan() -> Value {
    json!({
        "machine_id": "loan", "states": ["asked", "granted", "refused"], "initial_state": "asked",
        "transitions": [
            {"from": "asked", "to": "granted", "on": "decide", "guard": {"all": [
                {"field": "score", "op": "gte", "value": 700},
                {"any": [{"field": "income", "op": "gt", "value": 1000}, {"field": "vip", "op": "eq", "value": true}]}
            ]}},
            {"from": "asked", "to": "refused", "on": "decide", "guard": {"field": "score", "op": "lt", "value": 500}},
            {"from": "refused", "to": "asked", "on": "appeal"},
            {"from": "granted", "to": "asked", "on": "decide"}
        ]
    })
}

#[test]
fn each_failing_clause_says_what_it_saw_and_where() {
    let why = why(
        &loan(),
        json!({"income": "900"}),
        &event("decide", json!({"score": 600})),
    );
    assert_eq!(
        why,
        json!({
            "entity_id": "e-1", "machine_id": "loan", "event_type": "decide", "current_state": "asked",
            "would": "no_transition",
            "candidates": [
                {"index": 0, "from": "asked", "to": "granted", "label": "asked → granted",
                 "state_matches": true, "passes": false, "taken": false, "clauses": [
                    {"path": "guard.all[0]", "field": "score", "op": "gte", "expected": 700, "seen": 600, "source": "param"},
                    {"path": "guard.all[1].any[0]", "field": "income", "op": "gt", "expected": 1000, "seen": "900", "source": "context"},
                    {"path": "guard.all[1].any[1]", "field": "vip", "op": "eq", "expected": true, "source": "absent"}
                 ]},
                {"index": 1, "from": "asked", "to": "refused", "label": "asked → refused",
                 "state_matches": true, "passes": false, "taken": false, "clauses": [
                    {"path": "guard", "field": "score", "op": "lt", "expected": 500, "seen": 600, "source": "param"}
                 ]},
                {"index": 3, "from": "granted", "to": "asked", "label": "granted → asked",
                 "state_matches": false, "passes": true, "taken": false, "clauses": []}
            ],
            "joins": []
        })
    );
}

#[test]
fn a_member_of_a_passing_any_is_no_failing_clause() {
    let why = why(
        &loan(),
        json!({}),
        &event("decide", json!({"score": 1, "vip": true})),
    );
    let paths: Vec<_> = why["candidates"][0]["clauses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|clause| clause["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["guard.all[0]"]);
    assert_eq!(why["would"], "transition");
    assert_eq!(why["transition"], "asked → refused");
    assert_eq!(why["candidates"][1]["taken"], true);
}

#[test]
fn explaining_changes_nothing() {
    let machine = machine(&loan());
    let tree = tree(&machine, json!({}));
    let before = format!("{tree:?}");
    explain(
        &tree,
        EntityIx::ROOT,
        &event("decide", json!({"score": 1})),
        false,
        NOW,
    );
    events(&tree, EntityIx::ROOT, NOW);
    assert_eq!(format!("{tree:?}"), before);
}

#[test]
fn an_unknown_event_has_no_candidates() {
    let why = why(&loan(), json!({}), &event("nothing", json!({})));
    assert_eq!(why["would"], "no_transition");
    assert_eq!(why["candidates"], json!([]));
}

#[test]
fn a_refusal_carries_its_code() {
    let stale = Event {
        expected_version: Some(7),
        ..event("decide", json!({"score": 1}))
    };
    let stale = why(&loan(), json!({}), &stale);
    assert_eq!(stale["would"], "refused");
    assert_eq!(stale["refusal"]["code"], "VERSION_CONFLICT");
    assert!(stale.get("transition").is_none());

    let reserved = why(&loan(), json!({}), &event("$timeout", json!({})));
    assert_eq!(reserved["refusal"]["code"], "BAD_REQUEST", "R6");
}

fn seed_guard(guard: &Value) -> Value {
    in_seed(json!({
        "machine_id": "m", "states": ["a", "b"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "b", "on": "go", "guard": guard}]
    }))
}

#[test]
fn guards_that_their_form_decides_say_why() {
    let reason = |guard: Value| {
        let why = why(&seed_guard(&guard), json!({}), &event("go", json!({"x": "5"})));
        assert_eq!(why["would"], "no_transition", "{guard}");
        let clauses = why["candidates"][0]["clauses"].clone();
        assert_eq!(clauses.as_array().unwrap().len(), 1, "{clauses}");
        (
            clauses[0]["path"].as_str().unwrap().to_owned(),
            clauses[0]["reason"].as_str().unwrap().to_owned(),
        )
    };
    let (path, text) = reason(json!({"any": [{"field": "x", "op": "in", "value": [5]}]}));
    assert_eq!(path, "guard.any[0]");
    assert!(text.contains("operator is unknown"), "S2.62: {text}");
    let (path, text) = reason(json!({"timeout_seconds": 5}));
    assert_eq!(path, "guard");
    assert!(text.contains("timeout_seconds"), "S2.74: {text}");
    let (path, text) = reason(json!({"any": []}));
    assert_eq!(path, "guard.any");
    assert!(text.contains("nothing"), "S2.64: {text}");
    let (_, text) = reason(json!({"field": "x", "op": "eq", "value": 5}));
    assert!(text.contains("compared as a float"), "S2.67: {text}");
    let (_, text) = reason(json!({"field": "x", "op": "gt", "value": "many"}));
    assert!(text.contains("float"), "S2.67: {text}");
    let passing = why(
        &seed_guard(&json!("malformed")),
        json!({}),
        &event("go", json!({})),
    );
    assert_eq!(passing["would"], "transition", "S2.70");
    assert_eq!(passing["candidates"][0]["clauses"], json!([]));
}

#[test]
fn a_large_value_is_not_repeated_in_every_clause() {
    let seen = |value: Value| {
        let why = why(&loan(), json!({}), &event("decide", json!({"score": value})));
        why["candidates"][1]["clauses"][0].clone()
    };
    let text = seen(json!("x".repeat(60_000)));
    assert!(text["seen"].as_str().unwrap().len() < 100);
    assert!(text["reason"].as_str().unwrap().contains("too large"));
    assert_eq!(seen(json!(vec![1; 10_000]))["seen"], "[...]");
    assert_eq!(seen(json!({"k": vec!["x"; 10_000]}))["seen"], "{...}");
    let small = seen(json!({"k": [1, "x"]}));
    assert_eq!(small["seen"], json!({"k": [1, "x"]}));
    assert!(small.get("reason").is_none());
}

fn order() -> Value {
    json!({
        "machine_id": "order",
        "regions": [
            {"id": "payment", "states": ["pending", "captured"], "initial_state": "pending"},
            {"id": "fulfillment", "states": ["open", "packed", "complete", "stale"], "initial_state": "open"}
        ],
        "transitions": [
            {"region": "payment", "from": "pending", "to": "captured", "on": "pay"},
            {"region": "payment", "from": "captured", "to": "pending", "on": "refund"},
            {"region": "fulfillment", "from": "open", "to": "packed", "on": "pack"},
            {"region": "fulfillment", "from": "packed", "to": "open", "on": "pay"},
            {"region": "fulfillment", "from": "open", "to": "stale", "on": "$timeout", "guard":
                {"timeout_seconds": 5, "field": "hurry", "op": "eq", "value": true}},
            {"region": "fulfillment", "from": "open", "to": "stale", "on": "$timeout", "guard": {"after_ms": 9000}}
        ],
        "joins": [{"when": {"payment": "captured", "fulfillment": "packed"}, "target_region": "fulfillment",
                   "target_state": "complete"}]
    })
}

#[test]
fn joins_say_what_is_missing() {
    let why = why(&order(), json!({}), &event("pay", json!({})));
    assert_eq!(
        why["current_state"],
        json!({"payment": "pending", "fulfillment": "open"})
    );
    assert_eq!(
        why["joins"],
        json!([{"index": 0, "target_region": "fulfillment", "target_state": "complete", "missing": [
            {"region": "payment", "state": "captured", "current": "pending"},
            {"region": "fulfillment", "state": "packed", "current": "open"}
        ]}])
    );
    assert_eq!(why["candidates"][0]["region"], "payment");
    assert_eq!(why["transition"], "payment: pending → captured");
}

#[test]
fn a_join_that_fired_is_not_waited_for() {
    let mut tree = tree(&machine(&order()), json!({}));
    send(&mut tree, "pay", json!({}), NOW);
    send(&mut tree, "pack", json!({}), NOW);
    let why = explain(&tree, EntityIx::ROOT, &event("pay", json!({})), false, NOW);
    assert_eq!(why.joins, []);
    assert_eq!(why.next_timeout, None, "no timer is left");
}

#[test]
fn m6_the_next_timeout_is_the_first_whose_conditions_hold() {
    let next = |context| why(&order(), context, &event("x", json!({})))["next_timeout"].clone();
    let timeout = |at: i64| json!({"at": NOW.0 + at, "region": "fulfillment", "from": "open", "to": "stale"});
    assert_eq!(next(json!({"hurry": true})), timeout(5000));
    assert_eq!(next(json!({})), timeout(9000));
}

#[test]
fn the_seed_s_next_timeout_may_be_overdue() {
    let definition = in_seed(json!({
        "machine_id": "m", "states": ["a", "b"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "b", "on": "$timeout", "guard": {"timeout_seconds": 5}}]
    }));
    let tree = tree(&machine(&definition), json!({}));
    let late = Millis(NOW.0 + 60_000);
    let why = explain(&tree, EntityIx::ROOT, &event("go", json!({})), false, late);
    assert_eq!(why.next_timeout.unwrap().at, Millis(NOW.0 + 5000));
}

#[test]
fn the_events_an_entity_can_take_by_its_states() {
    let tree = tree(&machine(&order()), json!({}));
    assert_eq!(
        serde_json::to_value(events(&tree, EntityIx::ROOT, NOW)).unwrap(),
        json!([
            {"event_type": "pay", "region": "payment", "from": "pending", "to": "captured", "index": 0,
             "guarded": false, "label": "payment: pending → captured",
             "machine_id": "order", "entity_id": "e-1", "target": []},
            {"event_type": "pack", "region": "fulfillment", "from": "open", "to": "packed", "index": 2,
             "guarded": false, "label": "fulfillment: open → packed",
             "machine_id": "order", "entity_id": "e-1", "target": []}
        ])
    );
}

#[test]
fn an_event_taken_by_an_earlier_unguarded_transition_is_listed_once() {
    let indexes = |definition: &Value, given: &str| -> Vec<usize> {
        let mut tree = tree(&machine(definition), json!({}));
        send(&mut tree, given, json!({}), NOW);
        let possible = events(&tree, EntityIx::ROOT, NOW).into_iter();
        possible.map(|event| event.index).collect()
    };
    // In `packed` both 0 and 3 take `pay`; 0 always does.
    assert_eq!(indexes(&order(), "pack"), [0]);
    // As a broadcast each region has its own first match (M16).
    let mut broadcast = order();
    broadcast["broadcast"] = json!(["pay"]);
    assert_eq!(indexes(&broadcast, "pack"), [0, 3]);
}

#[test]
fn guarded_and_impossible_transitions_are_told_apart() {
    let possible = |guard: &Value| {
        let tree = tree(&machine(&seed_guard(guard)), json!({}));
        events(&tree, EntityIx::ROOT, NOW)
    };
    assert!(possible(&json!({"field": "x", "op": "eq", "value": 1}))[0].guarded);
    assert!(
        !possible(&json!("malformed"))[0].guarded,
        "S2.70: it always passes"
    );
    assert_eq!(
        possible(&json!({"field": "x", "op": "in", "value": 1})),
        [],
        "S2.62"
    );
}

#[test]
fn s2_74_a_client_s_timeout_event_does_not_take_a_timer_in_the_seed() {
    let definition = |guard: Value| {
        in_seed(json!({
            "machine_id": "m", "states": ["a", "b"], "initial_state": "a",
            "transitions": [{"from": "a", "to": "b", "on": "$timeout", "guard": guard}]
        }))
    };
    let would =
        |guard: Value| why(&definition(guard), json!({}), &event("$timeout", json!({})))["would"].clone();
    assert_eq!(would(json!({"timeout_seconds": 5})), "no_transition");
    assert_eq!(would(json!({"timeout_seconds": 1.5})), "no_transition");
    assert_eq!(would(json!({"all": []})), "transition");
}
