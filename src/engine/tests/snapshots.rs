//! A live entity that is read from the service, with its tree, is a snapshot: the core goes on from it as the service does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use statewright_core::ids::Millis;
use statewright_core::snapshot::{Blueprint, Snapshot};
use support::START;
use support::block_on;
use support::families::{chain, make, register_all, shop, wide};
use support::world::{World, reply, t1};

/// Numbers by chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// Without the ids of rows, which only a service gives.
fn without_rows(mut answer: Value) -> Value {
    for life in answer["instances"].as_array_mut().into_iter().flatten() {
        life["row"] = Value::Null;
        life.as_object_mut().unwrap().remove("parent_row");
    }
    answer
}

/// Sends events to an entity of the service, and to what the service shows of it before each.
fn agree(mut definitions: Vec<Value>, events: &[&str], targets: &[Value], seed: u64) {
    let world = World::new();
    register_all(&world.engine, &definitions);
    // The root's machine is the last.
    definitions.reverse();
    let root = definitions[0]["machine_id"].as_str().unwrap().to_owned();
    let blueprint = Blueprint::compile(&definitions).unwrap();
    assert_eq!(make(&world.engine, &root, "e").0, 201);
    let (mut chance, mut moved) = (Chance(seed), 0);
    for step in 0_i64..150 {
        let now = step * 3_000;
        world.at(now);
        let shown = block_on(world.other.get_tree(&t1(), &root, "e")).unwrap();
        let shown = serde_json::to_value(shown).unwrap();
        let snapshot = Snapshot::read(&shown).unwrap();
        let mut living = blueprint
            .restore(&snapshot)
            .unwrap_or_else(|error| panic!("{error}\n{shown:#}"));
        let event = json!({
            "event_type": events[chance.below(events.len())],
            "target": targets[chance.below(targets.len())],
            "params": {"n": step},
        });
        let sent = living.send(&event, &[], Millis(START + now)).unwrap();
        let (status, body) = reply(
            200,
            block_on(
                world
                    .engine
                    .transition(&t1(), &root, "e", event.to_string().as_bytes()),
            ),
        );
        match (&sent.answer, &sent.error) {
            (Some(answer), None) => {
                let answer = without_rows(serde_json::to_value(answer).unwrap());
                assert_eq!((status, without_rows(body)), (200, answer), "{event}\n{shown:#}");
            }
            (None, Some(error)) => assert_eq!(body["error"], json!(error), "{event}\n{shown:#}"),
            other => panic!("{other:?}"),
        }
        moved += i32::from(sent.commit.is_some());
    }
    assert!(moved > 10, "{moved} events moved something");
}

#[test]
fn a_chain_of_children_that_wake_or_are_made_afresh() {
    let targets = [
        Value::Null,
        json!([]),
        json!([{"state": "busy"}]),
        json!([{"state": "busy"}, {"state": "busy"}]),
        json!([{"state": "busy"}, {"state": "busy"}, {"state": "busy"}]),
    ];
    for (reentry, seed) in [("resume", 1), ("fresh", 2), ("resume", 3)] {
        let events = ["step", "note", "drop", "again", "again", "again"];
        agree(chain(3, reentry), &events, &targets, seed);
    }
}

#[test]
fn many_children_that_come_and_go_at_once() {
    let targets = [
        Value::Null,
        json!([{"region": "y", "state": "y0"}]),
        json!([{"region": "y", "state": "y0"}, {"region": "r0", "state": "b0"}]),
    ];
    for (reentry, seed) in [("resume", 4), ("fresh", 5)] {
        agree(
            wide(3, reentry),
            &["stop", "go", "step", "note", "pull", "go"],
            &targets,
            seed,
        );
    }
}

#[test]
fn a_legacy_child_that_outlives_its_state() {
    let events = ["start", "picked", "packed", "back", "drop", "again", "note"];
    for seed in [6, 7] {
        agree(shop(), &events, &[Value::Null, Value::Null, json!([])], seed);
    }
}
