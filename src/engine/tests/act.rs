//! Several events that stand or fall together (S4.1, S4.3, S4.57; I1, I2, I3).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::rc::Rc;

use serde_json::{Value, json};
use support::block_on;
use support::families::{chain, path, register_all, view};
use support::faults::{Fault, writes};
use support::world::{Reply, World, WorldEngine, assert_same, reply, t1};

fn order() -> Value {
    json!({
        "machine_id": "order",
        "states": ["pending", "paid", "shipped", "late"],
        "initial_state": "pending",
        "transitions": [
            {"from": "pending", "to": "paid", "on": "pay", "guard": {"field": "amount", "op": "gt", "value": 0}},
            {"from": "paid", "to": "shipped", "on": "ship"},
            {"from": "pending", "to": "late", "on": "$timeout", "guard": {"timeout_seconds": 5}}
        ]
    })
}

fn world() -> Rc<World> {
    let world = World::new();
    register_all(&world.other, &[order()]);
    world
}

fn act(engine: &WorldEngine, machine: &str, id: &str, body: &Value) -> Reply {
    let body = body.to_string();
    reply(200, block_on(engine.act(&t1(), machine, id, body.as_bytes())))
}

fn versions(version: u64) -> Value {
    json!([["order", "o", version]])
}

fn both(version: u64) -> Value {
    json!({
        "versions": versions(version),
        "events": [
            {"event_type": "pay", "params": {"amount": 5}, "timestamp": 1},
            {"event_type": "ship", "timestamp": 2}
        ]
    })
}

fn made(world: &World) {
    assert_eq!(
        act(&world.other, "order", "o", &json!({"create": {"by": "me"}})).0,
        200
    );
}

#[test]
fn s4_1_the_events_of_an_act_are_applied_in_one_batch() {
    let world = world();
    made(&world);
    world.sqlite.taken();
    let (status, answer) = act(&world.engine, "order", "o", &both(1));
    assert_eq!(status, 200, "{answer}");
    let batches = world.sqlite.taken();
    assert_eq!(batches.iter().filter(|batch| writes(batch)).count(), 1);
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["state_version"], 2);
    assert_eq!(results[1]["state_version"], 3);
    let order = view(&world, "order", "o");
    assert_eq!(order["current_state"], "shipped");
    assert_eq!(order["context"], json!({"by": "me", "amount": 5}));
}

#[test]
fn s4_3_making_succeeds_only_if_nobody_else_made_it() {
    let world = world();
    let body = json!({
        "create": {"by": "me"},
        "events": [{"event_type": "pay", "params": {"amount": 1}, "timestamp": 1}]
    });
    let (status, answer) = act(&world.engine, "order", "o", &body);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["results"][0]["state_version"], 2);
    let stored = world.stored();
    let (status, answer) = act(&world.engine, "order", "o", &json!({"create": {}}));
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("CONFLICT")));
    let (status, answer) = act(&world.engine, "order", "none", &both(1));
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("NOT_FOUND")));
    assert_same(&world.stored(), &stored, "refused");
}

#[test]
fn s4_57_one_event_that_is_refused_or_moves_nothing_leaves_none() {
    let world = world();
    made(&world);
    let stored = world.stored();
    let pay = json!({"event_type": "pay", "params": {"amount": 5}});
    for (bad, code) in [
        (
            json!({"event_type": "pay", "params": {"amount": 5}}),
            "BAD_REQUEST",
        ),
        (json!({"event_type": "$timeout"}), "BAD_REQUEST"),
        (
            json!({"event_type": "ship", "expected_version": 9}),
            "VERSION_CONFLICT",
        ),
        (json!({"event_type": 7}), "BAD_REQUEST"),
        (json!(7), "BAD_REQUEST"),
    ] {
        for events in [json!([pay, bad]), json!([pay, bad, pay])] {
            let (status, answer) = act(
                &world.engine,
                "order",
                "o",
                &json!({"versions": versions(1), "events": events}),
            );
            assert!((400..500).contains(&status), "{status} {answer}");
            assert_eq!(answer["error"]["code"], code, "{bad}");
            assert_same(&world.stored(), &stored, &bad.to_string());
        }
    }
    for body in [
        json!({"events": 1}),
        json!({"create": 1}),
        json!({"versions": [1]}),
        json!({"more": 1}),
    ] {
        assert_eq!(act(&world.engine, "order", "o", &body).0, 400, "{body}");
    }
}

