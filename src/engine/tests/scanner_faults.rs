//! The scanner with a fault at each of its batches, and with every other writer in its way (I1, I5, S2.102).

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
use statewright_engine::scanner::ScanReport;
use support::block_on;
use support::faults::{Fault, writes};
use support::world::{
    World, assert_same, clocked, create, delete, delete_machine, evaluate, jammed, put, register, seed, wider,
};

/// A clocked machine whose timeouts are another's.
fn sooner() -> Value {
    let mut definition = wider(clocked());
    definition["transitions"][0]["guard"] = json!({"timeout_seconds": 5});
    definition
}

struct Scene {
    name: &'static str,
    before: fn(&World),
    /// What an undisturbed pass reports, as far as it matters here.
    report: fn(&ScanReport) -> bool,
}

fn two_clocked(world: &World) {
    assert_eq!(register(&world.other, &clocked()).0, 201);
    for entity in ["e", "f"] {
        assert_eq!(create(&world.other, "clocked", entity).0, 201);
    }
}

fn scenes() -> Vec<Scene> {
    vec![
        Scene {
            name: "due",
            before: |world| {
                two_clocked(world);
                world.at(15_000);
            },
            report: |report| report.fired == 2 && report.failed == 0 && report.stale == 0,
        },
        Scene {
            name: "due, by the seed's contract",
            before: |world| {
                two_clocked(world);
                assert_eq!(register(&world.other, &seed()).0, 201);
                assert_eq!(create(&world.other, "seed", "e").0, 201);
                world.at(15_000);
            },
            report: |report| report.fired == 3,
        },
        Scene {
            name: "parked",
            before: |world| {
                assert_eq!(register(&world.other, &jammed()).0, 201);
                assert_eq!(create(&world.other, "jammed", "e").0, 201);
                two_clocked(world);
                world.at(15_000);
            },
            report: |report| report.fired == 2 && report.parked == 1,
        },
        Scene {
            name: "failed",
            before: |world| {
                two_clocked(world);
                world
                    .sqlite
                    .execute("UPDATE entries SET state = 'nowhere' WHERE entity_id = 'f'");
                world.at(15_000);
            },
            report: |report| report.fired == 1 && report.failed == 1,
        },
        Scene {
            name: "rearm",
            before: |world| {
                two_clocked(world);
                assert_eq!(put(&world.other, &sooner(), "follow").0, 200);
                world.at(4_000);
            },
            report: |report| report.rearmed == 2 && report.fired == 0,
        },
        Scene {
            name: "rearm of what is due",
            before: |world| {
                two_clocked(world);
                assert_eq!(put(&world.other, &sooner(), "follow").0, 200);
                world.at(6_000);
            },
            report: |report| report.rearmed == 2,
        },
    ]
}

