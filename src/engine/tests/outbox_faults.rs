//! Deliveries that are disturbed: processes killed at any of their awaits, batches that fail, whose answers are lost, or
//! that come late. Every effect arrives at least once, in order, under one id (design 4, I3, I7; S0.30, S0.44 to S0.49).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use statewright_core::ids::Millis;
use support::START;
use support::far::Chance;
use support::faults::{Fault, Faulty, writes};
use support::order::{assert_in_order, assert_lanes_are_whole};
use support::outside::{Act, OutEngine, Place, Received, answers, run_for, waits};
use support::world::t1;

const URL: &str = "https://a.example/";
const SINK: &str = "https://sink.example/";

/// A machine that calls for a webhook and an event of another, which is told to a subscription; and a record.
fn place() -> Place {
    let place = Place::new();
    place.register(&json!({"machine_id": "m", "states": ["on"], "initial_state": "on",
        "transitions": [{"from": "on", "to": "on", "on": "go"}],
        "actions": [
            {"on_enter": "on", "action": {"type": "webhook", "url": URL,
                "body": {"id": {"$from": "/entity_id"}, "version": {"$from": "/state_version"}}}},
            {"on_enter": "on", "action": {"type": "transition", "machine_id": "n", "entity_id": "{/entity_id}",
                "event_type": "go"}}]}));
    place.register(
        &json!({"machine_id": "n", "states": ["on"], "initial_state": "on",
        "transitions": [{"from": "on", "to": "on", "on": "go"}]}),
    );
    for source in ["machines", "records"] {
        place.subscribe(
            source,
            &json!({"source": source, "sink": {"type": "webhook", "url": SINK}}),
        );
    }
    place.record("r");
    place
}

/// What a process does: two events of one entity, one of another, two moves of a record; then it delivers.
async fn process(engine: &OutEngine) {
    for entity in ["e", "e", "f"] {
        let body = json!({"event_type": "go", "entity_key": "id", "params": {"id": entity}}).to_string();
        drop(engine.evaluate(Some(&t1()), "m", body.as_bytes()).await);
    }
    for version in 1..3 {
        let body = json!({"machine": "m", "id": "r", "from": "a", "to": "a", "expected_version": version})
            .to_string();
        drop(engine.transition_record(&t1(), body.as_bytes()).await);
    }
    engine.deliver_claimed().await;
}

/// What must hold when all is over: each transition's effects have arrived, in order, each under its id, none more often
/// than once and for each disturbance; and each event that an effect sends was applied once.
fn assert_delivered(place: &Place, disturbances: usize, what: &str) {
    place.passes(30);
    assert_lanes_are_whole(place, what);
    assert_eq!(
        place.count("status <> 'done'"),
        0,
        "{what}: {:#?}",
        place.outbox()
    );
    let received = place.outside.taken();
    assert_in_order(place, &received, what);
    let mut arrived: BTreeMap<String, Vec<&Received>> = BTreeMap::new();
    for one in &received {
        arrived.entry(one.id()).or_default().push(one);
    }
    let rows = place.outbox();
    let sent: Vec<&Value> = rows.iter().filter(|row| row["kind"] != "transition").collect();
    assert_eq!(
        arrived.len(),
        sent.len(),
        "{what}: nothing arrives that has no row"
    );
    let mut again = 0;
    for row in &sent {
        let those = &arrived[row["event_id"].as_str().unwrap()];
        assert!(those.iter().any(|one| one.accepted()), "{what}: {row}");
        again += those.len() - 1;
        // Attempts are numbered on: what is presented again says so.
        let attempts: Vec<u64> = those.iter().map(|one| one.attempt()).collect();
        let denied = |one: &Received| matches!(one.over, Some((_, Some(429))));
        let numbered_on = those.windows(2).all(|pair| {
            let (first, second) = (pair[0].attempt(), pair[1].attempt());
            first < second || (denied(pair[0]) && first == second)
        });
        assert!(numbered_on, "{what}: {attempts:?}");
        let stable = |one: &Received| {
            let mut body = one.json();
            if let Some(data) = body.get_mut("data") {
                data["attempt"] = Value::Null;
                data["fired_at"] = Value::Null;
            }
            body
        };
        assert!(those.iter().all(|one| stable(one) == stable(those[0])), "{what}");
    }
    assert!(again <= disturbances * 6, "{what}: {again} arrived again");
    // I7: exactly one row of each kind for each transition.
    for (kind, transitions) in [
        (
            "webhook",
            "SELECT count(*) FROM history h JOIN entities e ON e.uid = h.uid AND e.machine_id = 'm'",
        ),
        (
            "transition",
            "SELECT count(*) FROM history h JOIN entities e ON e.uid = h.uid AND e.machine_id = 'm'",
        ),
        (
            "presentation",
            "SELECT (SELECT count(*) FROM history) + (SELECT version - 1 FROM records)",
        ),
    ] {
        let rows = place.count(&format!("kind = '{kind}'"));
        assert_eq!(Some(rows), place.number(transitions), "{what}: {kind}");
    }
    let moves = |machine: &str| {
        place.number(&format!(
            "SELECT coalesce(sum(state_version - 1), 0) FROM entities WHERE machine_id = '{machine}'"
        ))
    };
    assert_eq!(
        moves("m"),
        moves("n"),
        "{what}: each effect's event is applied once"
    );
}