#[test]
fn i2_another_version_is_a_conflict() {
    let world = world();
    made(&world);
    let stored = world.stored();
    for version in [0, 2] {
        let (status, answer) = act(&world.engine, "order", "o", &both(version));
        assert_eq!(status, 409);
        assert_eq!(answer["error"]["code"], "VERSION_CONFLICT");
        assert_eq!(answer["error"]["actual"], 1);
    }
    assert_same(&world.stored(), &stored, "refused");
}

#[test]
fn i1_an_act_that_was_applied_before_is_a_duplicate_as_a_whole() {
    let world = world();
    made(&world);
    assert_eq!(act(&world.engine, "order", "o", &both(1)).0, 200);
    let stored = world.stored();
    let (status, answer) = act(&world.engine, "order", "o", &both(1));
    assert_eq!(status, 200, "{answer}");
    for result in answer["results"].as_array().unwrap() {
        assert_eq!(result["reason"], "duplicate event (already processed)");
    }
    assert_same(&world.stored(), &stored, "again");
}

#[test]
fn i5_timers_that_are_due_fire_before_the_versions_are_compared() {
    let world = world();
    made(&world);
    world.at(5_000);
    let stored = world.stored();
    let (status, answer) = act(&world.engine, "order", "o", &both(1));
    assert_eq!((status, &answer["error"]["actual"]), (409, &json!(2)));
    assert_same(&world.stored(), &stored, "a refused act writes no timeout either");
    assert_eq!(
        act(&world.engine, "order", "o", &json!({"versions": versions(2)})).0,
        200
    );
    assert_eq!(view(&world, "order", "o")["current_state"], "late");
}

#[test]
fn the_versions_of_children_are_compared_too() {
    let world = World::new();
    register_all(&world.other, &chain(2, "refuse"));
    assert_eq!(act(&world.engine, "l0", "e", &json!({"create": {}})).0, 200);
    let tree = view(&world, "l0", "e");
    assert_eq!(tree["state_version"], 1);
    let leaf = support::families::at_level("e", 2);
    let machine = support::families::machine_at(2, 2);
    let body = |version: u64| {
        json!({
            "versions": [["l0", "e", 1], [machine, leaf, version]],
            "events": [{"event_type": "step", "target": path(2), "timestamp": 1}]
        })
    };
    let (status, answer) = act(&world.engine, "l0", "e", &body(2));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("VERSION_CONFLICT")),
        "{answer}"
    );
    let (status, answer) = act(&world.engine, "l0", "e", &body(1));
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn i1_i3_a_fault_at_any_batch_of_an_act() {
    let clean = world();
    made(&clean);
    let before = clean.stored();
    clean.sqlite.taken();
    let expected = act(&clean.engine, "order", "o", &both(1));
    let batches = clean.sqlite.taken().len();
    let after = clean.stored();
    let mut checked = 0;
    for place in 0..batches {
        for fault in [Fault::Before, Fault::After, Fault::Late, Fault::Stray] {
            let world = world();
            made(&world);
            world.faulty.arm([(place, fault)]);
            let (status, answer) = act(&world.engine, "order", "o", &both(1));
            world.faulty.land();
            if status == 200 {
                assert_eq!(answer, expected.1);
                assert_same(&world.stored(), &after, "applied once");
            } else {
                assert_eq!(answer["error"]["retry"], true, "{answer}");
                assert_same(&world.stored(), &before, "nothing");
            }
            checked += 1;
        }
    }
    assert!(checked >= 8, "{checked}");
}

