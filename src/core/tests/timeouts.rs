//! Timeouts: what the reference model meets too rarely.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;

use common::{NOW, machine, send, states, tree};
use serde_json::json;
use statewright_core::entity::Timer;
use statewright_core::ids::Millis;
use statewright_core::timeouts::{CATCH_UP_LIMIT, catch_up, earliest};
use statewright_core::tree::EntityIx;

fn at(millis: i64) -> Millis {
    Millis(NOW.0 + millis)
}

#[test]
fn m6_what_was_refused_is_tried_again_when_the_next_is_due_and_first() {
    let machine = machine(&json!({
        "machine_id": "m", "states": ["a", "late", "soon"], "initial_state": "a",
        "transitions": [
            {"from": "a", "to": "late", "on": "$timeout", "guard": {"timeout_seconds": 5}},
            {"from": "a", "to": "soon", "on": "$timeout", "guard":
                {"timeout_seconds": 2, "field": "hurry", "op": "eq", "value": true}},
            {"from": "a", "to": "a", "on": "touch"}
        ]
    }));
    let mut waiting = tree(&machine, json!({}));
    let refused = catch_up(&mut waiting, at(3000), CATCH_UP_LIMIT);
    assert!(refused.commits.is_empty());
    assert_eq!(refused.moved.len(), 1, "its due time moved on");
    assert_eq!(earliest(&waiting).unwrap().due, at(5000));
    assert_eq!(waiting.root().version().0, 1, "a refusal writes no version");
}

#[test]
fn m6_of_several_that_are_due_the_shorter_delay_comes_first() {
    let machine = machine(&json!({
        "machine_id": "m",
        "regions": [
            {"id": "x", "states": ["a", "late", "soon"], "initial_state": "a"},
            {"id": "y", "states": ["b"], "initial_state": "b"}
        ],
        "transitions": [
            {"region": "x", "from": "a", "to": "late", "on": "$timeout", "guard": {"timeout_seconds": 5}},
            {"region": "x", "from": "a", "to": "soon", "on": "$timeout", "guard":
                {"timeout_seconds": 2, "field": "hurry", "op": "eq", "value": true}},
            {"region": "y", "from": "b", "to": "b", "on": "hurry"}
        ]
    }));
    let mut tree = tree(&machine, json!({}));
    catch_up(&mut tree, at(3000), CATCH_UP_LIMIT);
    send(&mut tree, "hurry", json!({"hurry": true}), at(3000));
    assert_eq!(
        earliest(&tree).unwrap().due,
        at(5000),
        "the context arms nothing anew"
    );
    catch_up(&mut tree, at(9000), CATCH_UP_LIMIT);
    assert_eq!(states(&tree)[0], "soon");
    let entry = tree.root().entries().next().unwrap().1;
    assert_eq!((entry.entered_at, &entry.timer), (at(5000), &Timer::Off), "R5");
}

#[test]
fn m5_there_is_a_limit_to_what_one_request_applies() {
    let machine = machine(&json!({
        "machine_id": "m", "states": ["a"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "a", "on": "$timeout", "guard": {"after_ms": 1}}]
    }));
    let mut tree = tree(&machine, json!({}));
    let first = catch_up(&mut tree, at(100), CATCH_UP_LIMIT);
    assert_eq!((first.commits.len(), first.more), (64, true));
    let second = catch_up(&mut tree, at(100), CATCH_UP_LIMIT);
    assert_eq!((second.commits.len(), second.more), (36, false));
    assert_eq!(tree.root().version().0, 101, "I2: each is a commit of its own");
}

#[test]
fn m6_a_timer_whose_commit_is_refused_is_parked_until_it_is_freed() {
    let machine = machine(&json!({
        "machine_id": "m",
        "regions": [
            {"id": "x", "states": ["a", "b"], "initial_state": "a"},
            {"id": "y", "states": ["c", "d"], "initial_state": "c"}
        ],
        "transitions": [{"region": "x", "from": "a", "to": "b", "on": "$timeout", "guard": {"after_ms": 10}}],
        "joins": [
            {"when": {"x": "b", "y": "c"}, "target_region": "y", "target_state": "d", "trigger": "level"},
            {"when": {"x": "b", "y": "d"}, "target_region": "y", "target_state": "c", "trigger": "level"}
        ]
    }));
    let mut tree = tree(&machine, json!({}));
    let done = catch_up(&mut tree, at(50), CATCH_UP_LIMIT);
    assert_eq!((done.commits.len(), done.parked, done.more), (0, 1, false), "M4");
    assert_eq!(states(&tree), ["a", "c"]);
    let Timer::Parked { due, error } = tree.root().entries().next().unwrap().1.timer.clone() else {
        panic!("it is parked");
    };
    assert_eq!(due, at(10));
    assert!(error.starts_with("JOIN_CASCADE_LIMIT: "), "{error}");
    assert_eq!(earliest(&tree), None, "it is not retried in a loop");
    assert_eq!(tree.entity_mut(EntityIx::ROOT).release_timers(), 1);
    assert_eq!(earliest(&tree).unwrap().due, at(10));
}