#[test]
fn i7_s0_48_a_process_killed_at_any_await_leaves_everything_to_the_next() {
    let mut kills = 0;
    for polls in 1.. {
        let place = place();
        let engine = place.engine();
        if run_for(&place.clock, process(&engine), polls).is_some() {
            break;
        }
        kills += 1;
        assert_eq!(
            place.outside.in_flight.get(),
            0,
            "nothing of the dead one is under way"
        );
        place.clock.pass(300_000);
        assert_delivered(&place, 1, &format!("killed after {polls} polls"));
    }
    assert!(kills > 30, "{kills}");
}

#[test]
fn i7_s0_48_a_pass_killed_at_any_await_leaves_everything_to_the_next() {
    let mut kills = 0;
    for polls in 1.. {
        let place = place();
        let engine = place.engine();
        let writing = async {
            for entity in ["e", "e", "f"] {
                let body =
                    json!({"event_type": "go", "entity_key": "id", "params": {"id": entity}}).to_string();
                engine.evaluate(Some(&t1()), "m", body.as_bytes()).await.unwrap();
            }
        };
        place.run(writing);
        place.clock.pass(300_000);
        let pass = place.engine();
        let until = Millis(START + place.clock.at() + 50_000);
        if run_for(&place.clock, pass.deliver_due(until, 900), polls).is_some() {
            break;
        }
        kills += 1;
        place.clock.pass(300_000);
        assert_delivered(&place, 1, &format!("killed after {polls} polls"));
    }
    assert!(kills > 20, "{kills}");
}

#[test]
fn i7_s0_48_processes_that_are_killed_one_after_the_other_lose_nothing() {
    for seed in 0..60 {
        let chance = Chance::of(seed);
        let place = place();
        let mut kills = 0;
        for _ in 0..2 {
            let polls = usize::try_from(1 + chance.below(90)).unwrap();
            let engine = place.engine();
            kills += usize::from(run_for(&place.clock, process(&engine), polls).is_none());
            place.clock.pass(i64::try_from(chance.below(400_000)).unwrap());
        }
        for _ in 0..2 {
            let polls = usize::try_from(1 + chance.below(60)).unwrap();
            let pass = place.engine();
            let until = Millis(START + place.clock.at() + 50_000);
            kills += usize::from(run_for(&place.clock, pass.deliver_due(until, 900), polls).is_none());
            place.clock.pass(i64::try_from(chance.below(400_000)).unwrap());
        }
        place.clock.pass(300_000);
        assert_delivered(&place, kills, &format!("seed {seed}"));
    }
}