#[test]
fn i2_of_two_acts_on_one_version_one_wins() {
    let world = world();
    made(&world);
    let other = Rc::clone(&world);
    let body = json!({
        "versions": versions(1),
        "events": [{"event_type": "pay", "params": {"amount": 1}, "timestamp": 9}]
    });
    world.faulty.arm([(
        1,
        Fault::Meanwhile(Rc::new(move || {
            let (status, answer) = act(&other.other, "order", "o", &body);
            assert_eq!(status, 200, "{answer}");
        })),
    )]);
    let (status, answer) = act(&world.engine, "order", "o", &both(1));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("VERSION_CONFLICT"))
    );
    assert_eq!(view(&world, "order", "o")["current_state"], "paid");
}

#[test]
fn i1_an_act_with_an_event_that_was_applied_before_is_refused_whole() {
    let world = world();
    made(&world);
    let note = |timestamp: i64| json!({"event_type": "pay", "params": {"amount": 5}, "timestamp": timestamp});
    let (status, answer) = act(&world.engine, "order", "o", &json!({"events": [note(5)]}));
    assert_eq!(status, 200, "{answer}");
    let stored = world.stored();
    // `ship` was decided after a `pay` that the caller took for new; the versions it decided on are long gone.
    let mixed = json!({"versions": versions(1), "events": [note(5), {"event_type": "ship"}]});
    let (status, answer) = act(&world.engine, "order", "o", &mixed);
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("VERSION_CONFLICT"))
    );
    let mixed = json!({"versions": versions(2), "events": [note(5), {"event_type": "ship"}]});
    let (status, answer) = act(&world.engine, "order", "o", &mixed);
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("EVENT_IDENTITY_CONFLICT"))
    );
    let decided = json!({"versions": versions(2), "events": [note(5)],
        "becomes": [{"state_version": 3, "current_state": "paid"}]});
    let (status, answer) = act(&world.engine, "order", "o", &decided);
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("EVENT_IDENTITY_CONFLICT"))
    );
    assert_same(&world.stored(), &stored, "refused");
    let (status, answer) = act(
        &world.engine,
        "order",
        "o",
        &json!({"versions": versions(1), "events": [note(5)]}),
    );
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["results"][0]["reason"],
        "duplicate event (already processed)"
    );
    assert_same(&world.stored(), &stored, "replayed");
}

#[test]
fn s4_1_an_act_that_leads_elsewhere_than_was_decided_is_refused() {
    let world = world();
    made(&world);
    let stored = world.stored();
    let pay = json!([{"event_type": "pay", "params": {"amount": 5}}]);
    for (becomes, status, code) in [
        (
            json!([{"state_version": 3, "current_state": "paid"}]),
            409,
            "VERSION_CONFLICT",
        ),
        (
            json!([{"state_version": 2, "current_state": "shipped"}]),
            400,
            "BAD_REQUEST",
        ),
        (
            json!([{"state_version": 2, "current_state": {"_": "paid"}}]),
            400,
            "BAD_REQUEST",
        ),
        (
            json!([{"state_version": 2, "current_state": "paid"}, {"state_version": 3, "current_state": "paid"}]),
            400,
            "BAD_REQUEST",
        ),
        (json!([{"state_version": "2"}]), 400, "BAD_REQUEST"),
    ] {
        let body = json!({"versions": versions(1), "events": pay, "becomes": becomes});
        let (actual, answer) = act(&world.engine, "order", "o", &body);
        assert_eq!(
            (actual, &answer["error"]["code"]),
            (status, &json!(code)),
            "{becomes}"
        );
        assert_same(&world.stored(), &stored, &becomes.to_string());
    }
    let body = json!({"versions": versions(1), "events": pay,
        "becomes": [{"state_version": 2, "current_state": "paid"}]});
    assert_eq!(act(&world.engine, "order", "o", &body).0, 200);
}
