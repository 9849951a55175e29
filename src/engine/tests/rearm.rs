//! Due times are worked out anew after a revision superseded another: at once where an entry is read, and by passes in the
//! index (design 6, M5, I5).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use statewright_engine::{DefinitionCache, Engine};
use support::expiring::{event, expiring, in_state, machine, make, number, tick};
use support::faults::Faulty;
use support::world::{World, delete, delete_machine, evaluate, put, wider};
use support::{Counted, START, block_on, tenant};

fn expiring_after(seconds: u32) -> Value {
    let mut definition = expiring();
    definition["transitions"][0]["guard"]["timeout_seconds"] = json!(seconds);
    definition
}

#[test]
fn i5_a_new_head_with_longer_timeouts_does_not_fire_by_the_old_ones() {
    let world = World::new();
    machine(&world, "t1", &expiring());
    for entity in ["e", "f"] {
        make(&world, "t1", entity);
    }
    assert_eq!(put(&world.other, &expiring_after(60), "follow").0, 200);
    // Before any pass has re-armed it, the index still says 10 s.
    world.at(15_000);
    let (_, answer) = evaluate(&world.engine, "expiring", &event("f", "none"));
    assert_eq!(
        (&answer["current_state"], &answer["timeouts_fired"]),
        (&json!("open"), &Value::Null)
    );
    let report = tick(&world);
    assert_eq!((report.due, report.fired), (2, 0), "{report:?}");
    assert_eq!(
        number(&world, "SELECT min(wake_at) FROM entries"),
        Some(START + 60_000)
    );
    world.at(59_999);
    assert_eq!(tick(&world).scanned, 0);
    world.at(60_000);
    assert_eq!(tick(&world).fired, 2);
}

#[test]
fn design_6_re_arming_is_bounded_and_goes_on_where_it_stood() {
    let world = World::new();
    machine(&world, "t1", &expiring_after(1_000));
    for i in 0..450 {
        make(&world, "t1", &format!("e{i:03}"));
    }
    machine(&world, "t2", &expiring_after(1_000));
    make(&world, "t2", "e");
    assert_eq!(put(&world.other, &expiring(), "follow").0, 200);
    let body = expiring().to_string();
    block_on(
        world
            .other
            .put_machine(&tenant("t2"), "expiring", body.as_bytes(), None),
    )
    .unwrap();
    world.at(5_000);
    let mut rearmed = Vec::new();
    for pass in 0..4 {
        // Each by a program that has just started.
        let engine = Engine::new(
            Faulty::new(world.sqlite.clone()),
            world.clock.clone(),
            Counted::from(100 + pass),
            DefinitionCache::default(),
        );
        let report = block_on(engine.tick()).unwrap();
        assert_eq!(report.fired, 0, "{report:?}");
        rearmed.push(report.rearmed);
    }
    assert_eq!(rearmed, [200, 200, 50, 1]);
    assert_eq!(world.sqlite.count("rearms"), 0);
    assert_eq!(
        world
            .sqlite
            .count(&format!("entries WHERE wake_at = {}", START + 10_000)),
        451
    );
    assert_eq!(tick(&world).rearmed, 0);
}

#[test]
fn design_6_what_became_due_by_a_shorter_timeout_fires_once_it_is_re_armed() {
    let world = World::new();
    machine(&world, "t1", &expiring_after(1_000));
    make(&world, "t1", "e");
    make(&world, "t1", "f");
    world.at(30_000);
    assert_eq!(put(&world.other, &expiring(), "follow").0, 200);
    // An event sees it at once (M5), a pass when it gets there.
    let (_, answer) = evaluate(&world.engine, "expiring", &event("f", "renew"));
    assert_eq!(
        (&answer["timeouts_fired"], &answer["transition"]),
        (&json!(1), &json!("expired → open"))
    );
    tick(&world);
    tick(&world);
    assert_eq!(in_state(&world, "expired"), BTreeSet::from(["t1/e".to_owned()]));
    assert_eq!(
        number(&world, "SELECT entered_at FROM entries WHERE entity_id = 'e'"),
        Some(START + 10_000)
    );
}

#[test]
fn design_6_re_arming_is_for_those_that_follow_and_ends_with_its_machine() {
    let world = World::new();
    machine(&world, "t1", &expiring_after(100));
    make(&world, "t1", "pinned");
    assert_eq!(put(&world.other, &expiring(), "pin").0, 200);
    assert_eq!(
        world.sqlite.count("rearms"),
        0,
        "pinned entities keep their timers"
    );
    assert_eq!(put(&world.other, &wider(expiring_after(20)), "follow").0, 200);
    assert_eq!(tick(&world).rearmed, 0);
    assert_eq!(
        number(&world, "SELECT wake_at FROM entries"),
        Some(START + 100_000)
    );
    assert_eq!(
        put(&world.other, &expiring(), "follow").0,
        200,
        "the pinned one has no say"
    );
    tick(&world);
    assert_eq!(
        number(&world, "SELECT wake_at FROM entries"),
        Some(START + 100_000)
    );
}

#[test]
fn a_machine_without_entities_leaves_nothing_to_re_arm() {
    let world = World::new();
    machine(&world, "t1", &expiring());
    assert_eq!(put(&world.other, &expiring_after(20), "follow").0, 200);
    assert_eq!(world.sqlite.count("rearms"), 0);
    make(&world, "t1", "e");
    assert_eq!(put(&world.other, &expiring_after(30), "follow").0, 200);
    assert_eq!(world.sqlite.count("rearms"), 1);
    delete(&world.other, "expiring", "e");
    assert_eq!(delete_machine(&world.other, "expiring").0, 204);
    assert_eq!(world.sqlite.count("rearms"), 0);
}