/// What goes wrong at a batch.
fn kinds() -> [(&'static str, Fault); 4] {
    [
        ("failed", Fault::Before),
        ("lost", Fault::After),
        ("late", Fault::Late),
        ("stray", Fault::Stray),
    ]
}

#[test]
fn i3_i7_a_fault_at_any_batch_of_a_process_loses_nothing() {
    let batches = {
        let place = place();
        place.sqlite.taken();
        let engine = place.engine();
        place.run(process(&engine));
        place.sqlite.taken().len()
    };
    assert!(batches > 12, "{batches}");
    for batch in 0..batches {
        for (kind, fault) in kinds() {
            let what = format!("batch {batch} {kind}");
            let place = place();
            let faulty = Faulty::new(place.sqlite.clone());
            let engine = place.engine_on(&faulty);
            faulty.arm([(batch, fault)]);
            place.run(process(&engine));
            faulty.land();
            place.clock.pass(300_000);
            assert_delivered(&place, 1, &what);
        }
    }
}

#[test]
fn i3_i7_a_fault_at_any_batch_of_a_pass_loses_nothing() {
    let prepared = || {
        let place = place();
        let engine = place.engine();
        for entity in ["e", "e", "f"] {
            place.event_by(&engine, "m", entity, "go");
        }
        // Tries of every kind are marked.
        place
            .outside
            .script(URL, [answers(500), waits(429, "1"), Act::Lost, answers(200)]);
        place.clock.pass(300_000);
        place
    };
    let until = |place: &Place| Millis(START + place.clock.at() + 50_000);
    let batches = {
        let place = prepared();
        place.sqlite.taken();
        let engine = place.engine();
        place.run(engine.deliver_due(until(&place), 900)).unwrap();
        place.sqlite.taken().len()
    };
    assert!(batches > 6, "{batches}");
    for batch in 0..batches {
        for (kind, fault) in kinds() {
            let what = format!("batch {batch} {kind}");
            let place = prepared();
            let faulty = Faulty::new(place.sqlite.clone());
            let engine = place.engine_on(&faulty);
            faulty.arm([(batch, fault)]);
            // Whether it says so or not.
            drop(place.run(engine.deliver_due(until(&place), 900)));
            faulty.land();
            assert_lanes_are_whole(&place, &what);
            place.clock.pass(300_000);
            // The failures that were scripted come on top.
            assert_delivered(&place, 1, &what);
        }
    }
}

#[test]
fn s0_44_a_database_that_cannot_be_reached_ends_a_pass_and_says_so() {
    let place = place();
    place.event_by(&place.engine(), "m", "e", "go");
    place.clock.pass(300_000);
    let faulty = Faulty::new(place.sqlite.clone());
    let engine = place.engine_on(&faulty);
    faulty.arm((0..1_000).map(|batch| (batch, Fault::Before)));
    let until = Millis(START + place.clock.at() + 50_000);
    let outcome = place.run(engine.deliver_due(until, 900));
    assert!(outcome.is_err(), "{outcome:?}");
    assert!(
        faulty.seen() < 10,
        "it does not try again and again: {}",
        faulty.seen()
    );
    assert!(place.outside.taken().is_empty());
    assert_delivered(&place, 0, "after it");
}

#[test]
fn i3_s0_30_a_failure_within_any_statement_of_a_write_leaves_neither_transition_nor_effect() {
    // Each statement of the write is followed by one that fails.
    let tables = ["entities", "entries", "history", "outbox"];
    for table in tables {
        for (machine, body) in [
            (
                "m",
                json!({"event_type": "go", "entity_key": "id", "params": {"id": "e"}}),
            ),
            (
                "",
                json!({"machine": "m", "id": "r", "from": "a", "to": "a", "expected_version": 1}),
            ),
        ] {
            let place = place();
            let table = if machine.is_empty() && table != "outbox" {
                "records"
            } else {
                table
            };
            let before = place.sqlite.dump();
            place.sqlite.execute(&format!(
                "CREATE TRIGGER broken AFTER {} ON {table} BEGIN SELECT raise(ABORT, 'broken'); END",
                if table == "records" { "UPDATE" } else { "INSERT" }
            ));
            let engine = place.engine();
            place.sqlite.taken();
            let failed = if machine.is_empty() {
                place
                    .run(engine.transition_record(&t1(), body.to_string().as_bytes()))
                    .is_err()
            } else {
                place
                    .run(engine.evaluate(Some(&t1()), machine, body.to_string().as_bytes()))
                    .is_err()
            };
            assert!(failed, "{table}");
            assert!(place.sqlite.taken().iter().any(|batch| writes(batch)), "{table}");
            assert!(!engine.has_claimed(), "{table}");
            place.sqlite.execute("DROP TRIGGER broken");
            assert_eq!(place.sqlite.dump(), before, "{table}");
            place.run(engine.deliver_claimed());
            assert!(place.outside.taken().is_empty(), "S2.115: {table}");
        }
    }
}