/// Another writer: its name, and what it does.
type Rival = (&'static str, fn(&World));

fn passes(world: &World, most: usize) {
    for _ in 0..most {
        block_on(world.other.tick()).unwrap();
    }
}

#[test]
fn i1_i5_a_pass_with_a_fault_at_any_batch_fires_each_timer_once() {
    let mut checked = 0;
    for scene in scenes() {
        let world = World::new();
        (scene.before)(&world);
        world.sqlite.taken();
        world.faulty.arm([]);
        let report = block_on(world.engine.tick()).unwrap();
        assert!((scene.report)(&report), "{}: {report:?}", scene.name);
        let batches = world.sqlite.taken();
        passes(&world, 3);
        let expected = world.stored();
        for (place, batch) in batches.iter().enumerate() {
            for (case, fault) in [Fault::Before, Fault::After, Fault::Late, Fault::Stray]
                .into_iter()
                .enumerate()
            {
                let what = format!("{}, batch {place}, case {case}", scene.name);
                let world = World::new();
                (scene.before)(&world);
                world.faulty.arm([(place, fault)]);
                let outcome = block_on(world.engine.tick());
                if writes(batch) && batch.len() > 1 && case < 2 {
                    // Where its main write failed or its answer was lost, it found out which, and told it.
                    let told = outcome.unwrap();
                    assert_eq!(
                        (told.fired, told.parked, told.rearmed),
                        (report.fired, report.parked, report.rearmed),
                        "{what}"
                    );
                } else if let Err(error) = outcome {
                    assert!(error.code().retry(), "{what}: {error}");
                }
                world.faulty.land();
                passes(&world, 3);
                assert_same(&world.stored(), &expected, &what);
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn i1_i5_a_writer_in_the_way_of_a_pass_comes_first() {
    let rivals: [Rival; 9] = [
        ("an event", |world| {
            world.event("clocked", "e", "note", Some(9));
        }),
        ("an event that moves it", |world| {
            world.event("clocked", "e", "go", Some(9));
        }),
        ("a deletion", |world| {
            delete(&world.other, "clocked", "e");
        }),
        ("deletion and creation", |world| {
            delete(&world.other, "clocked", "e");
            create(&world.other, "clocked", "e");
        }),
        ("a new head to follow", |world| {
            put(&world.other, &wider(clocked()), "follow");
        }),
        ("a new head with other timeouts", |world| {
            put(&world.other, &sooner(), "follow");
        }),
        ("a new head that leaves them", |world| {
            put(&world.other, &sooner(), "pin");
        }),
        ("deletion of the machine", |world| {
            delete(&world.other, "clocked", "e");
            delete(&world.other, "clocked", "f");
            delete_machine(&world.other, "clocked");
        }),
        ("another pass", |world| {
            block_on(world.other.tick()).unwrap();
        }),
    ];
    for scene in scenes() {
        let world = World::new();
        (scene.before)(&world);
        world.sqlite.taken();
        block_on(world.engine.tick()).unwrap();
        let batches = world.sqlite.taken().len();
        for place in 0..batches {
            for (name, rival) in rivals {
                let what = format!("{}, batch {place}: {name}", scene.name);
                let world = World::new();
                (scene.before)(&world);
                let there = Rc::clone(&world);
                world
                    .faulty
                    .arm([(place, Fault::Meanwhile(Rc::new(move || rival(&there))))]);
                block_on(world.engine.tick()).unwrap();
                assert!(world.faulty.struck(), "{what}");
                passes(&world, 3);
                let stored = world.stored();

                let first = World::new();
                (scene.before)(&first);
                rival(&first);
                passes(&first, 4);
                let last = World::new();
                (scene.before)(&last);
                passes(&last, 1);
                rival(&last);
                passes(&last, 3);
                if stored != last.stored() {
                    assert_same(&stored, &first.stored(), &what);
                }
            }
        }
    }
}

/// A tree that another writer brings to the very version that the pass would have made is not held: what the pass
/// decided of its timers besides is not written either.
#[test]
fn m6_a_timer_is_not_put_off_by_a_decision_that_did_not_stand() {
    let world = World::new();
    register(&world.other, &clocked());
    create(&world.other, "clocked", "e");
    let mut tell = clocked();
    let transitions = tell["transitions"].as_array_mut().unwrap();
    transitions.push(json!({"region": "a", "from": "idle", "to": "idle", "on": "tell"}));
    assert_eq!(put(&world.other, &tell, "follow").0, 200);
    passes(&world, 1);
    // The pass at 25 s sees `a` time out, and the timeout of `b` at 20 s refused. Meanwhile an event comes in that was
    // decided at 9 s, with the context that lets it pass.
    world.at(25_000);
    let there = Rc::clone(&world);
    let rival = move || {
        there.at(9_000);
        let params = json!({"id": "e", "late": "yes"});
        let body = json!({"event_type": "tell", "entity_key": "id", "params": params, "timestamp": 3});
        assert_eq!(evaluate(&there.other, "clocked", &body).1["state_version"], 2);
        there.at(25_000);
    };
    world.faulty.arm([(2, Fault::Meanwhile(Rc::new(rival)))]);
    let report = block_on(world.engine.tick()).unwrap();
    assert!(world.faulty.struck());
    assert_eq!((report.fired, report.stale), (0, 1), "{report:?}");
    passes(&world, 2);
    let stored = world.stored();
    let fired = stored.contains("[\"timeout\",\"b\",2]");
    assert!(fired, "the timer of `b` was lost:\n{stored}");
}

/// The same of an event that writes nothing but a timer's delay.
#[test]
fn m6_nor_by_an_event_that_was_decided_on_another_context() {
    let world = World::new();
    let mut tell = clocked();
    let transitions = tell["transitions"].as_array_mut().unwrap();
    transitions.push(json!({"region": "a", "from": "on", "to": "on", "on": "tell"}));
    register(&world.other, &tell);
    create(&world.other, "clocked", "e");
    world.at(15_000);
    passes(&world, 1);
    // At 25 s the timeout of `b` at 20 s is refused; meanwhile an event comes in that was decided at 18 s.
    world.at(25_000);
    let there = Rc::clone(&world);
    let rival = move || {
        there.at(18_000);
        let params = json!({"id": "e", "late": "yes"});
        let body = json!({"event_type": "tell", "entity_key": "id", "params": params, "timestamp": 3});
        assert_eq!(evaluate(&there.other, "clocked", &body).1["state_version"], 3);
        there.at(25_000);
    };
    world.faulty.arm([(1, Fault::Meanwhile(Rc::new(rival)))]);
    let none = json!({"event_type": "none", "entity_key": "id", "params": {"id": "e"}});
    assert_eq!(evaluate(&world.engine, "clocked", &none).0, 200);
    assert!(world.faulty.struck(), "it puts the timer off");
    passes(&world, 1);
    let stored = world.stored();
    let fired = stored.contains("[\"timeout\",\"b\",2]");
    assert!(fired, "the timer of `b` was lost:\n{stored}");
}
